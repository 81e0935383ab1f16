// rows.cpp - see rows.hpp.

#include "../postgres.hpp"

#include "rows.hpp"

#include "../catalog/row_key.hpp"
#include "../compat.hpp"
#include "../definition/compiled.hpp"
#include "../error.hpp"
#include "../key/fnv.hpp"
#include "../ring/shared_memory.hpp"
#include "tables.hpp"

namespace queue_ext::held {

using definition::Definition;

namespace {

enum class HeldState {
	held,
	finished, // by this transaction
	passed,   // by a call under way
	gone,     // its table was dropped or truncated
};

// A row that claims of this session pass by.
struct HeldRow
{
	HeldRow *next;      // in the same bucket
	dlist_node changed; // link in the list of those that this transaction has changed
	bool is_changed;
	HeldId id;
	HeldTable *table;
	char *row_key;
	HeldState state;
	bool has_lock; // an advisory one, described by tag
	LOCKTAG tag;
	Files files; // of its table, when the lock was taken
	// The subtransaction that took it; InvalidSubTransactionId: its transaction has committed.
	SubTransactionId taken_in;
	// The one that finished it or found it gone; InvalidSubTransactionId: none has.
	SubTransactionId finished_in;
};

// The hash table's entry: the held rows with one hash value.
struct Bucket
{
	uint64 hash; // the hash key
	HeldRow *first;
};

} // namespace

// Holds the hash table and its rows, as long as the backend lives.
static MemoryContext context = nullptr;
static HTAB *buckets = nullptr;

// The held rows that this transaction has changed: the ends of transactions visit these alone.
static dlist_head changed = DLIST_STATIC_INIT(changed);

// Counts on for as long as the backend lives, so that no ID is used twice.
static HeldId last_id = 0;

// The number of held rows, now and when drop_lost() last looked through them.
static int held_count = 0;
static int held_count_looked_through = 0;

static uint64
hash_of(Oid table, const char *row_key)
{
	return key::fnv1a_64(reinterpret_cast<const unsigned char *>(row_key), strlen(row_key)) ^ table;
}

static void
create_buckets()
{
	context =
		AllocSetContextCreate(TopMemoryContext, "queue_ext held rows", ALLOCSET_DEFAULT_SIZES);
	HASHCTL control{};
	control.keysize = sizeof(Bucket::hash);
	control.entrysize = sizeof(Bucket);
	control.hcxt = context;
	buckets =
		hash_create("queue_ext held rows", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static HeldRow *
find(Oid table, const char *row_key)
{
	if (buckets == nullptr)
		return nullptr;
	const uint64 hash = hash_of(table, row_key);
	const auto *bucket = static_cast<Bucket *>(hash_search(buckets, &hash, HASH_FIND, nullptr));
	for (HeldRow *held = bucket == nullptr ? nullptr : bucket->first; held != nullptr;
		 held = held->next)
		if (held->table->oid == table && strcmp(held->row_key, row_key) == 0)
			return held;
	return nullptr;
}

static void
mark_changed(HeldRow *held)
{
	if (!held->is_changed)
		dlist_push_tail(&changed, &held->changed);
	held->is_changed = true;
}

static void
unmark_changed(HeldRow *held)
{
	if (held->is_changed)
		dlist_delete(&held->changed);
	held->is_changed = false;
}

// Records a row of the current subtransaction, whose rollback removes it.
static HeldRow *
add(Oid table, const char *row_key, HeldState state)
{
	if (buckets == nullptr)
		create_buckets();
	auto *held = static_cast<HeldRow *>(MemoryContextAllocZero(context, sizeof(HeldRow)));
	held->id = ++last_id;
	held->row_key = MemoryContextStrdup(context, row_key);
	held->table = enter_table(table);
	held->state = state;
	held->taken_in = GetCurrentSubTransactionId();

	const uint64 hash = hash_of(table, row_key);
	bool is_found;
	auto *bucket = static_cast<Bucket *>(hash_search(buckets, &hash, HASH_ENTER, &is_found));
	held->next = is_found ? bucket->first : nullptr;
	bucket->first = held;
	held_count++;
	mark_changed(held);
	return held;
}

// Never raises, nor warns: user-defined code may have released all advisory locks.
static void
release_lock(HeldRow *held)
{
	if (held->has_lock && compat::holds_lock(&held->tag, ExclusiveLock))
		LockRelease(&held->tag, ExclusiveLock, true);
	held->has_lock = false;
}

// Forgets the row and releases its lock. Never raises.
static void
remove(HeldRow *held)
{
	const uint64 hash = hash_of(held->table->oid, held->row_key);
	auto *bucket = static_cast<Bucket *>(hash_search(buckets, &hash, HASH_FIND, nullptr));
	HeldRow **link = &bucket->first;
	while (*link != held)
		link = &(*link)->next;
	*link = held->next;
	if (bucket->first == nullptr)
		hash_search(buckets, &hash, HASH_REMOVE, nullptr);
	unmark_changed(held);
	release_lock(held);
	leave_table(held->table);
	pfree(held->row_key);
	pfree(held);
	held_count--;
}

// Calls is_over(HeldRow *) for the rows that this transaction has changed, and removes those for
// which it returns true; it may change the others. Never raises, unless is_over does.
template <typename IsOver>
static void
sweep_changed(IsOver &&is_over)
{
	// dlist_foreach_modify() does not compile as C++.
	for (dlist_node *node = changed.head.next; node != &changed.head;) {
		auto *held = reinterpret_cast<HeldRow *>(reinterpret_cast<char *>(node) -
												 offsetof(HeldRow, changed));
		node = node->next;
		if (is_over(held))
			remove(held);
	}
}

// Removes the rows whose lock user-defined code has released (DISCARD ALL does), each time that the
// number of rows has doubled.
static void
drop_lost()
{
	constexpr int least = 64;
	if (buckets == nullptr || held_count < 2 * held_count_looked_through + least)
		return;
	HASH_SEQ_STATUS scan;
	hash_seq_init(&scan, buckets);
	while (auto *bucket = static_cast<Bucket *>(hash_seq_search(&scan)))
		for (HeldRow *held = bucket->first; held != nullptr; held = held->next)
			if (held->has_lock && !compat::holds_lock(&held->tag, ExclusiveLock))
				mark_changed(held);
	sweep_changed([](HeldRow *held) {
		return held->has_lock && !compat::holds_lock(&held->tag, ExclusiveLock);
	});
	held_count_looked_through = held_count;
}

// Undoes finishing the row, or finding it gone; a table found so is looked at again.
static void
restore(HeldRow *held)
{
	if (held->state == HeldState::gone)
		mark_table(held->table);
	held->state = HeldState::held;
	held->finished_in = InvalidSubTransactionId;
}

// Marks the rows whose table was dropped or truncated. They can be neither claimed nor finished,
// and their locks are released when this transaction commits; at once if it has no XID, since the
// change is then another's, and committed.
static void
note_gone()
{
	if (buckets == nullptr || !take_changed_tables())
		return;
	HASH_SEQ_STATUS scan;
	hash_seq_init(&scan, buckets);
	while (auto *bucket = static_cast<Bucket *>(hash_seq_search(&scan)))
		for (HeldRow *held = bucket->first; held != nullptr; held = held->next) {
			if (!held->table->is_looked_at || !held->has_lock || held->state != HeldState::held ||
				!are_rows_gone(held->table->oid, &held->files))
				continue;
			held->state = HeldState::gone;
			held->finished_in = GetCurrentSubTransactionId();
			mark_changed(held);
		}
	looked_at_tables();
	if (!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		sweep_changed([](const HeldRow *held) { return held->state == HeldState::gone; });
}

// Whether the commit ends the holding: only rows of mode session that are not finished stay.
static bool
at_commit(HeldRow *held)
{
	held->taken_in = InvalidSubTransactionId;
	return !held->has_lock || held->state != HeldState::held;
}

// Whether the rollback ends the holding, as this transaction began it.
static bool
at_abort(HeldRow *held)
{
	if (held->finished_in != InvalidSubTransactionId)
		restore(held);
	return held->taken_in != InvalidSubTransactionId;
}

// No callback runs when a prepared transaction ends: a table that it drops is looked at later.
static bool
at_prepare(HeldRow *held)
{
	if (held->state == HeldState::gone)
		restore(held);
	return at_commit(held);
}

// Raises 0A000 if this transaction has finished a row of mode session: no callback runs when a
// prepared transaction ends, so nothing would release the lock.
static void
check_prepare()
{
	sweep_changed([](const HeldRow *held) {
		if (held->has_lock && held->state == HeldState::finished)
			error::cannot_prepare();
		return false;
	});
}

// Empties the list for the next transaction.
static void
forget_changed()
{
	sweep_changed([](HeldRow *held) {
		unmark_changed(held);
		return false;
	});
}

// Catalogs can be read before the commit only, so note_gone() is not left to the other events.
static void
on_transaction_end(XactEvent event, void *)
{
	if (event == XACT_EVENT_PRE_COMMIT)
		note_gone();
	if (dlist_is_empty(&changed))
		return;
	switch (event) {
		case XACT_EVENT_PRE_PREPARE:
			check_prepare();
			break;
		case XACT_EVENT_PREPARE:
			sweep_changed(at_prepare);
			forget_changed();
			break;
		case XACT_EVENT_COMMIT:
			sweep_changed(at_commit);
			forget_changed();
			break;
		case XACT_EVENT_ABORT:
			sweep_changed(at_abort);
			forget_changed();
			break;
		default:
			break;
	}
}

// What a subtransaction did becomes its parent's, or is undone at once.
static void
on_subtransaction_end(SubXactEvent event, SubTransactionId ended, SubTransactionId parent, void *)
{
	if (dlist_is_empty(&changed))
		return;
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		sweep_changed([&](HeldRow *held) {
			if (held->taken_in == ended)
				held->taken_in = parent;
			if (held->finished_in == ended)
				held->finished_in = parent;
			return false;
		});
	else if (event == SUBXACT_EVENT_ABORT_SUB)
		sweep_changed([&](HeldRow *held) {
			if (held->finished_in == ended)
				restore(held);
			return held->taken_in == ended;
		});
}

void
register_held_row_callbacks()
{
	register_held_tables();
	ring::register_locked_tables(visit_held_tables);
	RegisterXactCallback(on_transaction_end, nullptr);
	RegisterSubXactCallback(on_subtransaction_end, nullptr);
}

// Like find(), but forgets a row whose lock user-defined code has released (DISCARD ALL does): any
// session may claim that job.
static HeldRow *
find_good(Oid table, const char *row_key)
{
	note_gone();
	HeldRow *held = find(table, row_key);
	if (held == nullptr || !held->has_lock || compat::holds_lock(&held->tag, ExclusiveLock))
		return held;
	remove(held);
	return nullptr;
}

bool
is_known(Oid table, const char *row_key)
{
	return find_good(table, row_key) != nullptr;
}

bool
is_taken_here(Oid table, const char *row_key)
{
	const HeldRow *held = find_good(table, row_key);
	return held != nullptr &&
		   (held->state == HeldState::held || held->state == HeldState::finished) &&
		   held->taken_in != InvalidSubTransactionId;
}

// The held row if it is in the queue's claim mode and not finished, or null.
static HeldRow *
find_held(const Definition *definition, const char *row_key)
{
	HeldRow *held = find_good(definition->source, row_key);
	const bool is_session = definition->claim_mode == definition::ClaimMode::session;
	return held != nullptr && held->state == HeldState::held && held->has_lock == is_session
			   ? held
			   : nullptr;
}

bool
is_held(const Definition *definition, const char *row_key)
{
	return find_held(definition, row_key) != nullptr;
}

void
hold_row(Oid table, const char *row_key)
{
	add(table, row_key, HeldState::held);
}

// The tag of pg_advisory_lock(table, key): a single integer key stands for itself, if it fits into
// 32 bits; any other key is the FNV-1 hash of its text.
static LOCKTAG
lock_tag(const Definition *definition, const char *row_key)
{
	uint32 number = key::fnv1_32(reinterpret_cast<const unsigned char *>(row_key), strlen(row_key));
	const catalog::RowKey &columns = definition->compiled->row_key;
	const Oid type = getBaseType(columns.columns[0].type);
	if (columns.length == 1 && (type == INT2OID || type == INT4OID || type == INT8OID)) {
		const int64 integer = strtoll(row_key, nullptr, 10);
		if (integer >= PG_INT32_MIN && integer <= PG_INT32_MAX)
			number = static_cast<uint32>(static_cast<int32>(integer));
	}
	constexpr uint16 two_integers = 2; // as in lockfuncs.c
	LOCKTAG tag;
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, definition->source, number, two_integers);
	return tag;
}

HeldId
try_hold(const Definition *definition, const char *row_key)
{
	// A nested call may have taken it.
	if (is_known(definition->source, row_key))
		return 0;
	// Recorded first, so that the rollback removes it if LockAcquire() raises.
	HeldRow *held = add(definition->source, row_key, HeldState::passed);
	held->tag = lock_tag(definition, row_key);
	switch (LockAcquire(&held->tag, ExclusiveLock, true, true)) {
		case LOCKACQUIRE_OK:
			held->has_lock = true;
			held->files = files_of(definition->source, definition->compiled->row_key.index);
			held->state = HeldState::held;
			return held->id;
		case LOCKACQUIRE_NOT_AVAIL:
			return 0;
		default:
			// The session had it already: taken in another way, or for a key with the same hash.
			LockRelease(&held->tag, ExclusiveLock, true);
			return 0;
	}
}

bool
has_hold(Oid table, const char *row_key, HeldId id)
{
	const HeldRow *held = find_good(table, row_key);
	return held != nullptr && held->id == id;
}

void
pass_by(Oid table, const char *row_key, HeldId id)
{
	HeldRow *held = find_good(table, row_key);
	if (held == nullptr)
		held = add(table, row_key, HeldState::passed);
	if (held->id != id)
		return; // a nested call holds the row now, or add() has just made the record
	release_lock(held);
	held->state = HeldState::passed;
}

HeldId
begin_passing()
{
	return last_id + 1;
}

void
forget_passed(HeldId begun)
{
	sweep_changed(
		[&](const HeldRow *held) { return held->state == HeldState::passed && held->id >= begun; });
	drop_lost();
}

bool
finish_held_row(const Definition *definition, const char *row_key)
{
	HeldRow *held = find_held(definition, row_key);
	if (held == nullptr)
		return false;
	held->state = HeldState::finished;
	held->finished_in = GetCurrentSubTransactionId();
	mark_changed(held);
	return true;
}

} // namespace queue_ext::held
