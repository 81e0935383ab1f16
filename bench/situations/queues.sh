title='One-job claims over many queues, one of them at random each time'
over='queues'
unit='claims/s'
base=1
sides='skip-locked queue_ext-update'
points=$queue_counts

sample() {
	queues=$1
	build=build_queues tick=$1
	fresh "$backlog"
	rate queues 1 "$clients"
}
