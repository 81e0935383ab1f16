// job_insert.cpp - see job_insert.hpp.

#include "../postgres.hpp"

#include "job_insert.hpp"

#include "../array.hpp"
#include "../claim/given_back.hpp"
#include "../job/insert.hpp"
#include "../stats/transaction_counters.hpp"
#include "find.hpp"
#include "history.hpp"
#include "locks.hpp"
#include "shard_bucket.hpp"

namespace queue_ext::unique {

using definition::Definition;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;
using statement::placeholder;

namespace {

// The distinct jobs of a call, in the order of their first payloads.
struct Batch
{
	int count;
	JobKey *keys;
	const Datum **payloads;
	int16 *buckets; // of scaleout/, where they were noted
	Outcome *outcomes;
	int *index_of; // by payload: the index of its job
};

// A key and the index of its payload, for sorting.
struct Entry
{
	JobKey key;
	int payload;
};

} // namespace

// Puts equal jobs side by side, the first payload in front.
static int
compare_entries(const void *left, const void *right)
{
	const auto *a = static_cast<const Entry *>(left);
	const auto *b = static_cast<const Entry *>(right);
	if (a->key.lock.key != b->key.lock.key)
		return a->key.lock.key < b->key.lock.key ? -1 : 1;
	if (a->key.values_length != b->key.values_length)
		return a->key.values_length < b->key.values_length ? -1 : 1;
	const int order = memcmp(a->key.values, b->key.values, a->key.values_length);
	return order != 0 ? order : a->payload - b->payload;
}

static bool
are_equal(const Entry &a, const Entry &b)
{
	return a.key.values_length == b.key.values_length &&
		   memcmp(a.key.values, b.key.values, a.key.values_length) == 0;
}

// Detoasts one payload at a time, so that only the keys take memory.
static Batch
make_batch(const Definition *definition, const Criteria &criteria, OnConflict rule,
		   const Datum *payloads, const int16 *buckets, int count)
{
	KeyMaker maker = make_key_maker(definition, criteria);
	auto *entries = allocate<Entry>(count);
	auto *first_of = allocate<int>(count); // by payload: the first equal one
	for (int i = 0; i < count; i++) {
		CHECK_FOR_INTERRUPTS();
		Jsonb *payload = DatumGetJsonbP(payloads[i]);
		entries[i] = {make_key(&maker, payload), i};
		if (PointerGetDatum(payload) != payloads[i])
			pfree(payload);
	}
	auto *by_payload = allocate<JobKey>(count);
	for (int i = 0; i < count; i++)
		by_payload[i] = entries[i].key;
	qsort(entries, count, sizeof(Entry), compare_entries);
	for (int i = 0; i < count; i++)
		first_of[entries[i].payload] = i > 0 && are_equal(entries[i], entries[i - 1])
										   ? first_of[entries[i - 1].payload]
										   : entries[i].payload;

	Batch batch{};
	batch.keys = allocate<JobKey>(count);
	batch.payloads = allocate<const Datum *>(count);
	batch.buckets = allocate<int16>(count);
	batch.outcomes = allocate<Outcome>(count);
	batch.index_of = allocate<int>(count);
	for (int i = 0; i < count; i++) {
		if (first_of[i] != i) {
			batch.index_of[i] = batch.index_of[first_of[i]];
			if (rule == OnConflict::replace)
				batch.payloads[batch.index_of[i]] = &payloads[i];
			continue;
		}
		batch.keys[batch.count] = by_payload[i];
		batch.payloads[batch.count] = &payloads[i];
		batch.buckets[batch.count] = buckets == nullptr ? no_shard_bucket : buckets[i];
		batch.index_of[i] = batch.count++;
	}
	return batch;
}

// Reports the lowest ID of several duplicates, in whatever order they were read.
static void
take_smallest(Outcome *outcome, int64 id)
{
	if (!outcome->has_id || id < outcome->id)
		*outcome = {id, true, false, false};
}

static const FoundJob *
with_id(const Found &found, int64 id)
{
	for (int i = 0; i < found.count; i++)
		if (found.jobs[i].id == id)
			return &found.jobs[i];
	return nullptr;
}

// Sets the outcome if a duplicate counts: a job in the table with equal values, or else a recorded
// one. A recorded job that is not in the table is done; one whose payload an UPDATE has changed
// still counts by its state. One that is done and still in the table, as it has expired, counts if it is recorded.
static void
set_outcome(const Criteria &criteria, const Found &found, const List *remembered, Outcome *outcome)
{
	for (int i = 0; i < found.count; i++)
		if (found.jobs[i].is_equal && found.jobs[i].state != State::done &&
			criteria.does_count(found.jobs[i].state))
			take_smallest(outcome, found.jobs[i].id);
	if (outcome->has_id)
		return;
	ListCell *cell;
	foreach (cell, remembered) {
		const int64 id = *static_cast<const int64 *>(lfirst(cell));
		const FoundJob *job = with_id(found, id);
		if (criteria.does_count(job == nullptr ? State::done : job->state))
			take_smallest(outcome, id);
	}
}

static Datum *
digests_of(const Criteria &criteria, const Batch &batch)
{
	auto *digests = allocate<Datum>(batch.count);
	for (int i = 0; i < batch.count; i++)
		digests[i] = digest_of(criteria, batch.keys[i]);
	return digests;
}

static int
by_id(const void *left, const void *right)
{
	const int64 left_id = static_cast<const FoundJob *>(left)->id;
	const int64 right_id = static_cast<const FoundJob *>(right)->id;
	return left_id < right_id ? -1 : left_id > right_id;
}

// Changes the duplicates that wait, whichever states count, or each call would add one more behind a job that a
// worker has. There may be several, after a claim that was under way has been
// rolled back; if all have the newest payload, so has the last that a worker gets. If there is none, but
// one that a worker has, clears the outcome, so that the job is inserted.
static void
change_duplicates(Definition *definition, const Criteria &criteria, const Conflict &conflict,
				  const Arguments &arguments, const Found &found, Outcome *outcome)
{
	Outcome changed{};
	bool is_in_hand = false;
	qsort(found.jobs, found.count, sizeof(FoundJob), by_id);
	for (int i = 0; i < found.count; i++) {
		const FoundJob &job = found.jobs[i];
		if (!job.is_equal || job.state == State::dead || job.state == State::done)
			continue;
		const ChangeOutcome change = job.state == State::leased
										 ? ChangeOutcome::none
										 : change_job(definition, conflict, job.id, arguments);
		if (change == ChangeOutcome::none)
			is_in_hand |= criteria.does_count(job.state);
		else if (!changed.has_id)
			changed = {job.id, true, false, change == ChangeOutcome::done};
		else
			changed.is_changed |= change == ChangeOutcome::done;
	}
	if (changed.has_id || is_in_hand)
		*outcome = changed;
}

// Sets the outcomes of the jobs that have a duplicate.
static void
look(Definition *definition, const Criteria &criteria, const Conflict &conflict,
	 const Arguments &arguments, const Batch &batch, const Datum *digests)
{
	auto *found = allocate<Found>(batch.count);
	auto **remembered = allocate<List *>(batch.count);
	find_jobs(definition, criteria, batch.keys, batch.count, found);
	if (criteria.does_count(State::done))
		recall(definition->source, digests, batch.count, remembered);
	for (int i = 0; i < batch.count; i++) {
		set_outcome(criteria, found[i], remembered[i], &batch.outcomes[i]);
		if (conflict.rule == OnConflict::keep || !batch.outcomes[i].has_id)
			continue;
		CHECK_FOR_INTERRUPTS();
		Arguments of_job = arguments;
		of_job.set(Parameter::payload, *batch.payloads[i]);
		change_duplicates(definition, criteria, conflict, of_job, found[i], &batch.outcomes[i]);
	}
}

namespace {

// What a statement inserts.
struct InsertForm
{
	bool is_many; // arrays of payloads and keys
	bool has_kind;
	bool has_expiry;
};

} // namespace

static UniqueStatement
statement_of(const InsertForm &form)
{
	static constexpr UniqueStatement of_one[] = {
		UniqueStatement::insert, UniqueStatement::insert_kind, UniqueStatement::insert_expiry,
		UniqueStatement::insert_kind_expiry};
	static constexpr UniqueStatement of_many[] = {
		UniqueStatement::insert_many, UniqueStatement::insert_many_kind,
		UniqueStatement::insert_many_expiry, UniqueStatement::insert_many_kind_expiry};
	const int index = (form.has_expiry ? 2 : 0) + (form.has_kind ? 1 : 0);
	return form.is_many ? of_many[index] : of_one[index];
}

// Returns the statement for one job, or for arrays of payloads and keys, whose order take_ids()
// relies on. One without a kind, or an expiry, does not name the column, as in queue_send.
static const char *
insert_text(const Definition *definition, const InsertForm &form)
{
	const auto value = [](bool is_given, Parameter parameter) {
		return is_given ? psprintf(", %s", placeholder(parameter)) : "";
	};
	const char *source =
		form.is_many
			? psprintf(" from rows from (pg_catalog.unnest(%s), pg_catalog.unnest(%s))"
					   " as p(payload, unique_key)",
					   placeholder(Parameter::payloads), placeholder(Parameter::unique_keys))
			: "";
	return psprintf("insert into %s (payload, priority, run_at, max_attempts, unique_key%s%s)"
					" select %s, %s, coalesce(%s, pg_catalog.now()), %s, %s%s%s%s"
					" returning id::pg_catalog.int8, unique_key",
					definition->source_name, form.has_kind ? ", kind" : "",
					form.has_expiry ? ", expires_at" : "",
					form.is_many ? "p.payload" : placeholder(Parameter::payload),
					placeholder(Parameter::priority), placeholder(Parameter::run_at),
					placeholder(Parameter::max_attempts),
					form.is_many ? "p.unique_key" : placeholder(Parameter::unique_key),
					value(form.has_kind, Parameter::kind),
					value(form.has_expiry, Parameter::expires_at), source);
}

static Datum
array_of(Datum *elements, int count, Oid type)
{
	return PointerGetDatum(construct_array(elements, count, type, -1, false, TYPALIGN_INT));
}

namespace {

// Payloads and keys of the jobs to insert.
struct Rows
{
	Datum *payloads;
	Datum *keys;
	int count;
};

} // namespace

// indexes: of the jobs to insert, within the batch.
static Rows
rows_of(const Batch &batch, const int *indexes, int count)
{
	const Rows rows{allocate<Datum>(count), allocate<Datum>(count), count};
	for (int i = 0; i < count; i++) {
		rows.payloads[i] = *batch.payloads[indexes[i]];
		rows.keys[i] = PointerGetDatum(cstring_to_text(batch.keys[indexes[i]].text));
	}
	return rows;
}

// Sets the parameters of insert_text(): scalars for one row, arrays for several.
static void
set_rows(Arguments *arguments, const Rows &rows)
{
	if (rows.count == 1) {
		arguments->set(Parameter::payload, rows.payloads[0]);
		arguments->set(Parameter::unique_key, rows.keys[0]);
	} else {
		arguments->set(Parameter::payloads, array_of(rows.payloads, rows.count, JSONBOID));
		arguments->set(Parameter::unique_keys, array_of(rows.keys, rows.count, TEXTOID));
	}
}

static bool
has_key(HeapTuple row, const char *key)
{
	const char *value = SPI_getvalue(row, SPI_tuptable->tupdesc, 2);
	return value != nullptr && strcmp(value, key) == 0;
}

// Rows are returned in the order of the arrays, without those that a trigger suppressed: a returned
// row belongs to the next job that has its key.
static void
take_ids(const Batch &batch, const int *indexes, int count)
{
	const bool are_all = SPI_tuptable->numvals == static_cast<uint64>(count);
	uint64 row = 0;
	for (int i = 0; i < count && row < SPI_tuptable->numvals; i++) {
		HeapTuple tuple = SPI_tuptable->vals[row];
		if (!are_all && !has_key(tuple, batch.keys[indexes[i]].text))
			continue;
		bool is_null;
		const Datum id = SPI_getbinval(tuple, SPI_tuptable->tupdesc, 1, &is_null);
		batch.outcomes[indexes[i]] = {DatumGetInt64(id), true, true, false};
		row++;
	}
}

// Inserts where the direct path does not serve the table, and notes a wake-up for the rows.
static void
insert_by_statement(Definition *definition, Arguments arguments, const Rows &rows,
					const Batch &batch, const int *indexes)
{
	const InsertForm form{rows.count > 1, arguments.has(Parameter::kind),
						  arguments.has(Parameter::expires_at)};
	set_rows(&arguments, rows);
	const Statement &statement =
		definition::prepared_of(definition, kept_for_unique(definition, statement_of(form)),
								[&] { return insert_text(definition, form); });
	const int64 counted = stats::counted(definition, stats::Counter::sent);
	const uint64 inserted = statement::run_newest(statement, arguments);
	claim::count_sent(definition, counted, static_cast<int64>(inserted));
	take_ids(batch, indexes, rows.count);
	SPI_freetuptable(SPI_tuptable);
	claim::note_given_back(definition, 0);
}

// Inserts the jobs with these indexes of the batch and sets their outcomes.
static void
insert(Definition *definition, const Arguments &arguments, const Batch &batch, const int *indexes,
	   int count)
{
	const Rows rows = rows_of(batch, indexes, count);
	job::NewJobs jobs = job::new_jobs(arguments, rows.payloads, count);
	jobs.unique_keys = rows.keys;
	if (!job::can_insert_directly(definition, jobs)) {
		insert_by_statement(definition, arguments, rows, batch, indexes);
		return;
	}
	auto *ids = allocate<int64>(count);
	job::insert_directly(definition, jobs, ids);
	for (int i = 0; i < count; i++)
		batch.outcomes[indexes[i]] = {ids[i], true, true, false};
}

// A row is kept for a period, and for ten minutes at least, after its bucket has ended or after
// now, if that is later: another call for the bucket may be late.
static TimestampTz
expiry_of(const Criteria &criteria)
{
	constexpr int64 least_delay = 10 * USECS_PER_MINUTE;
	if (!criteria.has_period() || TIMESTAMP_NOT_FINITE(criteria.bucket_end))
		return DT_NOEND;
	const TimestampTz end = Max(criteria.bucket_end, GetCurrentTimestamp());
	TimestampTz expiry;
	if (pg_add_s64_overflow(end, Max(criteria.period, least_delay), &expiry) ||
		expiry >= END_TIMESTAMP)
		return DT_NOEND;
	return expiry;
}

// Leaves out jobs that a trigger suppressed: they have no ID.
static void
remember_inserted(Definition *definition, const Criteria &criteria, const Batch &batch,
				  const Datum *digests, const int *indexes, int count)
{
	auto *inserted = allocate<Datum>(count);
	auto *jobs = allocate<int64>(count);
	auto *buckets = allocate<int16>(count);
	int length = 0;
	for (int i = 0; i < count; i++) {
		if (!batch.outcomes[indexes[i]].is_inserted)
			continue;
		inserted[length] = digests[indexes[i]];
		buckets[length] = batch.buckets[indexes[i]];
		jobs[length++] = batch.outcomes[indexes[i]].id;
	}
	remember(definition->source, inserted, jobs, buckets, length, expiry_of(criteria));
}

// Takes all locks by one take_locks(), whose order keeps calls from deadlocking.
static void
take_all_locks(const Definition *definition, const Batch &batch)
{
	auto *locks = allocate<Lock>(batch.count);
	for (int i = 0; i < batch.count; i++)
		locks[i] = batch.keys[i].lock;
	take_locks(psprintf("queue=%s", definition->lock_name), locks, batch.count);
	pfree(locks);
}

void
insert_unique(Definition *definition, const Criteria &criteria, const Conflict &conflict,
			  const Datum *payloads, int count, Arguments arguments, Outcome *outcomes)
{
	const int16 *buckets = take_shard_buckets(count);
	const Batch batch = make_batch(definition, criteria, conflict.rule, payloads, buckets, count);
	const Datum *digests = criteria.is_to_be_remembered() ? digests_of(criteria, batch) : nullptr;
	take_all_locks(definition, batch);
	look(definition, criteria, conflict, arguments, batch, digests);

	auto *indexes = allocate<int>(batch.count);
	int missing = 0;
	for (int i = 0; i < batch.count; i++)
		if (!batch.outcomes[i].has_id)
			indexes[missing++] = i;
	if (missing > 0) {
		insert(definition, arguments, batch, indexes, missing);
		if (criteria.is_to_be_remembered())
			remember_inserted(definition, criteria, batch, digests, indexes, missing);
	}

	int64 duplicates = 0;
	auto *is_taken = allocate<bool>(batch.count);
	for (int i = 0; i < count; i++) {
		const int index = batch.index_of[i];
		outcomes[i] = batch.outcomes[index];
		// Of equal payloads only the first is reported as inserted; all get its ID.
		outcomes[i].is_changed |=
			is_taken[index] && outcomes[i].is_inserted && conflict.rule == OnConflict::replace;
		outcomes[i].is_inserted = outcomes[i].is_inserted && !is_taken[index];
		is_taken[index] = true;
		duplicates += outcomes[i].has_id && !outcomes[i].is_inserted;
	}
	stats::count(definition, stats::Counter::duplicates, duplicates);
}

} // namespace queue_ext::unique
