# columns.sh - workers may update the columns that a claim writes, and no others.

. "$bench/tables/common.sh"
table_title='privileges on columns'
table_options='-c role=bench_worker'

change_table() {
	use_role
	sql -c 'grant select, update (state, attempt, leased_until, leased_by) on job to bench_worker'
}
