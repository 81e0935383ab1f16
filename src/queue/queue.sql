create function @extschema@.queue_create(
	queue text,
	lease interval default '30 seconds',
	max_attempts integer default 25,
	backoff_base interval default '1 second',
	backoff_cap interval default '1 hour',
	archive boolean default false,
	kinds boolean default false,
	archive_keep interval default null,
	dead_keep interval default null,
	dead_queue text default null,
	on_expire text default null
) returns regclass
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_create';

comment on function @extschema@.queue_create(
	text, interval, integer, interval, interval, boolean, boolean, interval, interval, text,
	text
) is
	'creates a queue and its table, and returns the table';

create function @extschema@.queue_adopt(queue text) returns regclass
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_adopt';

comment on function @extschema@.queue_adopt(text) is
	'registers the table of a managed queue again, after a dump of the table alone or DROP EXTENSION';

create function @extschema@.queue_upgrade(queue text default null) returns setof text
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_upgrade';

comment on function @extschema@.queue_upgrade(text) is
	'brings the table of a queue, or of all queues of the caller, to the layout that queue_create makes, and returns the queues changed';

create function @extschema@.queue_alter(
	queue text,
	lease interval default null,
	max_attempts integer default null,
	backoff_base interval default null,
	backoff_cap interval default null,
	archive boolean default null,
	ready_at text default null,
	claimed_at text default null,
	kinds boolean default null,
	archive_keep interval default null,
	dead_keep interval default null,
	wake boolean default null,
	dead_queue text default null,
	on_expire text default null
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_alter';

comment on function @extschema@.queue_alter(
	text, interval, integer, interval, interval, boolean, text, text, boolean, interval, interval,
	boolean, text, text
) is
	'changes the settings of a queue; null leaves a setting unchanged';

create function @extschema@.queue_drop(queue text, if_exists boolean default false) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_drop';

comment on function @extschema@.queue_drop(text, boolean) is
	'drops a queue with its table, its jobs and its archive';

create function @extschema@.queue_pause(queue text) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_pause';

comment on function @extschema@.queue_pause(text) is
	'pauses a queue: its jobs are not claimed; true if it was not paused';

create function @extschema@.queue_resume(queue text) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_resume';

comment on function @extschema@.queue_resume(text) is
	'resumes a paused queue; true if it was paused';

create function @extschema@.queue_purge(queue text, state text default null) returns bigint
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_purge';

comment on function @extschema@.queue_purge(text, text) is
	'deletes all jobs of a queue, or those in one state, and returns their number; done: the history that unique inserts keep';

create function @extschema@.queue_counts(
	queue text,
	out ready bigint,
	out scheduled bigint,
	out leased bigint,
	out dead bigint
)
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_counts';

comment on function @extschema@.queue_counts(text) is
	'counts the jobs of a queue by state; scans the whole table';

create procedure @extschema@.queue_maintain(queue text default null)
language c
as 'MODULE_PATHNAME', 'queue_ext_queue_maintain';

comment on procedure @extschema@.queue_maintain(text) is
	'removes what a queue, or each queue whose jobs the caller may delete, need not keep any longer: archived and dead jobs';
