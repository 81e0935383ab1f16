title='Denials of a throttled resource'
over='clients'
unit='denials/s'
base=select-1
sides='select-1 locks'
points=$client_counts

sample() {
	clients=$1
	fresh 1000
	rate denial 1 "$clients"
}
