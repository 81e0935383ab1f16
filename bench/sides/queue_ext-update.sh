# queue_ext-update - a managed queue: claims are leases, written into the row.

. "$bench/sides/managed.sh"
title='queue_ext, `update`'

build_queues() {
	sql -c 'create extension queue_ext' -c "select queue_create('q' || n, lease => '1 hour')
		from generate_series(1, $queues) n" >/dev/null
	sql -v payload="$payload" >/dev/null <<-SQL
		select format('insert into q%s (payload) select %L::jsonb from generate_series(1, %s)',
			n, :'payload', $1 / $queues) from generate_series(1, $queues) n \gexec
	SQL
}

# insert_kinds COUNT KIND: jobs of the kind, an expression over n.
insert_kinds() {
	sql -v payload="$payload" >/dev/null <<-SQL
		insert into bench (payload, kind) select :'payload'::jsonb, $2 from generate_series(1, $1) as n;
	SQL
}

create_kinds() {
	sql -c 'create extension queue_ext' -c "select queue_create('bench', lease => '1 hour', kinds => true)" >/dev/null
}

build_kind() { create_kinds && insert_kinds "$1" "'k0'"; }
build_kind_behind() { create_kinds && insert_kinds "${kinds_front:-$1}" "'other'" && insert_kinds "$1" "'k0'"; }
build_kinds() { create_kinds && insert_kinds "$1" "'k' || n % 16"; }

pop_batch() {
	say "select count(*) as n, array_agg(id) as ids, array_agg(attempt) as attempts," \
		"array_agg(payload) as got from queue_pop('bench', $1) \\gset"
}

script() {
	case $1:$2 in
		claim:1 | idle:1) say "select * from queue_pop('bench');" ;;
		kinds:1) say "select * from queue_pop('bench', kinds => '{$kinds}');" ;;
		several:1) say "select * from $call;" ;;
		queues:1) printf '%s\n' '\set q random(1, :queues)' "select * from queue_pop('q' || :q::integer);" ;;
		life:1)
			printf '%s\n' "select queue_send('bench', :payload::jsonb);" \
				"select id, attempt, payload from queue_pop('bench') \\gset" \
				"select queue_complete('bench', :id, :attempt);"
			;;
		drain:1)
			pop_batch 1
			expect_batch 1
			say "select queue_complete_many('bench', :ids::bigint[], :attempts::integer[]);"
			;;
		life:* | drain:*)
			if [[ $1 == life ]]; then
				remember_payloads "$2" jsonb
				say "select count(*) from queue_send_many('bench', :payloads::jsonb[]);"
			fi
			pop_batch "$2"
			expect_batch "$2"
			say "select count(*) from queue_complete_many('bench', :ids::bigint[], :attempts::integer[]);"
			;;
		*) return 2 ;;
	esac
}
