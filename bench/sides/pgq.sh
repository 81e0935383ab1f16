# pgq - PgQ hands a consumer all that was sent between two ticks. Each client has
# a queue and a consumer of its own, since a batch goes to one consumer. It ticks
# at every batch, or, where jobs are sent one by one, at every 500: that is PgQ's
# own ticker_max_count.

begins_empty=1
title='PgQ'

available() {
	[[ -f $(pg_config --sharedir)/extension/pgq.control ]]
}

# The jobs are spread over the clients' queues, `tick` a batch.
build() {
	sql -c 'create extension pgq' >/dev/null
	sql >/dev/null <<-SQL
		select pgq.create_queue(n::text), pgq.register_consumer(n::text, 'bench'),
			pgq.set_queue_config(n::text, 'ticker_max_count', '1')
		from generate_series(0, $max_clients - 1) n;
	SQL
	(($1 > 0)) || return 0
	sql -v payload="$payload" >/dev/null <<-SQL
		set bench.payload = :'payload';
		do \$\$
		declare
			n integer := 0;
		begin
			while n < $1 loop
				perform pgq.insert_event((n / $tick % $clients)::text, 'job', current_setting('bench.payload'))
				from generate_series(1, $tick);
				commit;
				perform pgq.ticker((n / $tick % $clients)::text);
				commit;
				n := n + $tick;
			end loop;
		end \$\$;
	SQL
}

# A batch may be empty: the first tick is older than the first job.
consume() {
	printf '%s\n' \
		"select coalesce(pgq.next_batch(:client_id::text, 'bench'), 0) as b \\gset" \
		'\if :b = 0' 'do $$ begin raise exception '"'drained'"'; end $$;' '\endif' \
		"select count(*) as n, array_agg(ev_data) as got from pgq.get_batch_events(:b) \\gset" \
		'select pgq.finish_batch(:b);'
}

script() {
	case $1:$2 in
		drain:1) return 2 ;;
		drain:*) consume ;;
		life:1)
			printf '%s\n' "select pgq.insert_event(:client_id::text, 'job', :payload::text);" \
				'\set k :k + 1' '\if :k % 500 = 0' 'select pgq.ticker(:client_id::text);'
			consume
			say '\endif'
			;;
		life:*)
			remember_payloads "$2" text
			printf '%s\n' "select count(pgq.insert_event(:client_id::text, 'job', e)) from unnest(:payloads::text[]) e;" \
				'select pgq.ticker(:client_id::text);'
			consume
			;;
		*) return 2 ;;
	esac
}
