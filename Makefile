# queue_ext - builds with PGXS: make && make install && make installcheck,
# with PG_CONFIG=/path/to/pg_config for a PostgreSQL that is not first in PATH.
#
# `make test` and `make demo` need none of that: they install what is missing,
# and run in throwaway clusters from a private copy of PostgreSQL. So this file
# must also be readable where there is no pg_config yet.
#
# make help prints the lines that begin with "## NAME": each target that anyone would type has one.

# Out of the tree, as packagers build: make -f TREE/Makefile VPATH=TREE. So all that is read is
# looked for in $(tree), and all that is made is made here.
tree      := $(or $(VPATH),.)

EXTENSION  = queue_ext
EXTVERSION = $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(tree)/$(EXTENSION).control)
# META.json is the one source of the full version, and has it first.
META_VERSION = $(shell awk -F'"' '$$2 == "version" { print $$4; exit }' $(tree)/META.json)

MODULE_big = $(EXTENSION)
OBJS       = $(patsubst $(tree)/%.cpp,%.o,$(sort $(wildcard $(tree)/src/*.cpp $(tree)/src/*/*.cpp)))
# As prerequisites these directories would be found in the tree.
$(if $(filter-out .,$(tree)),$(shell mkdir -p $(sort $(dir $(OBJS))) test/isolation))
# The install script is these, in this order.
SQL_PARTS  = src/key/fnv.sql src/lock/queue_lock.sql src/definition/registry.sql src/queue/queue.sql \
             src/queue/attach.sql src/queue/send.sql src/queue/pop.sql src/queue/pop_any.sql src/queue/wait.sql src/queue/pop_wait_any.sql \
             src/queue/finish.sql src/queue/repair.sql src/queue/complete_pop.sql src/queue/job_result.sql src/queue/finish_row.sql src/queue/receipt.sql \
             src/queue/claim_path.sql src/queue/claim_stats.sql src/queue/stats.sql src/queue/wake.sql src/unique/history.sql \
             src/queue/unique_insert.sql src/queue/unique_insert_row.sql src/schedule/schedule.sql \
             src/throttle/throttle.sql src/lock/named_lock.sql src/health/health.sql
DATA_built = $(EXTENSION)--$(EXTVERSION).sql
# Released install scripts, and the steps from one to the next.
DATA       = $(patsubst $(tree)/%,%,$(wildcard $(tree)/upgrade/$(EXTENSION)--*.sql))
# Documentation lands in a folder that all extensions share: only our own name.
DOCS       = doc/$(EXTENSION).md

REGRESS        = $(patsubst $(tree)/sql/%.sql,%,$(sort $(wildcard $(tree)/sql/*.sql)))
REGRESS_OPTS   = --load-extension=$(EXTENSION)
ISOLATION      = $(patsubst $(tree)/test/isolation/specs/%.spec,%,$(sort $(wildcard $(tree)/test/isolation/specs/*.spec)))
# Without its own outputdir PostgreSQL 15 looks for expected files in a wrong place.
ISOLATION_OPTS = --inputdir=$(tree)/test/isolation --outputdir=test/isolation --load-extension=$(EXTENSION)
PROVE_TESTS   ?= test/tap/*.pl

PG_CONFIG   ?= pg_config
# -isystem: warnings are for our code, not for PostgreSQL's headers.
PG_CPPFLAGS  = -isystem $(shell $(PG_CONFIG) --includedir-server) -I$(tree)/src \
               -DQUEUE_EXT_VERSION='"$(META_VERSION)"'
# For users warnings stay warnings; we build with `make WERROR=-Werror`.
PG_CXXFLAGS  = -std=c++17 -fno-exceptions -fno-rtti -fno-threadsafe-statics \
               -fvisibility=hidden -fvisibility-inlines-hidden \
               -Wall -Wextra -Wno-missing-field-initializers $(CLANG_FLAGS) $(SANITIZE_FLAGS) $(WERROR) -MMD -MP
# SANITIZE=undefined (or address,undefined) builds with these sanitizers, whose first
# finding ends the server. See script/check-assert.
SANITIZE    ?= $(QUEUE_EXT_SANITIZE)
ifneq (,$(SANITIZE))
SANITIZE_FLAGS = -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -g -O1
SHLIB_LINK  += -fsanitize=$(SANITIZE)
endif
# SECTIONS=1 builds for bench/sections, which measures how long shared locks are held.
PG_CPPFLAGS += $(if $(SECTIONS),-DQUEUE_EXT_SECTIONS)
# What PostgreSQL's configure found for gcc, clang would warn about.
CLANG_FLAGS  = $(if $(findstring clang,$(CXX)),-Wno-unknown-warning-option \
               -Wno-ignored-optimization-argument -Wglobal-constructors -Wexit-time-destructors)
EXTRA_CLEAN  = src/*.d src/*/*.d src/*.gch test/unit/unit $(EXTENSION)--*.sql dist \
               test/isolation/results test/isolation/regression.diffs \
               test/isolation/regression.out test/isolation/output_iso

# Prepared transactions are off by default. What needs them is left out then, and named.
ifneq (,$(filter installcheck,$(MAKECMDGOALS)))
ifeq (0,$(shell $$($(PG_CONFIG) --bindir)/psql -wXAtc 'show max_prepared_transactions' template1 2>/dev/null))
needs_prepared := $(notdir $(basename $(shell grep -lis 'prepare transaction' \
                      $(tree)/sql/*.sql $(tree)/test/isolation/specs/*.spec)))
REGRESS        := $(filter-out $(needs_prepared),$(REGRESS))
ISOLATION      := $(filter-out $(needs_prepared),$(ISOLATION))
$(info left out, as max_prepared_transactions is 0: $(needs_prepared))
endif
endif

# No JIT bitcode: PGXS does not give it PG_CXXFLAGS, and nothing here is worth inlining.
override with_llvm = no

# The TAP tests start servers, which root may not, and need modules that not
# every packager ships. So `make installcheck` runs them where they can run.
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifneq (,$(filter installcheck,$(MAKECMDGOALS)))
ifneq (,$(wildcard $(dir $(PGXS))../test/perl/PostgreSQL/Test/Cluster.pm))
TAP_TESTS := $(shell test "$$(id -u)" -ne 0 && test -n "$(wildcard $(addprefix $(tree)/,$(PROVE_TESTS)))" && \
                     perl -MIPC::Run -e 1 2>/dev/null && echo 1)
endif
endif
ifeq (,$(TAP_TESTS))
override undefine TAP_TESTS
endif

## all            builds the extension, for the PostgreSQL of PG_CONFIG; also make alone
## install        installs it there
## installcheck   tests what is installed, on the server of PGHOST and its like
## clean          removes what these have made
ifneq (,$(wildcard $(PGXS)))
include $(PGXS)
else
# No PostgreSQL here (yet): say so, but let the targets below work.
.PHONY: all install installcheck clean
all install installcheck:
	@echo "$(PG_CONFIG) --pgxs finds no PostgreSQL to build against." >&2
	@echo "Run script/deps to install what is needed, or set PG_CONFIG." >&2
	@exit 1
clean:
	rm -rf $(OBJS) $(MODULE_big).so $(EXTRA_CLEAN)
endif
-include $(wildcard src/*.d src/*/*.d)

$(EXTENSION)--$(EXTVERSION).sql: $(SQL_PARTS) $(EXTENSION).control Makefile
	{ printf '%s\n' '\echo Use "CREATE EXTENSION $(EXTENSION)" to load this file. \quit'; \
	  for part in $(filter %.sql,$^); do printf '\n' && cat "$$part" || exit 1; done; } > $@.tmp
	mv $@.tmp $@

# The version is compiled in.
$(OBJS): META.json

# make PCH=1 reads PostgreSQL's headers once instead of 160 times, as our test runs do: g++ takes the
# compiled header that lies beside src/postgres.hpp, if it was made with the same options.
ifneq (,$(PCH))
PRECOMPILED = src/postgres.hpp.gch
$(PRECOMPILED): src/postgres.hpp Makefile
	$(CXX) $(filter-out -MMD -MP,$(CXXFLAGS)) $(CPPFLAGS) -w -x c++-header -o $@ $<
$(OBJS): $(PRECOMPILED)
endif

.PHONY: help test test-long demo scaleout dashboard bench bench-quick unit format check-format checkver check-binary dist deb matrix \
        check-assert check-asan check-valgrind torture mutants

## help           prints this
help:
	@awk '/^## / { name = $$2; sub(/^## [^ ]+ +/, ""); printf "make %-14s %s\n", name, $$0 }' '$(tree)/Makefile'

test test-long demo scaleout dashboard bench bench-quick deb: export PG_CONFIG := $(if $(filter command line environment,$(origin PG_CONFIG)),$(PG_CONFIG))
## test           everything but what takes hours; SUITES="regress tap" only these, SUITES=-tap all but one
test:
	script/check $(SUITES)

## test-long      what takes hours: storms, fuzzers, slips and more; PARTS="mutants matrix" only these
test-long:
	script/deps long
	script/test-long $(PARTS)

## demo           copies files to two places through a queue, kills a worker, and checks every job
demo:
	script/deps demo
	script/demo

## scaleout       the demo over three servers and a proxy
scaleout:
	script/deps test
	script/demo --scaleout

## dashboard      the demo, and a page to watch and act on its queues, until Ctrl-C; PORT=8090
dashboard:
	script/deps dashboard
	script/demo --dashboard $(or $(PORT),8080)

## bench          measures everything, for hours; BENCH="quick claim life" only these: see bench/README.md
bench:
	script/deps bench
	bench/run $(BENCH)

## bench-quick    a first look, about ten minutes
bench-quick:
	script/deps bench
	bench/run quick

# Unit tests are of what is free of PostgreSQL, and are built without it; as one, since most of what is read
# for each are GoogleTest's headers.
test/unit/unit: $(wildcard test/unit/*.[ch]pp) $(wildcard src/*.hpp src/*/*.hpp)
	printf '#include "%s"\n' $(notdir $(wildcard test/unit/*_test.cpp)) | \
	    $(or $(CXX),g++) -std=c++17 -Wall -Wextra $(WERROR) -Isrc -Itest/unit -o $@ -x c++ - -x none \
	    -lgtest -lgtest_main -pthread

## unit           the unit tests, which need no PostgreSQL
unit: test/unit/unit
	test/unit/unit

## format         formats the C++ sources
format:
	script/format

## check-format   names the files that are not as they should be
check-format:
	script/format --check

## checkver       checks that the versions agree, and that released scripts are unchanged
checkver:
	script/checkver

## check-binary   checks the built library: no C++ runtime, no destructors, its exports
check-binary: all
	test/binary/check

## check-assert   the suites on a PostgreSQL with assertions, which it builds, under UBSan; SUITES chooses
check-assert:
	script/deps test
	script/check-assert $(SUITES)

## check-asan     regress and isolation there under AddressSanitizer; SUITES chooses
check-asan:
	script/deps test
	SANITIZE=address,undefined script/check-assert $(or $(SUITES),regress isolation)

## check-valgrind regress and isolation there under memcheck; SUITES chooses
check-valgrind:
	script/deps long
	VALGRIND=1 script/check-assert $(or $(SUITES),memcheck isolation)

## torture        clients and faults of every kind: DURATION=3600 SEED=7 FAULTS="kill prepared" CLIENTS=32
torture:
	script/deps test
	SUITE_TIMEOUT=$$(($(or $(DURATION),600) * 2 + 900)) VERBOSE=1 \
	QUEUE_EXT_DURATION=$(or $(DURATION),600) QUEUE_EXT_SEED=$(or $(SEED),$$(shuf -i 1-1000000 -n 1)) QUEUE_EXT_FAULTS="$(FAULTS)" QUEUE_EXT_CLIENTS=$(CLIENTS) \
	script/test plain_storm

# Into test/mutants/outcomes goes what became of each.
## mutants        applies each slip and runs the test that must fail; MUTANTS="ring-front-always" only these
mutants:
	script/deps test
	script/mutants $(MUTANTS)

## dist           the release's archives, into dist/
dist:
	script/dist

## deb            Debian packages for the installed PostgreSQL, into dist/
deb:
	script/deps deb
	script/deb

## matrix         every suite on each version of PostgreSQL; MATRIX="17 18" only these; needs root
matrix:
	script/deps long
	script/matrix $(MATRIX)
