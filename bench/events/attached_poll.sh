# attached_poll.sh - a quiet attached queue whose rows wait for times is polled, by one client as fast as it can, while a row
# is inserted now and then.

. "$bench/events/wake.sh"
event_title='polls of an empty attached queue beside 10 inserts a second'
event_jobs=0
event_clients=1
event_rate=10

prepare() { :; }
calm_text() { :; }
any_left() { :; }
