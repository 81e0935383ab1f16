# lib.sh - what our scripts share. Sourced, not run.

set -euo pipefail

# Of the make that has called us. PostgreSQL's makefiles make their headers where they are the first level only.
unset MAKELEVEL MAKEFLAGS MFLAGS MAKEOVERRIDES

say() {
	printf '%s\n' "$*"
}

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# Prints the pg_config of the PostgreSQL to work with; nothing if there is none.
# That is $PG_CONFIG, or the newest server that Debian's packages installed (of
# version $PG_MAJOR, if set), or the one in PATH. Debian's own /usr/bin/pg_config
# may be of a mere libpq-dev.
find_pg_config() {
	local candidate
	if [[ -n ${PG_CONFIG:-} ]]; then
		command -v "$PG_CONFIG" || true
		return
	fi
	for candidate in $(printf '%s\n' /usr/lib/postgresql/${PG_MAJOR:-*}/bin/postgres | sort -t/ -k5,5nr); do
		candidate=${candidate%/*}/pg_config
		if [[ -x $candidate ]]; then
			say "$candidate"
			return
		fi
	done
	if [[ -z ${PG_MAJOR:-} ]]; then command -v pg_config || true; fi
}

# The major version of the PostgreSQL of a pg_config, or of that one.
major_of() {
	"$1" --version | sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p'
}

# queue_ext's full version, as META.json has it. The Makefile finds it in the same way.
release_version() {
	awk -F'"' '$2 == "version" { print $4; exit }' "$(dirname "${BASH_SOURCE[0]}")/../META.json"
}

# fenced FILE LANGUAGE: the lines of a document's blocks in that language.
fenced() {
	awk -v fence="\`\`\`$2" '$0 == "```" { inside = 0 } inside { print } $0 == fence { inside = 1 }' "$1"
}

# Where script/deps unpacks the headers of the server that is installed, if their package is not.
headers_dir() {
	say "${QUEUE_EXT_HEADERS:-/var/tmp/queue_ext-headers}/$("$(find_pg_config)" --version | tr -c 'A-Za-z0-9.\n' _)"
}

# Sets config, PostgreSQL's pg_config, and flags: what a compiler needs to read our sources, from the
# checkout's root.
find_source_flags() {
	config=$(find_pg_config)
	[[ -n $config ]] || die "no pg_config; run script/deps, or set PG_CONFIG"
	# shellcheck disable=SC2034
	flags=(-std=c++17 -isystem "$("$config" --includedir-server)" -Isrc -iquote . -fno-exceptions -fno-rtti
		'-DQUEUE_EXT_VERSION="0"')
}

# Prints that directory, if they are there, and no other user has put them there.
unpacked_headers() {
	local config dir
	config=$(find_pg_config)
	[[ -n $config ]] || return 0
	dir=$(headers_dir)
	if [[ -f $dir$("$config" --includedir-server)/postgres.h && (-O $dir || $(stat -c %u "$dir") == 0) ]]; then
		say "$dir"
	fi
}

# Lists the checkout's files, NUL-terminated: tracked ones, and new ones that
# are not ignored. Without git (a release archive) all but products of a build.
list_files() {
	local root=$1
	if git_in "$root" rev-parse --git-dir >/dev/null 2>&1 && [[ -e $root/.git ]]; then
		(
			cd "$root"
			git_in . ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
				# Deleted in the work tree but not in the index yet.
				if [[ -e $file || -L $file ]]; then printf '%s\0' "$file"; fi
			done
		)
	else
		(cd "$root" && find . -type f ! -path './.git/*' ! -path './dist/*' ! -path '*/node_modules/*' \
			! -name '*.o' ! -name '*.so' ! -name '*.d' ! -path './queue_ext--*.sql*' -printf '%P\0')
	fi
}

# git, also in a checkout that somebody else owns.
git_in() {
	local root=$1
	shift
	git -c safe.directory='*' -C "$root" "$@"
}

# Copies the checkout's files into an existing directory.
copy_checkout() {
	local from=$1 to=$2
	list_files "$from" | tar -C "$from" --null -T - -cf - | tar -C "$to" -xf -
}

# skip REASON: ends a suite that cannot run here, in TAP's words.
skip() {
	say "1..0 # SKIP $1"
	exit 0
}

# need_programs NAME...: ends the suite if one of these is missing.
need_programs() {
	local name
	for name in "$@"; do
		command -v "$name" >/dev/null || skip "no $name here"
	done
}

# no_test TEST: ends a suite whose ONLY has a test that is not there. The input has those that are, one a line.
no_test() {
	die "there is no test \"$1\"; there are: $(awk '{ printf "%s%s", separator, $0; separator = ", " }')"
}

# npm ci in a directory, for a suite: skips it where there is no npm, or where it cannot fetch. Any
# other fault is one of ours.
npm_ci() {
	local reason status=0
	reason=$("$(dirname "${BASH_SOURCE[0]}")/npm-ci" "$1") || status=$?
	if ((status == 75)); then skip "$reason"; fi
	return "$status"
}

# The suite of Debian that carries a version of PostgreSQL.
suite_of() {
	case $1 in
		15) say bookworm ;;
		17) say trixie ;;
		18 | 19) say sid ;;
		*) die "no Debian suite carries PostgreSQL $1" ;;
	esac
}
