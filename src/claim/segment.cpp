// segment.cpp - see segment.hpp.

#include "../postgres.hpp"

#include "segment.hpp"

#include "../compat.hpp"
#include "../statement/subtransaction.hpp"

namespace queue_ext::claim {

// Each version of the library has its own segment: while sessions use two of them, neither reads
// what the other has laid out differently (shared_memory.cpp, ring.hpp).
constexpr const char *segment_name = "queue_ext/" QUEUE_EXT_VERSION;

namespace {

// Leads every backend to the segment. AddinShmemInitLock protects segment; has_strays is only ever
// set.
struct Anchor
{
	dsm_handle segment; // DSM_HANDLE_INVALID: none yet
	bool has_strays;    // some backend could not attach the segment
};

} // namespace

// Null until attach_segment(), and in a backend that finds no memory for it.
static Anchor *anchor = nullptr;
static bool is_in_main_segment = false; // the anchor is, so that every backend can set its flag
static bool is_attached = false;

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
			*found = {DSM_HANDLE_INVALID, false};
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
			[](void *memory) {
				*static_cast<Anchor *>(memory) = {DSM_HANDLE_INVALID, false};
			},
			&is_found));
	};
	(void) statement::in_subtransaction(find, is_for_want_of_memory);
#endif
}

// What attach_segment() was asked to call.
static void (*exit_callback)() = nullptr;

static void
on_detach(dsm_segment *, Datum)
{
	exit_callback();
}

// Attaches the segment to which the anchor leads, or creates it; leaves *segment alone if the
// server has too many segments. AddinShmemInitLock must be held.
static void
find_segment(Segment *segment, size_t size, void (*initialize)(void *memory, size_t size),
			 void (*at_exit)())
{
	const bool is_new = anchor->segment == DSM_HANDLE_INVALID;
	dsm_segment *found =
		is_new ? dsm_create(size, DSM_CREATE_NULL_IF_MAXSEGMENTS) : dsm_attach(anchor->segment);
	if (found == nullptr)
		return;
	const Segment mapped{dsm_segment_address(found), dsm_segment_map_length(found)};
	if (is_new) {
		initialize(mapped.memory, mapped.size); // an ERROR destroys the segment again
		dsm_pin_segment(found);
		anchor->segment = dsm_segment_handle(found);
	}
	dsm_pin_mapping(found);
	exit_callback = at_exit;
	on_dsm_detach(found, on_detach, static_cast<Datum>(0));
	*segment = mapped;
}

Segment
attach_segment(size_t size, void (*initialize)(void *memory, size_t size), void (*at_exit)())
{
	find_anchor_in_main_segment();
	if (anchor == nullptr)
		find_anchor_by_name();
	Segment segment{};
	if (anchor != nullptr)
		(void) with_init_lock([&] { find_segment(&segment, size, initialize, at_exit); });
	is_attached = segment.memory != nullptr;
	if (anchor != nullptr && !is_attached)
		anchor->has_strays = true;
	return segment;
}

bool
is_shared_by_all()
{
	return is_attached && is_in_main_segment && !anchor->has_strays;
}

} // namespace queue_ext::claim
