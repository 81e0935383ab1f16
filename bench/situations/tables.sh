# tables.plain, tables.trigger ...: $kind is a file of tables/. A side is a way to claim and what stands in front.

title=$(
	. "$bench/tables/$kind.sh"
	say "One-job claims: $table_title"
)
over='clients'
unit='claims/s'
base=table-key+fresh
keeps_templates=1
rounds=${table_rounds:-$rounds}
points=$table_clients
sides=$(table_sides)

# All of a kind have the same backlog, so that one template serves all.
sample() {
	local most_in_front jobs=${table_backlog:-$backlog} count=0
	. "$bench/tables/$kind.sh"
	side_options="${side_options:-} $table_options"
	template_name=table_$kind
	clients=$1
	seconds=${table_seconds:-${seconds:-}}
	case $in_state in
		leased) count=${leased_counts%% *} ;;
		locked) count=${locked_counts%% *} ;;
		dead) count=${dead_counts%% *} ;;
	esac
	offset=$count
	most_in_front=$(printf '%s\n' ${leased_counts%% *} ${locked_counts%% *} ${dead_counts%% *} | sort -n | tail -1)
	# Half a minute of claims takes many.
	[[ " ${table_held_kinds:-} " != *" $kind "* ]] || jobs=$table_held_backlog
	fresh $((jobs + most_in_front))
	case $in_state in
		leased) lease "$count" ;;
		locked) hold "$(lock_text "$count")" ;;
		dead)
			hold_snapshot
			kill_jobs "$count"
			;;
		held) hold_snapshot ;;
	esac
	if [[ $in_state == held ]]; then
		rate_after "$table_held" claim 1 "$clients"
	else
		rate claim 1 "$clients"
	fi
}

hold_snapshot() {
	holder_level='repeatable read' hold 'select count(*) from pg_class'
}
