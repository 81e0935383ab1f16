create procedure @extschema@.queue_requeue_where(
	queue text,
	condition text,
	arguments jsonb default '{}',
	batch_size integer default 1000,
	inout jobs bigint default null
)
language c
as 'MODULE_PATHNAME', 'queue_ext_queue_requeue_where';

comment on procedure @extschema@.queue_requeue_where(text, text, jsonb, integer, bigint) is
	'makes the dead jobs run again for which a condition holds, in batches that are committed, and returns their number';

create procedure @extschema@.queue_cancel_where(
	queue text,
	condition text,
	arguments jsonb default '{}',
	batch_size integer default 1000,
	inout jobs bigint default null
)
language c
as 'MODULE_PATHNAME', 'queue_ext_queue_cancel_where';

comment on procedure @extschema@.queue_cancel_where(text, text, jsonb, integer, bigint) is
	'removes the jobs from their queue for which a condition holds, in batches that are committed, and returns their number';

create procedure @extschema@.queue_delete_where(
	queue text,
	condition text,
	arguments jsonb default '{}',
	batch_size integer default 1000,
	inout jobs bigint default null
)
language c
as 'MODULE_PATHNAME', 'queue_ext_queue_delete_where';

comment on procedure @extschema@.queue_delete_where(text, text, jsonb, integer, bigint) is
	'deletes the jobs for which a condition holds, without archiving them, in batches that are committed, and returns their number';

create procedure @extschema@.queue_change_where(
	queue text,
	condition text,
	arguments jsonb default '{}',
	priority integer default null,
	run_at timestamptz default null,
	batch_size integer default 1000,
	inout jobs bigint default null
)
language c
as 'MODULE_PATHNAME', 'queue_ext_queue_change_where';

comment on procedure @extschema@.queue_change_where(text, text, jsonb, integer, timestamptz, integer, bigint) is
	'changes the priority or the time of the jobs for which a condition holds, in batches that are committed, and returns their number';
