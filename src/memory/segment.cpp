// segment.cpp - see segment.hpp.

#include "../postgres.hpp"

#include "segment.hpp"

#include "../compat.hpp"
#include "../statement/subtransaction.hpp"

namespace queue_ext::memory {

// Each version of the library has its own segments: while sessions use two of them, neither reads
// what the other has laid out differently.
constexpr const char *segment_name = "queue_ext/" QUEUE_EXT_VERSION;

namespace {

// Leads every backend to one segment. AddinShmemInitLock protects segment; has_strays is only ever
// set.
struct Way
{
	dsm_handle segment; // DSM_HANDLE_INVALID: none yet
	bool has_strays;    // some backend could not attach the segment
};

// The ways to all segments.
struct Anchor
{
	Way ways[purpose_count];
};

} // namespace

// Null until attach_segment(), and in a backend that finds no memory for it.
static Anchor *anchor = nullptr;
static bool is_anchor_missing = false;  // as this backend has found
static bool is_in_main_segment = false; // the anchor is, so that every backend can set its flag
static bool is_attached[purpose_count] = {};

static void
initialize_anchor(Anchor *fresh)
{
	for (Way &way : fresh->ways)
		way = {DSM_HANDLE_INVALID, false};
}

static Way *
way_to(Purpose purpose)
{
	return &anchor->ways[static_cast<int>(purpose)];
}

// The hook installed before this one, which request_bytes() calls first.
static shmem_request_hook_type previous_hook = nullptr;

static void
request_bytes()
{
	if (previous_hook != nullptr)
		previous_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(Anchor)));
}

void
request_anchor()
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	previous_hook = shmem_request_hook;
	shmem_request_hook = request_bytes;
}

// Whether the error says that the server or the operating system has no memory to give, or denies
// access to it.
static bool
is_for_want_of_memory(const ErrorData *error)
{
	const int category = ERRCODE_TO_CATEGORY(error->sqlerrcode);
	return category == ERRCODE_INSUFFICIENT_RESOURCES || category == ERRCODE_SYSTEM_ERROR ||
		   error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE;
}

// Runs body with AddinShmemInitLock held exclusively. False if there was no memory.
template <typename Body>
static bool
with_init_lock(Body &&body)
{
	const auto locked = [&] {
		LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
		body();
		LWLockRelease(AddinShmemInitLock);
	};
	return statement::in_subtransaction(locked, is_for_want_of_memory);
}

// Leaves anchor null where the main segment has no slack.
static void
find_anchor_in_main_segment()
{
	is_in_main_segment = with_init_lock([] {
		bool is_found;
		auto *found =
			static_cast<Anchor *>(ShmemInitStruct(segment_name, sizeof(Anchor), &is_found));
		if (!is_found)
			initialize_anchor(found);
		anchor = found;
	});
}

// The way to the segment where the main one has no slack: in a named segment, from PostgreSQL 17
// on.
static void
find_anchor_by_name()
{
#if QUEUE_EXT_HAS_NAMED_SEGMENTS
	const auto find = [] {
		bool is_found;
		anchor = static_cast<Anchor *>(compat::named_segment(
			segment_name, sizeof(Anchor),
			[](void *memory) { initialize_anchor(static_cast<Anchor *>(memory)); }, &is_found));
	};
	(void) statement::in_subtransaction(find, is_for_want_of_memory);
#endif
}

// What attach_segment() was asked to call.
static void (*exit_callbacks[purpose_count])() = {};

static void
on_detach(dsm_segment *, Datum purpose)
{
	exit_callbacks[DatumGetInt32(purpose)]();
}

// Attaches the segment to which the anchor leads, or creates it; leaves *segment alone if the
// server has too many segments. AddinShmemInitLock must be held.
static void
find_segment(Way *way, Segment *segment, size_t size, void (*initialize)(void *memory, size_t size))
{
	const bool is_new = way->segment == DSM_HANDLE_INVALID;
	dsm_segment *found =
		is_new ? dsm_create(size, DSM_CREATE_NULL_IF_MAXSEGMENTS) : dsm_attach(way->segment);
	if (found == nullptr)
		return;
	const Segment mapped{dsm_segment_address(found), dsm_segment_map_length(found)};
	const auto purpose = static_cast<int32>(way - anchor->ways);
	if (is_new) {
		initialize(mapped.memory, mapped.size); // an ERROR destroys the segment again
		dsm_pin_segment(found);
		way->segment = dsm_segment_handle(found);
	}
	dsm_pin_mapping(found);
	if (exit_callbacks[purpose] != nullptr)
		on_dsm_detach(found, on_detach, Int32GetDatum(purpose));
	*segment = mapped;
}

// The second segment finds the anchor that the first one has found.
static void
find_anchor()
{
	if (anchor == nullptr)
		find_anchor_in_main_segment();
	if (anchor == nullptr)
		find_anchor_by_name();
	is_anchor_missing = anchor == nullptr;
}

// Read as a hint. Looks in vain once only.
bool
is_there(Purpose purpose)
{
	if (!is_anchor_missing)
		find_anchor();
	return anchor != nullptr && way_to(purpose)->segment != DSM_HANDLE_INVALID;
}

Segment
attach_segment(Purpose purpose, size_t size, void (*initialize)(void *memory, size_t size),
			   void (*at_exit)())
{
	find_anchor();
	Segment segment{};
	exit_callbacks[static_cast<int>(purpose)] = at_exit;
	if (anchor != nullptr)
		(void) with_init_lock([&] { find_segment(way_to(purpose), &segment, size, initialize); });
	is_attached[static_cast<int>(purpose)] = segment.memory != nullptr;
	if (anchor != nullptr && segment.memory == nullptr)
		way_to(purpose)->has_strays = true;
	return segment;
}

bool
is_shared_by_all(Purpose purpose)
{
	return is_attached[static_cast<int>(purpose)] && is_in_main_segment &&
		   !way_to(purpose)->has_strays;
}

} // namespace queue_ext::memory
