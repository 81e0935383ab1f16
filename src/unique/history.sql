-- The history of unique inserts, by which a job counts when it is done and its row is gone. The
-- library writes it without the executor, after it has checked the caller's privileges on the
-- queue's table; only the extension's owner has rights on it.

create table @extschema@.queue_unique_job (
	source regclass not null,
	digest bytea not null,
	job bigint not null,
	expires_at timestamptz not null,
	shard_bucket smallint
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index queue_unique_job_digest_idx on @extschema@.queue_unique_job (source, digest);
create index queue_unique_job_expires_at_idx on @extschema@.queue_unique_job (expires_at);

revoke all on @extschema@.queue_unique_job from public;

comment on table @extschema@.queue_unique_job is
	'history of jobs that queue_unique_insert added where done jobs count; written by its functions only';

select pg_catalog.pg_extension_config_dump('@extschema@.queue_unique_job',
	'where exists (select from pg_catalog.pg_class c where c.oid operator(pg_catalog.=) source'
	' and c.relpersistence operator(pg_catalog.<>) ''t'')');
