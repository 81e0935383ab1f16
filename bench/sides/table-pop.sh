# table-pop - queue_pop_rows() on the table of the situation, attached.

title='`queue_pop_rows`'

script() {
	[[ $1 == claim ]] || return 2
	setup_text
	say '\set k :k + 1'
	pop_text
}
