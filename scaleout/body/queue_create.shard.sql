-- queue_create() on a shard. That the queue is there already is an answer; and the ids have the
-- shard's number above the 43 bits of the sequence, and stay below 2^53, which every client can hold.
declare
	_table regclass;
	_first bigint := pg_catalog.int8shl(_shard, 43) operator(pg_catalog.+) 1;
begin
	perform queue_shard.check_map(_shard, _version, _bucket);
	-- Of another role it is another queue.
	begin
		_table := CALL;
		existed := false;
	exception when duplicate_object then
		-- Whether it is that queue, and not a table of that name, is looked up below.
		_table := pg_catalog.to_regclass(queue);
		existed := true;
		if not exists (
			select from @extschema@.queues q
			join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) q.source
			where q.source operator(pg_catalog.=) _table and q.managed
				and pg_catalog.pg_get_userbyid(c.relowner) operator(pg_catalog.=) current_user)
		then
			raise;
		end if;
	end;
	if exists (
		select from pg_catalog.pg_class c
		where c.oid operator(pg_catalog.=) _table and c.relpersistence operator(pg_catalog.=) 't')
	then
		raise 'a temporary queue cannot be created through a proxy'
			using errcode = '0A000', detail = 'It would be of a session of the proxy with a shard.';
	end if;
	if not existed then
		execute pg_catalog.format(
			'alter table %s alter column id set minvalue %s set maxvalue %s set start %s restart',
			_table, _first, pg_catalog.int8shl(_shard operator(pg_catalog.+) 1, 43) operator(pg_catalog.-) 1, _first);
	elsif not exists (
		select from pg_catalog.pg_sequence s
		where s.seqrelid operator(pg_catalog.=) pg_catalog.pg_get_serial_sequence(_table::text, 'id')::regclass
			and s.seqmin operator(pg_catalog.=) _first)
	then
		raise 'queue "%" was not created through a proxy', _table
			using errcode = '55000',
				detail = 'Its ids do not have the number of the shard.';
	end if;
	select n.nspname, c.relname into schema_name, table_name
	from pg_catalog.pg_class c
	join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
	where c.oid operator(pg_catalog.=) _table;
	select pg_catalog.format('lease %s, max_attempts %s, backoff_base %s, backoff_cap %s, archive %s, archive_keep %s, dead_keep %s, dead_queue %s, on_expire %s',
			q.lease, q.max_attempts, q.backoff_base, q.backoff_cap, q.archive is not null,
			coalesce(q.archive_keep::text, 'null'), coalesce(q.dead_keep::text, 'null'), coalesce(q.dead_queue::text, 'null'),
			coalesce(q.on_expire, 'null'))
		into settings
	from @extschema@.queues q
	where q.source operator(pg_catalog.=) _table and q.managed;
end
