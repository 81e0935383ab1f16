# select-1 - what a round trip costs: nothing can be below.

title='`select 1`'

build() { :; }

script() {
	say 'select 1;'
}
