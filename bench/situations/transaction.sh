title='Claim and complete one job in one transaction'
over='clients'
unit='jobs/s'
base=skip-locked-transaction
sides='skip-locked-transaction queue_ext-transaction'
points=$client_counts

sample() {
	clients=$1
	fresh "$backlog"
	rate take 1 "$clients"
}
