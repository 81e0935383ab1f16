// hold.cpp - see hold.hpp.

#include "../postgres.hpp"

#include "hold.hpp"

#include "../catalog/identity.hpp"
#include "../compat.hpp"
#include "../definition/compiled.hpp"
#include "../error.hpp"
#include "../key/fnv.hpp"
#include "hold_table.hpp"

namespace queue_ext::claim {

using definition::Definition;

namespace {

enum class HoldState {
	held,
	finished,
	passed,
	gone, // with its table, or with all of its rows
};

struct Hold
{
	Hold *next;         // with the same hash
	dlist_node changed; // in the list of those that this transaction has changed
	bool is_changed;
	HoldNumber number;
	HoldTable *table;
	char *identity;
	HoldState state;
	bool has_lock; // an advisory one, described by tag
	LOCKTAG tag;
	Files files; // of its table, then
	// Where it was taken, and finished or found gone; InvalidSubTransactionId: in a
	// transaction that has committed, and not at all.
	SubTransactionId taken_in;
	SubTransactionId finished_in;
};

struct Bucket
{
	uint64 hash; // the hash key
	Hold *first;
};

} // namespace

static MemoryContext context = nullptr;
static HTAB *buckets = nullptr;
static dlist_head changed = DLIST_STATIC_INIT(changed);

static HoldNumber last_number = 0;

// How many there are, and how many there were when they were last looked through for
// locks that the user has let go.
static int hold_count = 0;
static int hold_count_looked_through = 0;

static uint64
hash_of(Oid table, const char *identity)
{
	return key::fnv1a_64(reinterpret_cast<const unsigned char *>(identity), strlen(identity)) ^
		   table;
}

static void
create_buckets()
{
	context = AllocSetContextCreate(TopMemoryContext, "queue_ext holds", ALLOCSET_DEFAULT_SIZES);
	HASHCTL control{};
	control.keysize = sizeof(Bucket::hash);
	control.entrysize = sizeof(Bucket);
	control.hcxt = context;
	buckets = hash_create("queue_ext holds", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static Hold *
find(Oid table, const char *identity)
{
	if (buckets == nullptr)
		return nullptr;
	const uint64 hash = hash_of(table, identity);
	const auto *bucket = static_cast<Bucket *>(hash_search(buckets, &hash, HASH_FIND, nullptr));
	for (Hold *hold = bucket == nullptr ? nullptr : bucket->first; hold != nullptr;
		 hold = hold->next)
		if (hold->table->oid == table && strcmp(hold->identity, identity) == 0)
			return hold;
	return nullptr;
}

static void
mark_changed(Hold *hold)
{
	if (!hold->is_changed)
		dlist_push_tail(&changed, &hold->changed);
	hold->is_changed = true;
}

static void
unmark_changed(Hold *hold)
{
	if (hold->is_changed)
		dlist_delete(&hold->changed);
	hold->is_changed = false;
}

static Hold *
add(Oid table, const char *identity, HoldState state)
{
	if (buckets == nullptr)
		create_buckets();
	auto *hold = static_cast<Hold *>(MemoryContextAllocZero(context, sizeof(Hold)));
	hold->number = ++last_number;
	hold->identity = MemoryContextStrdup(context, identity);
	hold->table = enter_table(table);
	hold->state = state;
	hold->taken_in = GetCurrentSubTransactionId();

	const uint64 hash = hash_of(table, identity);
	bool is_found;
	auto *bucket = static_cast<Bucket *>(hash_search(buckets, &hash, HASH_ENTER, &is_found));
	hold->next = is_found ? bucket->first : nullptr;
	bucket->first = hold;
	hold_count++;
	mark_changed(hold);
	return hold;
}

static void
release_lock(Hold *hold)
{
	// The user may have let go of all advisory locks.
	if (hold->has_lock && compat::holds_lock(&hold->tag, ExclusiveLock))
		LockRelease(&hold->tag, ExclusiveLock, true);
	hold->has_lock = false;
}

// Forgets the hold and gives its lock back. Never raises.
static void
remove(Hold *hold)
{
	const uint64 hash = hash_of(hold->table->oid, hold->identity);
	auto *bucket = static_cast<Bucket *>(hash_search(buckets, &hash, HASH_FIND, nullptr));
	Hold **link = &bucket->first;
	while (*link != hold)
		link = &(*link)->next;
	*link = hold->next;
	if (bucket->first == nullptr)
		hash_search(buckets, &hash, HASH_REMOVE, nullptr);
	unmark_changed(hold);
	release_lock(hold);
	leave_table(hold->table);
	pfree(hold->identity);
	pfree(hold);
	hold_count--;
}

// Calls is_over(Hold *) for those that this transaction has changed, and removes
// those for which it is true. It may change the others. Never raises.
template <typename IsOver>
static void
sweep_changed(IsOver &&is_over)
{
	// (dlist_foreach_modify() is not C++.)
	for (dlist_node *node = changed.head.next; node != &changed.head;) {
		auto *hold =
			reinterpret_cast<Hold *>(reinterpret_cast<char *>(node) - offsetof(Hold, changed));
		node = node->next;
		if (is_over(hold))
			remove(hold);
	}
}

// From time to time, looks for holds whose lock the user has let go of (DISCARD ALL
// does).
static void
drop_lost()
{
	constexpr int least = 64;
	if (buckets == nullptr || hold_count < 2 * hold_count_looked_through + least)
		return;
	HASH_SEQ_STATUS scan;
	hash_seq_init(&scan, buckets);
	while (auto *bucket = static_cast<Bucket *>(hash_seq_search(&scan)))
		for (Hold *hold = bucket->first; hold != nullptr; hold = hold->next)
			if (hold->has_lock && !compat::holds_lock(&hold->tag, ExclusiveLock))
				mark_changed(hold);
	sweep_changed([](Hold *hold) {
		return hold->has_lock && !compat::holds_lock(&hold->tag, ExclusiveLock);
	});
	hold_count_looked_through = hold_count;
}

// It is held again.
static void
restore(Hold *hold)
{
	if (hold->state == HoldState::gone)
		mark_table(hold->table);
	hold->state = HoldState::held;
	hold->finished_in = InvalidSubTransactionId;
}

// Notes which held rows are gone with their tables. They cannot be claimed anew, nor
// finished, and their locks are given back when that has been committed: at once, if this
// transaction has changed nothing, and so it was another.
static void
note_gone()
{
	if (buckets == nullptr || !take_changed_tables())
		return;
	HASH_SEQ_STATUS scan;
	hash_seq_init(&scan, buckets);
	while (auto *bucket = static_cast<Bucket *>(hash_seq_search(&scan)))
		for (Hold *hold = bucket->first; hold != nullptr; hold = hold->next) {
			if (!hold->table->is_looked_at || !hold->has_lock || hold->state != HoldState::held ||
				!are_rows_gone(hold->table->oid, &hold->files))
				continue;
			hold->state = HoldState::gone;
			hold->finished_in = GetCurrentSubTransactionId();
			mark_changed(hold);
		}
	looked_at_tables();
	if (!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		sweep_changed([](const Hold *hold) { return hold->state == HoldState::gone; });
}

static bool
at_commit(Hold *hold)
{
	hold->taken_in = InvalidSubTransactionId;
	return !hold->has_lock || hold->state != HoldState::held;
}

static bool
at_abort(Hold *hold)
{
	if (hold->finished_in != InvalidSubTransactionId)
		restore(hold);
	return hold->taken_in != InvalidSubTransactionId;
}

// Nobody will tell how it ends.
static bool
at_prepare(Hold *hold)
{
	if (hold->state == HoldState::gone)
		restore(hold);
	return at_commit(hold);
}

static void
check_prepare()
{
	sweep_changed([](const Hold *hold) {
		if (hold->has_lock && hold->state == HoldState::finished)
			error::cannot_prepare();
		return false;
	});
}

static void
forget_changed()
{
	sweep_changed([](Hold *hold) {
		unmark_changed(hold);
		return false;
	});
}

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

static void
on_subtransaction_end(SubXactEvent event, SubTransactionId ended, SubTransactionId parent, void *)
{
	if (dlist_is_empty(&changed))
		return;
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		sweep_changed([&](Hold *hold) {
			if (hold->taken_in == ended)
				hold->taken_in = parent;
			if (hold->finished_in == ended)
				hold->finished_in = parent;
			return false;
		});
	else if (event == SUBXACT_EVENT_ABORT_SUB)
		sweep_changed([&](Hold *hold) {
			if (hold->finished_in == ended)
				restore(hold);
			return hold->taken_in == ended;
		});
}

void
register_hold_callbacks()
{
	register_hold_tables();
	RegisterXactCallback(on_transaction_end, nullptr);
	RegisterSubXactCallback(on_subtransaction_end, nullptr);
}

// As find(), where the session still has the hold's lock: the user may have let go of
// all advisory locks (DISCARD ALL does). Then the job is anyone's.
static Hold *
find_good(Oid table, const char *identity)
{
	note_gone();
	Hold *hold = find(table, identity);
	if (hold == nullptr || !hold->has_lock || compat::holds_lock(&hold->tag, ExclusiveLock))
		return hold;
	remove(hold);
	return nullptr;
}

bool
is_known(Oid table, const char *identity)
{
	return find_good(table, identity) != nullptr;
}

// The hold of the row if it is in the queue's claim mode and not finished, or null.
static Hold *
find_held(const Definition *definition, const char *identity)
{
	Hold *hold = find_good(definition->source, identity);
	const bool is_session = definition->claim_mode == definition::ClaimMode::session;
	return hold != nullptr && hold->state == HoldState::held && hold->has_lock == is_session
			   ? hold
			   : nullptr;
}

bool
is_held(const Definition *definition, const char *identity)
{
	return find_held(definition, identity) != nullptr;
}

void
hold_row(Oid table, const char *identity)
{
	add(table, identity, HoldState::held);
}

// The lock of pg_advisory_lock(table, key): an integer key is itself, if it fits;
// any other is its text's FNV-1 hash.
static LOCKTAG
lock_tag(const Definition *definition, const char *identity)
{
	uint32 number =
		key::fnv1_32(reinterpret_cast<const unsigned char *>(identity), strlen(identity));
	const catalog::Identity &columns = definition->compiled->identity;
	const Oid type = getBaseType(columns.columns[0].type);
	if (columns.length == 1 && (type == INT2OID || type == INT4OID || type == INT8OID)) {
		const int64 integer = strtoll(identity, nullptr, 10);
		if (integer >= PG_INT32_MIN && integer <= PG_INT32_MAX)
			number = static_cast<uint32>(static_cast<int32>(integer));
	}
	constexpr uint16 two_integers = 2; // as in lockfuncs.c
	LOCKTAG tag;
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, definition->source, number, two_integers);
	return tag;
}

HoldNumber
try_hold(const Definition *definition, const char *identity)
{
	// A call within this one may have come first.
	if (is_known(definition->source, identity))
		return 0;
	// Noted first: whatever happens from here on, the transaction's end knows.
	Hold *hold = add(definition->source, identity, HoldState::passed);
	hold->tag = lock_tag(definition, identity);
	switch (LockAcquire(&hold->tag, ExclusiveLock, true, true)) {
		case LOCKACQUIRE_OK:
			hold->has_lock = true;
			hold->files = files_of(definition->source, definition->compiled->identity.index);
			hold->state = HoldState::held;
			return hold->number;
		case LOCKACQUIRE_NOT_AVAIL:
			return 0;
		default:
			// This session has it already: by hand, or for a key with the same number.
			LockRelease(&hold->tag, ExclusiveLock, true);
			return 0;
	}
}

bool
has_hold(Oid table, const char *identity, HoldNumber number)
{
	const Hold *hold = find_good(table, identity);
	return hold != nullptr && hold->number == number;
}

void
pass_by(Oid table, const char *identity, HoldNumber number)
{
	Hold *hold = find_good(table, identity);
	if (hold == nullptr)
		hold = add(table, identity, HoldState::passed);
	if (hold->number != number)
		return; // a call within this one holds the row now, or it is new
	release_lock(hold);
	hold->state = HoldState::passed;
}

HoldNumber
begin_passing()
{
	return last_number + 1;
}

void
forget_passed(HoldNumber begun)
{
	sweep_changed([&](const Hold *hold) {
		return hold->state == HoldState::passed && hold->number >= begun;
	});
	drop_lost();
}

bool
finish_hold(const Definition *definition, const char *identity)
{
	Hold *hold = find_held(definition, identity);
	if (hold == nullptr)
		return false;
	hold->state = HoldState::finished;
	hold->finished_in = GetCurrentSubTransactionId();
	mark_changed(hold);
	return true;
}

} // namespace queue_ext::claim
