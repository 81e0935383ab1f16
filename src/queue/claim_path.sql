create function @extschema@.queue_claim_path(
	queue text,
	out path text,
	out reason text,
	out hint text
) returns record
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_claim_path';

comment on function @extschema@.queue_claim_path(text) is
	'by which path claims of the queue by the caller are made, why by no better one, and what would change that';
