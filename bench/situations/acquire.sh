title='Locks acquired'
over='clients'
unit='locks/s'
base=key-update
sides='key-update locks'
points=$client_counts

sample() {
	clients=$1
	fresh 1000
	rate acquire 1 "$clients"
}
