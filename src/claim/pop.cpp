// pop.cpp - queue_pop: the entry point of a claim.

#include "../postgres.hpp"

#include "../error.hpp"
#include "../queue/argument.hpp"
#include "../queue/cache.hpp"
#include "claim.hpp"

namespace queue_ext::claim {

QUEUE_EXT_FUNCTION(queue_ext_queue_pop);

constexpr int max_jobs_limit = 10000;

Datum
queue_ext_queue_pop(PG_FUNCTION_ARGS)
{
	PreventCommandIfReadOnly("queue_pop()");
	InitMaterializedSRF(fcinfo, 0);
	const auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
	const text *name = queue::required_text(fcinfo, 0, "queue");

	Request request{};
	request.call_time = GetCurrentTimestamp();
	request.max_jobs = queue::required_int32(fcinfo, 1, "max_jobs");
	error::check_range("max_jobs", request.max_jobs, 1, max_jobs_limit);
	request.lease = queue::optional_positive(fcinfo, 2, "lease");
	request.worker = PG_ARGISNULL(3) ? nullptr : PG_GETARG_TEXT_PP(3);

	queue::Definition *definition = queue::open_queue(name, RowExclusiveLock);
	if (!definition->is_paused) {
		const Output output{result->setResult, result->setDesc};
		queue::with_spi([&] { claim_portable(definition, request, output); });
	}
	return static_cast<Datum>(0);
}

} // namespace queue_ext::claim
