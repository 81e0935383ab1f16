# chain.sh - a job is sent and one is claimed in one transaction; without the event: in two.

. "$bench/events/common.sh"
event_title='a send and a claim in one transaction; without: in two'

claim_text() {
	local send="select queue_send('bench', '1');" claim="select queue_complete('bench', id, attempt) from queue_pop('bench');"
	if [[ $side == event ]]; then
		printf '%s\n' 'begin;' "$send" "$claim" 'commit;'
	else
		printf '%s\n' 'begin;' "$send" 'commit;' 'begin;' "$claim" 'commit;'
	fi
}
