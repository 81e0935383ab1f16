title='Unique inserts of new jobs, in batches'
over='jobs a batch'
unit='jobs/s'
base=on-conflict
sides='on-conflict unique-insert'
points=${unique_batches:-100 1000}

sample() {
	fresh "$backlog"
	rate new "$1" "$clients"
}
