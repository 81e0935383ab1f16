create function @extschema@.queue_claim_counters(
	out queue text,
	out source regclass,
	out claims bigint,
	out empty_pops bigint,
	out fills bigint,
	out sweeps bigint,
	out locked bigint,
	out gone bigint,
	out not_pending bigint,
	out candidates integer,
	out fill_time double precision,
	out path text,
	out waiting integer,
	out wakes bigint
) returns setof record
language c volatile parallel unsafe rows 10
as 'MODULE_PATHNAME', 'queue_ext_queue_claim_counters';

comment on function @extschema@.queue_claim_counters() is
	'counters of claims from rings of candidates, for each ring of this database';

create view @extschema@.queue_claim_stats as
select * from @extschema@.queue_claim_counters();

revoke all on @extschema@.queue_claim_stats from public;
grant select on @extschema@.queue_claim_stats to public;

comment on view @extschema@.queue_claim_stats is
	'counters of each ring of candidates: claims, empty pops, fills and sweeps, and the candidates passed over; fill_time in milliseconds; path: how claims are made, and why by no better path; waiting and wakes: workers that wait for a job, and how often one was woken';

create function @extschema@.queue_claim_stats_reset() returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_claim_stats_reset';

revoke all on function @extschema@.queue_claim_stats_reset() from public;

comment on function @extschema@.queue_claim_stats_reset() is
	'resets the counters of queue_claim_stats in this database';
