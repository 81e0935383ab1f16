-- Named locks, kept in a table: they outlive sessions and servers. Rights on the table are rights
-- on the locks; at first only the extension's owner has any.

create table @extschema@.named_lock (
	task_id text collate "C" not null,
	held boolean not null default false,
	holder text,
	held_since timestamptz,
	held_until timestamptz,
	token bigint not null default 0,
	retries_left integer,
	constraint named_lock_pkey primary key (task_id),
	constraint named_lock_task_id_check
		check (pg_catalog.btrim(task_id) operator(pg_catalog.<>) ''),
	constraint named_lock_held_check
		check (case when held then holder is not null and held_since is not null
			   else holder is null and held_since is null and held_until is null end),
	constraint named_lock_token_check check (token operator(pg_catalog.>=) 0),
	constraint named_lock_retries_left_check check (retries_left operator(pg_catalog.>=) 0)
) with (fillfactor = 50);

revoke all on @extschema@.named_lock from public;

comment on table @extschema@.named_lock is
	'named locks: one row for each lock that was ever acquired';
comment on column @extschema@.named_lock.held_until is
	'when the timeout of the lock expires; null: held until released';
comment on column @extschema@.named_lock.token is
	'number of acquisitions, which is the fencing token of the last holder';
comment on column @extschema@.named_lock.retries_left is
	'number of acquisitions still allowed; null: no limit';

select pg_catalog.pg_extension_config_dump('@extschema@.named_lock', '');

create view @extschema@.held_locks with (security_invoker = true) as
select task_id, holder, held_since as since, held_until as until, token
from @extschema@.named_lock
where held
	and (held_until is null or held_until operator(pg_catalog.>=) pg_catalog.clock_timestamp());

revoke all on @extschema@.held_locks from public;
grant select on @extschema@.held_locks to public;

comment on view @extschema@.held_locks is
	'locks that are held, with their holders and times; requires privileges on named_lock';

create function @extschema@.mutex_acquire(task_id text) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_mutex_acquire';

comment on function @extschema@.mutex_acquire(text) is
	'acquires a lock until mutex_release(); false if it is already held';

create function @extschema@.mutex_acquire_fenced(task_id text, out acquired boolean, out token bigint)
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_mutex_acquire_fenced';

comment on function @extschema@.mutex_acquire_fenced(text) is
	'like mutex_acquire(), with a fencing token that grows with each acquisition';

create function @extschema@.timeout_acquire(task_id text, timeout interval) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_timeout_acquire';

comment on function @extschema@.timeout_acquire(text, interval) is
	'acquires a lock for a time; false if it is already held';

create function @extschema@.timeout_acquire_fenced(
	task_id text,
	timeout interval,
	out acquired boolean,
	out token bigint
)
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_timeout_acquire_fenced';

comment on function @extschema@.timeout_acquire_fenced(text, interval) is
	'like timeout_acquire(), with a fencing token that grows with each acquisition';

create function @extschema@.mutex_release(task_id text) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_mutex_release';

comment on function @extschema@.mutex_release(text) is
	'releases a lock, no matter which session holds it; false if it is not held';

create function @extschema@.mutex_release(task_id text, token bigint) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_mutex_release';

comment on function @extschema@.mutex_release(text, bigint) is
	'releases a lock if it is held with this token; false otherwise';

create function @extschema@.lock_set_retries(task_id text, retries integer) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_lock_set_retries';

comment on function @extschema@.lock_set_retries(text, integer) is
	'sets the number of acquisitions still allowed; null: no limit';
