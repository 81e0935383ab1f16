# domain.sh - a column that a claim writes is of a domain.

. "$bench/tables/common.sh"
table_title='a column of a domain with a check'

change_table() {
	sql -c 'create domain attempt_count as integer check (value >= 0)' \
		-c 'alter table job alter attempt type attempt_count'
}
