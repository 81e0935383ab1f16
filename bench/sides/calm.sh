# calm - the clients of a situation "events", without its event.

title='without'

script() { claim_text; }
