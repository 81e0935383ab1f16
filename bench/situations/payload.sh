title='Send, claim and complete one by one, by the size of the payload'
over='bytes'
unit='jobs/s'
base=floor
sides='floor skip-locked queue_ext-update queue_ext-session pgq graphile-worker pg-boss'
points=$payloads

sample() {
	bytes=$1
	payload=$(make_payload "$bytes")
	fresh "$(standing 1)"
	rate life 1 "$clients"
}
