title='One-job claims by kind'
over='kinds in the queue, and of a call'
unit='claims/s'
base=alone
sides='queue_ext-update'
points='alone behind of-1 of-16'

# alone: of the only kind; behind: with as many jobs of another kind in front, or kinds_front of them;
# of-1, of-16: of one of sixteen kinds that take turns, or of all of them.
sample() {
	local build kinds=k0
	case $1 in
		alone) build=build_kind fresh "$backlog" ;;
		behind) build=build_kind_behind fresh "$backlog" ;;
		of-1) build=build_kinds fresh "$((backlog * 16))" ;;
		of-16)
			kinds=$(printf ',k%s' {0..15})
			kinds=${kinds#,}
			build=build_kinds fresh "$((backlog * 16))"
			;;
	esac
	rate kinds 1 "$clients"
}
