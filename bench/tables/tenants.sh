# tenants.sh - row security: the jobs are by turns of two tenants, and so are the clients. The index begins with
# the tenant.

. "$bench/tables/common.sh"
table_title='row security, two tenants'
columns='tenant text not null,'
index='(tenant, priority, run_at, id)'
table_options='-c role=bench_worker'

change_table() {
	use_role
	sql -c 'grant select, update on job to bench_worker' -c 'alter table job enable row level security' \
		-c "create policy of_tenant on job using (tenant = current_setting('bench.tenant'))"
}

fill() {
	sql -v payload="$payload" <<-SQL
		insert into job (id, tenant, payload)
		select n, 'tenant ' || n % 2, :'payload'::jsonb from generate_series(1, $1) n;
	SQL
}

setup_text() {
	printf '%s\n' '\if :k = 0' \
		"select set_config('bench.tenant', 'tenant ' || (1 + :client_id::integer) % 2, false);" '\endif'
}

# A client's numbers are its tenant's; one client alone leaves out every other one.
number_text() {
	printf '%s\n' '\set k :k + 1' \
		"\\set n $offset + 2 * ((:k - 1) * $(((clients + 1) / 2)) + :client_id / 2) + 1 + :client_id % 2"
}

any_left() {
	[[ $(sql -c "select count(distinct tenant) from (
		select * from (select tenant from job where $hand_pending and tenant = 'tenant 0' limit 1) a
		union all select * from (select tenant from job where $hand_pending and tenant = 'tenant 1' limit 1) b) c") == 2 ]]
}
