create function @extschema@.queue_attach(
	queue text,
	source regclass,
	pending text,
	order_by text default null,
	on_claim text default null,
	on_complete text default null,
	on_release text default null,
	on_fail text default null,
	claim_mode text default 'update',
	on_extend text default null,
	lease interval default '30 seconds',
	wake boolean default false,
	ready_at text default null,
	claimed_at text default null
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_attach';

comment on function @extschema@.queue_attach(
	text, regclass, text, text, text, text, text, text, text, text, interval, boolean, text,
	text
) is 'attaches an existing table as a queue';

create function @extschema@.queue_detach(queue text, if_exists boolean default false) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_detach';

comment on function @extschema@.queue_detach(text, boolean) is
	'detaches a queue; its table stays as it is';
