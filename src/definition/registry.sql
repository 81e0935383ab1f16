-- The registry. Only the functions below write it, past the executor, once they have checked the caller's
-- rights. No other role than its owner has rights on it.

create table @extschema@.queue_definition (
	name text collate "C" not null,
	source regclass not null,
	managed boolean not null,
	claim_mode text collate "C" not null,
	paused boolean not null default false,
	lease interval,
	max_attempts integer,
	backoff_base interval,
	backoff_cap interval,
	archived boolean not null default false,
	archive regclass,
	pending text not null,
	order_by text,
	on_claim text,
	on_complete text,
	on_release text,
	on_fail text,
	on_extend text,
	search_path text not null,
	created_at timestamptz not null default pg_catalog.now(),
	ready_at text,
	claimed_at text,
	archive_keep interval,
	dead_keep interval,
	dead_queue regclass,
	on_expire text,
	constraint queue_definition_pkey primary key (name, source),
	constraint queue_definition_name_check
		check (pg_catalog.octet_length(name) operator(pg_catalog.>=) 1
			   and pg_catalog.octet_length(name) operator(pg_catalog.<=) 63),
	constraint queue_definition_claim_mode_check
		check (claim_mode operator(pg_catalog.=) 'update'
			   or claim_mode operator(pg_catalog.=) 'transaction'
			   or claim_mode operator(pg_catalog.=) 'session')
);

create index queue_definition_source_idx on @extschema@.queue_definition (source);

revoke all on @extschema@.queue_definition from public;

comment on table @extschema@.queue_definition is
	'registry of queue_ext: one row for each queue, written by its functions only';

-- Leave out rows whose table has been dropped by plain SQL, or is temporary: the restore would fail
-- on the first name that is not there, and with it all other rows.
select pg_catalog.pg_extension_config_dump('@extschema@.queue_definition',
	'where exists (select from pg_catalog.pg_class c where c.oid operator(pg_catalog.=) source'
	' and c.relpersistence operator(pg_catalog.<>) ''t'')');

create view @extschema@.queues as
select
	pg_catalog.format('%I.%I', n.nspname, d.name) as queue,
	d.source,
	d.managed,
	d.claim_mode,
	d.paused,
	d.lease,
	d.max_attempts,
	d.backoff_base,
	d.backoff_cap,
	case when d.archived then d.archive end as archive,
	d.pending,
	d.order_by,
	d.on_claim,
	d.on_complete,
	d.on_release,
	d.on_fail,
	d.on_extend,
	d.search_path,
	d.created_at,
	d.ready_at,
	d.claimed_at,
	d.archive_keep,
	d.dead_keep,
	d.dead_queue,
	d.on_expire
from @extschema@.queue_definition d
join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) d.source
join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace;

revoke all on @extschema@.queues from public;
grant select on @extschema@.queues to public;

comment on view @extschema@.queues is
	'queues of this database, with the SQL that describes their pending rows';
