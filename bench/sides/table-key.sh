# table-key - the same write of a job whose key the client knows: with that table, nothing can be below.

title='`UPDATE` by key'

script() {
	[[ $1 == claim ]] || return 2
	setup_text
	number_text
	key_text
}
