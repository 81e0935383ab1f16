title='Send, claim and complete, with statistics and without'
over='jobs a batch'
unit='jobs/s'
base=untracked
sides='untracked queue_ext-update@direct'
points=$batches

sample() {
	fresh "$(standing "$1")"
	rate life "$1" "$clients"
}
