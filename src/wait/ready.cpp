// ready.cpp - see ready.hpp.

#include "../postgres.hpp"

#include "ready.hpp"

#include "../claim/choice.hpp"
#include "../claim/claim_text.hpp"
#include "../claim/drain.hpp"
#include "../claim/filler.hpp"
#include "../claim/news.hpp"
#include "../claim/portable.hpp"
#include "../claim/recurring.hpp"
#include "../claim/session.hpp"
#include "../definition/compiled.hpp"
#include "../ring/shared_memory.hpp"
#include "../ring/waiting.hpp"
#include "../wake/claimed.hpp"
#include "../wake/written.hpp"

namespace queue_ext::wait {

using claim::Choice;
using claim::Filled;
using claim::Path;
using claim::Request;
using definition::ClaimMode;
using definition::Definition;
using ring::KindForm;
using ring::Ring;
using ring::RingKey;
using ring::Stock;

namespace {

struct ReadyKept
{
	static constexpr definition::Layer layer = definition::Layer::wait;
	// Finds a row that looks pending: one for each KindForm; null until it is needed.
	statement::Statement *statements[static_cast<int>(KindForm::some) + 1];
};

} // namespace

// The statement is prepared or not.
static definition::KeptStatement
kept_for_waits(Definition *definition, KindForm form)
{
	return definition::kept_statement<ReadyKept>(definition, form, "search (\"pending\") in");
}

// Locks one row as a claim by statement would.
static const char *
ready_text(Definition *definition, KindForm form)
{
	const bool is_lock = definition->claim_mode == ClaimMode::transaction;
	return claim::lock_text(
		definition, "1",
		is_lock ? claim::unknown_condition(definition) : ring::kind_condition(form), 1);
}

static bool
is_ready_by_statement(Definition *definition, const Request &request)
{
	const KindForm form = ring::form_of(request.kinds);
	bool is_ready = false;
	statement::with_spi([&] {
		claim::check_key(definition);
		if (definition->claim_mode == ClaimMode::session) {
			is_ready = is_any_free(definition, request);
			return;
		}
		const statement::Statement &statement = definition::prepared_of(
			definition, kept_for_waits(definition, form),
			ring::access_of(form, definition::compiled_of(definition).access),
			[&] { return ready_text(definition, form); });
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
	Ring *ring = claim::ring_of(definition);
	if (ring == nullptr)
		return is_ready_by_statement(definition, request);
	const RingKey &key = claim::ring_claim_of(definition)->key;
	claim::Waits waits{};
	for (int i = 0; i < most_fills; i++) {
		CHECK_FOR_INTERRUPTS();
		request.call_time = GetCurrentTimestamp();
		const bool is_owed = wake::owes_sweep(ring, key, request.call_time);
		(void) admit_all(definition, ring, &request, nullptr);
		if (!is_owed && claim::is_idle(definition, ring, request.call_time))
			return false;
		pg_atomic_uint32 *generation = &ring::get_wakes(definition->source)->generation;
		const uint32 wake_generation = pg_atomic_read_u32(generation);
		const Stock stock = stock_of(ring, key, request.call_time, generation);
		if (stock == Stock::some || (stock == Stock::none && !is_owed))
			return stock == Stock::some;
		const Filled filled =
			fill_or_wait(definition, ring, request, {generation, wake_generation, false}, &waits);
		if (filled.is_foreign || filled.is_stuck)
			return false;
	}
	return false;
}

bool
is_job_ready(Definition *definition, const Request &request)
{
	// The pop that comes next sends it.
	if (request.is_rolled_back && claim::is_any_lost(definition, request.call_time))
		return true;
	if (!request.is_rolled_back)
		claim::send_lost_sometimes(definition, request.call_time);
	const Choice choice = claim::choose_path(definition);
	if (choice.path == Path::portable || wake::has_offers(definition->source))
		return is_ready_by_statement(definition, request);
	bool is_ready = false;
	with_variant(definition, request, [&] { is_ready = is_ready_in_ring(definition, request); });
	return is_ready;
}

} // namespace queue_ext::wait
