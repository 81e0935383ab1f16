title='One-job claims of one queue, and of any of three'
over='queues of a call'
unit='claims/s'
base=one
sides='queue_ext-update'
points='one order weights'

# Of three equal queues. order: of the first that has jobs; weights: of one by chance.
sample() {
	local build call
	queues=3
	case $1 in
		one) call="queue_pop('q1')" ;;
		order) call="queue_pop_any('{q1, q2, q3}')" ;;
		weights) call="queue_pop_any('{q1, q2, q3}', weights => '{1, 1, 1}')" ;;
	esac
	build=build_queues fresh "$((backlog * 3))"
	rate several 1 "$clients"
}
