# event - the clients of a situation "events", while its event happens; calm.sh: while it does not.

title='with the event'

script() { claim_text; }
