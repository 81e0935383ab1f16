title='Send, claim and complete while another session holds a snapshot'
over='seconds since the snapshot was taken'
unit='jobs/s'
base=skip-locked
shown='1 2 5 10 20 30 40 50 60'
rounds=${snapshot_rounds:-$rounds}
sides=${snapshot_sides:-skip-locked queue_ext-update pgq graphile-worker pg-boss}
points=$snapshot_seconds

# One by one. No version of a row that is written from here on can be removed.
sample() {
	seconds=$1
	job_limit=
	fresh "$(standing 1)"
	holder_level='repeatable read' hold 'select count(*) from pg_class'
	series life 1 "$clients"
}
