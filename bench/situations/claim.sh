title='One-job claims from a fresh backlog'
over='clients'
unit='claims/s'
base=floor
sides='select-1 floor skip-locked queue_ext-update queue_ext-transaction queue_ext-session pg-boss'
keeps_templates=1
points=$client_counts

sample() {
	clients=$1
	fresh "$backlog"
	rate claim 1 "$clients"
}
