// definition_cache.cpp - see definition_cache.hpp.

#include "../postgres.hpp"

#include "definition_cache.hpp"

#include "../catalog/kept.hpp"
#include "../catalog/named_dependency.hpp"
#include "../catalog/own_table.hpp"
#include "../compat.hpp"
#include "name_cache.hpp"
#include "name.hpp"
#include "registry.hpp"
#include "shape.hpp"

namespace queue_ext::definition {

using statement::Statement;

// The value of queue_ext.definition_cache_size, in kB.
static int cache_size = 32 * 1024;

Size
cache_limit()
{
	return static_cast<Size>(cache_size) * 1024;
}

namespace {

// Compared as bytes: all of it must be set, also the bytes behind the name.
struct Key
{
	Oid source;
	char name[NAMEDATALEN];
};

struct Entry
{
	Key key;
	Definition *definition; // null: it was given up, or entry_of() has just made the entry
};

} // namespace

static HTAB *entries = nullptr;
// All definitions, the invalid ones too, the most recently used first, and the newest first.
static catalog::Chain<Definition, &Definition::links> by_use;
static catalog::Chain<Definition, &Definition::age> by_age;
// Those with statements, the one that has prepared the last statement first.
static catalog::Chain<Definition, &Definition::statements_age> with_statements;
// As measured.
static Size total_size = 0;
static Size total_statements_size = 0;
static uint64 invalidations_seen = 0;

namespace {

// A call that uses definitions, and the memory context that it runs in.
struct Call
{
	catalog::Links<Call> links;
	MemoryContext context;
	MemoryContextCallback end;
};

} // namespace

static catalog::Chain<Call, &Call::links> calls;

// Context callback: the reset of the call's context ends the call, also after an error.
static void
end_call(void *call)
{
	calls.remove(static_cast<Call *>(call));
}

// A function that is called for each row of a query has one entry as long as its context is not
// reset.
static bool
is_call_known(MemoryContext context)
{
	for (const Call *call = calls.first; call != nullptr; call = call->links.next)
		if (call->context == context)
			return true;
	return false;
}

// With zeros behind the name.
static Key
key_of(Oid source, const char *name)
{
	Key key{};
	key.source = source;
	strlcpy(key.name, name, sizeof(key.name));
	return key;
}

// The entry of that queue; HASH_ENTER makes it with a null definition.
static Entry *
entry_of(Oid source, const char *name, HASHACTION action)
{
	if (entries == nullptr) {
		HASHCTL control{};
		control.keysize = sizeof(Key);
		control.entrysize = sizeof(Entry);
		entries = hash_create("queue_ext definitions", 64, &control, HASH_ELEM | HASH_BLOBS);
	}
	const Key key = key_of(source, name);
	bool is_found;
	auto *entry = static_cast<Entry *>(hash_search(entries, &key, action, &is_found));
	if (entry != nullptr && !is_found)
		entry->definition = nullptr;
	return entry;
}

// Sets the sizes of the definition. Plans are in contexts of their own.
static void
measure(Definition *definition)
{
	definition->statements_size = 0;
	each_statement(definition, [&](const Statement *statement) {
		definition->statements_size += size_of(*statement);
	});
	definition->size = MemoryContextMemAllocated(definition->context, true) +
					   size_of_cached_names(definition) + definition->statements_size;
}

// Takes the definition out of the sums, and of those with statements.
static void
take_out(Definition *definition)
{
	total_size -= definition->size;
	total_statements_size -= definition->statements_size;
	if (definition->statements_size > 0)
		with_statements.remove(definition);
}

static void
put_in(Definition *definition)
{
	total_size += definition->size;
	total_statements_size += definition->statements_size;
	if (definition->statements_size > 0)
		with_statements.push_front(definition);
}

// Whether the newest definition is of a queue whose former one had been given up; and the newest
// statement of a definition that had given up its own.
static bool has_come_back = false;
static bool have_statements_come_back = false;

static void
measure_grown()
{
	while (Definition *definition = take_grown()) {
		const Size former = definition->statements_size;
		take_out(definition);
		measure(definition);
		put_in(definition);
		if (definition->statements_size > former)
			have_statements_come_back = definition->gave_statements;
	}
}

// The cache's entry may belong to a newer definition of the same queue, or may be that of a queue whose
// definition is being given up.
static void
free_definition(Definition *definition)
{
	Assert(!definition->has_grown);
	remove_names_of(definition);
	by_use.remove(definition);
	by_age.remove(definition);
	take_out(definition);
	const Entry *entry = entry_of(definition->source, definition->name, HASH_FIND);
	if (entry != nullptr && entry->definition == definition)
		(void) entry_of(definition->source, definition->name, HASH_REMOVE);
	each_statement(definition, [](Statement *statement) { discard(statement); });
	MemoryContextDelete(definition->context);
}

// The definition to make room for what was made last: one of those in the chain, which has the newest
// first, and never the most recently used one. Null if there is no other.
//
// A session that goes through more queues than fit, round and round, needs next the one that it has
// used least recently. So where a queue has come back, the one that was made before it makes room for it,
// and all older ones stay: of each round so many definitions are found as fit. One turn of a few is
// the least recently used one's, so that queues that the session has left go.
template <catalog::Links<Definition> Definition::*links>
static Definition *
next_to_go(const catalog::Chain<Definition, links> &by_age, Definition *least_used, bool is_back)
{
	constexpr uint32 turns = 16;
	static uint32 turn = 0;
	if (!is_back || ++turn % turns == 0)
		return least_used != by_use.first ? least_used : nullptr;
	return by_age.first != by_use.first ? by_age.first : (by_age.first->*links).next;
}

// A claim on the direct path needs its statements only for a sweep. So these go first, as long as they are
// more than a fourth of all that may be kept: paths with a statement for each call have that much.
static Definition *
next_to_give_statements()
{
	constexpr Size share = 4;
	if (with_statements.is_empty() || total_statements_size <= cache_limit() / share)
		return nullptr;
	return next_to_go(with_statements, with_statements.last, have_statements_come_back);
}

static void
give_up_statements(Definition *definition)
{
	take_out(definition);
	each_statement(definition, [](Statement *statement) { discard(statement); });
	measure(definition);
	definition->gave_statements = true;
	put_in(definition);
}

static long given_up_count = 0; // entries without a definition

// dynahash allows the removal of the entry that a scan has just returned.
static void
forget_given_up()
{
	HASH_SEQ_STATUS scan;
	hash_seq_init(&scan, entries);
	while (const auto *entry = static_cast<Entry *>(hash_seq_search(&scan)))
		if (entry->definition == nullptr)
			(void) hash_search(entries, &entry->key, HASH_REMOVE, nullptr);
	given_up_count = 0;
}

// Leaves the entry, which tells that the queue has come back.
static void
give_up(Definition *definition)
{
	constexpr long most_given_up = 10000;
	Entry *entry = entry_of(definition->source, definition->name, HASH_FIND);
	if (entry != nullptr && entry->definition == definition) {
		entry->definition = nullptr;
		given_up_count++;
	}
	free_definition(definition);
	if (given_up_count > most_given_up)
		forget_given_up();
}

static void
keep_to_limit()
{
	const Size limit = cache_limit();
	while (total_size > limit) {
		Definition *definition = next_to_give_statements();
		if (definition != nullptr) {
			give_up_statements(definition);
			continue;
		}
		definition = next_to_go(by_age, by_use.last, has_come_back);
		if (definition == nullptr)
			return;
		give_up(definition);
	}
}

// The plans of statements that other ones have replaced.
static statement::Plans replaced{};

void
discard_after_calls(Statement *statement)
{
	put_off(&replaced, statement);
}

// Frees the definitions that are invalid or exceed the limit. No call may be using a definition.
static void
tidy()
{
	free_plans(&replaced);
	measure_grown();
	keep_to_limit();
	if (invalidations_seen == catalog::invalidation_count())
		return;
	invalidations_seen = catalog::invalidation_count();
	remove_invalid_names();
	for (Definition *next, *definition = by_use.first; definition != nullptr; definition = next) {
		next = definition->links.next;
		if (!definition->dependent.is_valid)
			free_definition(definition);
	}
}

// The entry is registered with the context only once, and allocated in it.
void
begin_call()
{
	if (calls.is_empty())
		tidy();
	if (is_call_known(CurrentMemoryContext))
		return;
	auto *call = static_cast<Call *>(palloc0(sizeof(Call)));
	call->context = CurrentMemoryContext;
	call->end.func = end_call;
	call->end.arg = call;
	calls.push_front(call);
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &call->end);
}

// Reads the names and properties of the definition's tables. False if the source does not exist.
static bool
read_tables(Definition *definition)
{
	const auto copy = [&](const char *text) {
		return text == nullptr ? nullptr : MemoryContextStrdup(definition->context, text);
	};
	const Oid source = definition->source;
	definition->source_name = copy(qualified_name(source));
	if (definition->source_name == nullptr)
		return false;
	definition->lock_name = copy(lock_name(get_rel_namespace(source), definition->name));
	definition->row_type = get_rel_type_id(source);
	definition->has_children = has_subclass(source);
	definition->is_partitioned = get_rel_relkind(source) == RELKIND_PARTITIONED_TABLE;
	// A dump has the OID of an archive that was dropped as a number, and after a restore that may
	// be another table's.
	if (OidIsValid(definition->archive) && is_like_archive(definition->archive))
		definition->archive_name = copy(qualified_name(definition->archive));
	definition->has_slots = definition->archive_name != nullptr && has_slots(definition->archive);
	definition->tables[0] = {source, definition->source_name};
	definition->tables[1] = {definition->archive, definition->archive_name};
	if (OidIsValid(definition->dead_queue))
		definition->dead_queue_name = copy(qualified_name(definition->dead_queue));
	return true;
}

// Records what the definition itself depends on; compiled_of() and others add their own.
static void
depend_on_tables(Definition *definition)
{
	catalog::Dependent *dependent = &definition->dependent;
	depend_on_table(dependent, definition->source);
	depend_on_table(dependent, definition->archive);
	depend_on_table(dependent, definition->dead_queue);
	// Statements name a function of the extension.
	depend_on_object(dependent, NAMESPACEOID, get_rel_namespace(catalog::registry_oid()));
	// The parent gets a relcache message when a child is added, but not when one is dropped. The
	// first child gets one, and there is one as long as there are children.
	const List *children =
		definition->has_children ? find_inheritance_children(definition->source, NoLock) : NIL;
	if (children != NIL)
		depend_on_relation(dependent, linitial_oid(children));
}

// Makes the definition of (source, name); null if there is none. On ERROR its context is deleted
// with the caller's.
static Definition *
build(Oid source, const char *name)
{
	Definition *definition = nullptr;
	bool is_found = false;
	catalog::make_kept("queue_ext definition", CacheMemoryContext, [&](MemoryContext context) {
		definition = static_cast<Definition *>(MemoryContextAllocZero(context, sizeof(Definition)));
		definition->context = context;
		begin_dependent(&definition->dependent, context);
		make_dependent(&definition->dependent, [&] {
			is_found =
				read_definition(source, name, context, definition) && read_tables(definition);
			if (is_found)
				depend_on_tables(definition);
		});
	});
	if (!is_found) {
		MemoryContextDelete(definition->context);
		return nullptr;
	}
	MemoryContextSetIdentifier(definition->context, definition->name);
	return definition;
}

// Called once per call, for the definition that it uses, and not for each lookup.
void
touch(Definition *definition)
{
	by_use.move_to_front(definition);
}

Definition *
find_definition(Oid source, const char *name)
{
	const Entry *known = entry_of(source, name, HASH_FIND);
	if (known != nullptr && known->definition != nullptr && known->definition->dependent.is_valid)
		return known->definition;
	const bool was_given_up = known != nullptr && known->definition == nullptr;
	Definition *definition = build(source, name);
	if (definition == nullptr)
		return nullptr;
	by_use.push_front(definition);
	by_age.push_front(definition);
	note_growth(definition);
	has_come_back = was_given_up;
	given_up_count -= was_given_up;
	// An invalid definition that the entry had before stays in by_use, and tidy() frees it.
	Entry *entry = entry_of(source, name, HASH_ENTER);
	entry->definition = definition;
	return definition;
}

// Frees invalid definitions also in a session that makes no further call.
static void
on_transaction_end(XactEvent event, void *)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
		return;
	// No call is under way any more, not even one that has raised an error.
	statement::free_discarded();
	tidy();
}

void
register_definition_cache()
{
	DefineCustomIntVariable(
		"queue_ext.definition_cache_size",
		"Sets the memory for the definitions and statements of queues that a session keeps.",
		"What exceeds it is dropped, and made again when it is needed.", &cache_size, cache_size,
		64, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB, nullptr, nullptr, nullptr);
	RegisterXactCallback(on_transaction_end, nullptr);
}

} // namespace queue_ext::definition
