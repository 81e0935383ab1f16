-- Named locks, kept in a table: they outlive sessions and servers. Rights on the
-- table are rights on the locks; nobody but the extension's owner has any at first.

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
	'locks by name: one row for each that was ever acquired';
comment on column @extschema@.named_lock.held_until is
	'when a lock with a timeout runs out; null: it is held until it is released';
comment on column @extschema@.named_lock.token is
	'how many times it was acquired: the fencing token of the last who did';
comment on column @extschema@.named_lock.retries_left is
	'how many times it may still be acquired; null: no limit';

select pg_catalog.pg_extension_config_dump('@extschema@.named_lock', '');

create view @extschema@.held_locks with (security_invoker = true) as
select task_id, holder, held_since as since, held_until as until, token
from @extschema@.named_lock
where held
	and (held_until is null or held_until operator(pg_catalog.>=) pg_catalog.clock_timestamp());

revoke all on @extschema@.held_locks from public;
grant select on @extschema@.held_locks to public;

comment on view @extschema@.held_locks is
	'who holds which lock, since when and until when; asks for rights on named_lock';

create function @extschema@.mutex_acquire(task_id text) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_mutex_acquire';

comment on function @extschema@.mutex_acquire(text) is
	'acquires a lock that is held until mutex_release(); false if it is held';

create function @extschema@.mutex_acquire_fenced(task_id text, out acquired boolean, out token bigint)
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_mutex_acquire_fenced';

comment on function @extschema@.mutex_acquire_fenced(text) is
	'as mutex_acquire(), with a token that grows with each who acquires the lock';

create function @extschema@.timeout_acquire(task_id text, timeout interval) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_timeout_acquire';

comment on function @extschema@.timeout_acquire(text, interval) is
	'acquires a lock for some time; false if it is held';

create function @extschema@.timeout_acquire_fenced(
	task_id text,
	timeout interval,
	out acquired boolean,
	out token bigint
)
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_timeout_acquire_fenced';

comment on function @extschema@.timeout_acquire_fenced(text, interval) is
	'as timeout_acquire(), with a token that grows with each who acquires the lock';

create function @extschema@.mutex_release(task_id text) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_mutex_release';

comment on function @extschema@.mutex_release(text) is
	'releases a lock, whoever holds it; false if nobody does';

create function @extschema@.mutex_release(task_id text, token bigint) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_mutex_release';

comment on function @extschema@.mutex_release(text, bigint) is
	'releases a lock if it is held with that token; false otherwise';

create function @extschema@.lock_set_retries(task_id text, retries integer) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_lock_set_retries';

comment on function @extschema@.lock_set_retries(text, integer) is
	'sets how many times a lock may still be acquired; null: no limit';
