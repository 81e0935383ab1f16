title='One-job claims with jobs in front that another transaction has locked'
over='locked jobs'
unit='claims/s'
base=0
sides='skip-locked queue_ext-update queue_ext-transaction queue_ext-session'
points="0 $locked_counts"

sample() {
	fresh $((backlog + $1))
	in_front locked "$1"
	rate claim 1 "$clients"
}
