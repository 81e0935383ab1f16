title='Unique inserts of jobs that are there'
over='clients'
unit='calls/s'
base=on-conflict
sides='select-1 on-conflict unique-insert'
points="1 $clients"

sample() {
	fresh "$backlog"
	rate duplicate 1 "$1"
}
