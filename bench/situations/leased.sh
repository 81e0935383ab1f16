title='One-job claims with leased jobs in front'
over='leased jobs'
unit='claims/s'
base=0
sides='skip-locked queue_ext-update'
points="0 $leased_counts"

sample() {
	fresh $((backlog + $1))
	in_front leased "$1"
	rate claim 1 "$clients"
}
