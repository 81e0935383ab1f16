title='Pops from an empty queue'
over='clients'
unit='pops/s'
base=select-1
sides='select-1 skip-locked queue_ext-update queue_ext-transaction queue_ext-session pg-boss'
points="1 $clients"

sample() {
	fresh 0
	rate idle 1 "$1"
}
