-- Locks by name: advisory locks on the key that fnv_lock_key() makes of the name and of
-- queue_ext.advisory_lock_prefix.

create function @extschema@.queue_lock(key text) returns void
language c volatile strict parallel restricted
as 'MODULE_PATHNAME', 'queue_ext_queue_lock';

comment on function @extschema@.queue_lock(text) is
	'waits for the lock of this name and takes it until the transaction ends';

create function @extschema@.queue_try_lock(key text) returns boolean
language c volatile strict parallel restricted
as 'MODULE_PATHNAME', 'queue_ext_queue_try_lock';

comment on function @extschema@.queue_try_lock(text) is
	'takes the lock of this name until the transaction ends if it is free; false otherwise';
