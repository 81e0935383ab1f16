title='Unique inserts of new jobs'
over='clients'
unit='jobs/s'
base=on-conflict
sides='select-1 on-conflict unique-insert'
points="1 $clients"

sample() {
	fresh "$backlog"
	rate new 1 "$1"
}
