title='One-job claims, by the size of the backlog'
over='jobs'
unit='claims/s'
base=floor
sides='floor skip-locked queue_ext-update queue_ext-session'
points=$backlogs

sample() {
	fresh "$1"
	rate claim 1 "$clients"
}
