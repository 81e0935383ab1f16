# floor - the same writes to the same table by primary key: what any queue that
# keeps its state in the row has to do at least. Each client knows its next id.

. "$bench/sides/managed.sh"
title='floor: by primary key'

claim_one="update bench set attempt = attempt + 1,
	leased_until = clock_timestamp() + interval '1 hour', leased_by = 'bench'"

script() {
	case $1:$2 in
		claim:1)
			printf '%s\n' '\set k :k + 1' "\\set id (:k - 1) * $clients + :client_id + 1" \
				"${claim_one//$'\n'/ } where id = :id returning *;"
			;;
		drain:1)
			printf '%s\n' '\set k :k + 1' "\\set id (:k - 1) * $clients + :client_id + 1" \
				"${claim_one//$'\n'/ } where id = :id returning *;" \
				'delete from bench where id = :id;'
			;;
		life:1)
			printf '%s\n' 'insert into bench (payload) values (:payload::jsonb) returning id \gset' \
				"${claim_one//$'\n'/ } where id = :id returning id, attempt, payload \\gset" \
				'delete from bench where id = :id;'
			;;
		life:*)
			remember_payloads "$2" jsonb
			say 'with sent as (insert into bench (payload) select unnest(:payloads::jsonb[]) returning id)' \
				'select array_agg(id) as ids from sent \gset'
			say "with got as (${claim_one//$'\n'/ } where id = any (:ids::bigint[]) returning id, payload)" \
				'select array_agg(id) as ids, array_agg(payload) as got from got \gset'
			say 'delete from bench where id = any (:ids::bigint[]);'
			;;
		*) return 2 ;;
	esac
}
