title='One-job claims, by the size of the backlog'
over='jobs'
unit='claims/s'
base=floor
sides='floor skip-locked queue_ext-update queue_ext-session'
points=$backlogs

# A small backlog must not run out: most of it is claimed, in less time than others take.
sample() {
	if (($1 <= 200000)); then job_limit=$(($1 * 4 / 5)); fi
	fresh "$1"
	rate claim 1 "$clients"
}
