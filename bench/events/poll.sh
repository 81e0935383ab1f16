# poll.sh - a quiet queue is polled, by one client as fast as it can, while a job is sent now and then.

. "$bench/events/common.sh"
event_title='polls of an empty queue beside 10 sends a second'
event_jobs=0
event_clients=1
event_rate=10

event_text() { say "select queue_send('bench', '1');"; }
