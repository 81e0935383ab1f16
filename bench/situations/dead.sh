title='One-job claims with dead rows in front, under a held snapshot'
over='dead jobs'
unit='claims/s'
base=0
sides='skip-locked queue_ext-update queue_ext-transaction queue_ext-session'
points="0 $dead_counts"

sample() {
	fresh $((backlog + $1))
	in_front dead "$1"
	rate claim 1 "$clients"
}
