// ready.cpp - see ready.hpp.

#include "../postgres.hpp"

#include "ready.hpp"

#include "../definition/compiled.hpp"
#include "choice.hpp"
#include "claim_text.hpp"
#include "drain.hpp"
#include "filler.hpp"
#include "portable.hpp"
#include "ring_waiting.hpp"
#include "session.hpp"
#include "shared_memory.hpp"

namespace queue_ext::claim {

using definition::ClaimMode;
using definition::Definition;
using definition::Prepared;

// Locks one row as a claim by statement would.
static const char *
ready_text(Definition *definition)
{
	const bool is_lock = definition->claim_mode == ClaimMode::transaction;
	return lock_text(definition, "1", is_lock ? unknown_condition(definition) : "", 1);
}

static bool
is_ready_by_statement(Definition *definition, const Request &request)
{
	bool is_ready = false;
	statement::with_spi([&] {
		check_key(definition);
		if (definition->claim_mode == ClaimMode::session) {
			is_ready = is_any_free(definition, request);
			return;
		}
		const statement::Statement &statement = definition::prepared_of(
			definition, Prepared::ready, definition::compiled_of(definition).access,
			[&] { return ready_text(definition); });
		is_ready = statement::run(statement, arguments_for(definition, request)) > 0;
		SPI_freetuptable(SPI_tuptable);
	});
	return is_ready;
}

// Fills the ring until it is known what stands in it.
static bool
is_ready_in_ring(Definition *definition, Request request)
{
	constexpr int most_fills = 100;
	Ring *ring = ring_of(definition);
	if (ring == nullptr)
		return is_ready_by_statement(definition, request);
	const RingKey &key = definition->claim->key;
	Waits waits{};
	for (int i = 0; i < most_fills; i++) {
		CHECK_FOR_INTERRUPTS();
		request.call_time = GetCurrentTimestamp();
		if (is_idle(definition, ring, request.call_time))
			return false;
		const uint32 wake_generation =
			pg_atomic_read_u32(&get_wakes(definition->source)->generation);
		const Stock stock = stock_of(ring, key, request.call_time, wake_generation);
		if (stock != Stock::unknown)
			return stock == Stock::some;
		const Filled filled = fill_or_wait(definition, ring, request, &waits);
		if (filled.is_foreign || filled.is_stuck)
			return false;
	}
	return false;
}

bool
is_job_ready(Definition *definition, const Request &request)
{
	const Choice choice = choose_path(definition);
	if (choice.path == Path::portable)
		return is_ready_by_statement(definition, request);
	bool is_ready = false;
	with_variant(definition, request, [&] { is_ready = is_ready_in_ring(definition, request); });
	return is_ready;
}

} // namespace queue_ext::claim
