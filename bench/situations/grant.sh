title='Grants of throttled resources'
over='clients'
unit='grants/s'
base=key-update
sides='key-update locks'
points=$client_counts

sample() {
	clients=$1
	fresh 1000
	rate grant 1 "$clients"
}
