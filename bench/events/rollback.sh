# rollback.sh - transactions that have completed a job roll back.

. "$bench/events/common.sh"
event_title='rollbacks after a completion, 100 a second'

event_text() {
	printf '%s\n' "select id, attempt from queue_pop('bench') \\gset" 'begin;' \
		"select queue_complete('bench', :id, :attempt);" 'rollback;'
}
