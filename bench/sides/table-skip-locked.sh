# table-skip-locked - the statement that one would write by hand for the table of the situation, with the index that
# suits it best; on a project's table, that project's own.

title='by hand, `SKIP LOCKED`'

script() {
	[[ $1 == claim ]] || return 2
	setup_text
	say '\set k :k + 1'
	hand_text
}
