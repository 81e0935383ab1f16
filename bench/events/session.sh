# session.sh - each claim is made in a session of its own; without the event: in one that lasts.

. "$bench/events/common.sh"
event_title='a new session for each claim; without: sessions that last'

options_of_event='-C'
