title='Send, claim and complete, in batches'
over='jobs a batch'
unit='jobs/s'
base=floor
sides='floor skip-locked queue_ext-update queue_ext-transaction queue_ext-session pgq graphile-worker pg-boss'
points=$batches

sample() {
	fresh "$(standing "$1")"
	rate life "$1" "$clients"
}
