title='Claim and complete from a backlog, in batches'
over='jobs a batch'
unit='jobs/s'
base=floor
sides='floor skip-locked queue_ext-update queue_ext-transaction queue_ext-session pgq graphile-worker pg-boss'
points=$batches

sample() {
	tick=$1
	if [[ $side != pgq ]]; then tick=0; fi
	fresh "$backlog"
	rate drain "$1" "$clients"
}
