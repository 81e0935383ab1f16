// sources.cpp - see sources.hpp.

#include "../postgres.hpp"

#include "sources.hpp"

#include "../argument.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "pop_call.hpp"

namespace queue_ext::queue {

using claim::Request;
using definition::Definition;
using definition::Use;

// The largest weight (22023).
constexpr int most_weight = 1000000;

static void
read_names(FunctionCallInfo fcinfo, int n, Sources *sources)
{
	Datum *names;
	bool *nulls;
	deconstruct_array(argument::required_array(fcinfo, n, "queues"), TEXTOID, -1, false,
					  TYPALIGN_INT, &names, &nulls, &sources->count);
	if (sources->count == 0 || sources->count > ring::most_lists)
		error::queues_out_of_range(sources->count, ring::most_lists);
	for (int i = 0; i < sources->count; i++) {
		if (nulls[i])
			error::null_element("queues");
		sources->all[i] = {DatumGetTextPCopy(names[i]), i, 0, nullptr, 0};
	}
}

static void
read_weights(FunctionCallInfo fcinfo, int n, Sources *sources)
{
	Datum *weights;
	bool *nulls;
	int count;
	deconstruct_array(argument::required_array(fcinfo, n, "weights"), INT4OID, sizeof(int32), true,
					  TYPALIGN_INT, &weights, &nulls, &count);
	if (count != sources->count)
		error::length_mismatch("queues", sources->count, "weights", count);
	for (int i = 0; i < count; i++) {
		if (nulls[i])
			error::null_element("weights");
		const int32 weight = DatumGetInt32(weights[i]);
		error::check_range("weights", weight, 1, most_weight);
		sources->all[i].weight = weight;
	}
}

void
read_sources(FunctionCallInfo fcinfo, int n, int weights, Sources *sources)
{
	read_names(fcinfo, n, sources);
	if (!PG_ARGISNULL(weights))
		read_weights(fcinfo, weights, sources);
}

// Without putting back, by which the first is a queue of weight w with the probability w / sum: the places are
// exponentially distributed, with the weights as rates (Efraimidis and Spirakis, 2006).
static double
draw_place(int64 weight)
{
	return -log1p(-pg_prng_double(&pg_global_prng_state)) / static_cast<double>(weight);
}

static int
compare_places(const void *left, const void *right)
{
	const double one = static_cast<const Source *>(left)->place;
	const double other = static_cast<const Source *>(right)->place;
	return one < other ? -1 : one > other;
}

// The source of that queue, or null.
static Source *
find_source(Sources *sources, const Definition *definition)
{
	for (int i = 0; i < sources->count; i++)
		if (sources->all[i].definition == definition)
			return &sources->all[i];
	return nullptr;
}

Sources
open_sources(const Sources &sources, const Request &request)
{
	Sources opened{};
	for (int i = 0; i < sources.count; i++) {
		Source source = sources.all[i];
		source.definition = definition::open_managed_queue(
			source.name, Use::claim, "Use queue_pop_rows(), which returns rows of its table.");
		check_kinds(source.definition, request);
		source.number = opened.count;
		if (Source *twin = find_source(&opened, source.definition))
			twin->weight += source.weight;
		else
			opened.all[opened.count++] = source;
	}
	if (opened.all[0].weight == 0)
		return opened;
	for (int i = 0; i < opened.count; i++)
		opened.all[i].place = draw_place(opened.all[i].weight);
	qsort(opened.all, opened.count, sizeof(Source), compare_places);
	return opened;
}

} // namespace queue_ext::queue
