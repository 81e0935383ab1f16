// archiving.cpp - see archiving.hpp.

#include "../postgres.hpp"

#include "archiving.hpp"

#include "../error.hpp"
#include "keep.hpp"
#include "managed.hpp"
#include "shape.hpp"

namespace queue_ext::definition {

using statement::Parameter;

const char *
archiving_text(const Definition *definition, const char *source, const char *state,
			   const char *result)
{
	if (definition->archive_name == nullptr)
		error::archive_missing(definition->name, definition->source_name);
	const char *columns = psprintf("%s%s", archived_columns,
								   shared_second_columns(definition->source, definition->archive));
	const char *slot = definition->has_slots ? ", slot" : "";
	const char *slot_value =
		definition->has_slots ? psprintf(", %s", placeholder(Parameter::slot)) : "";
	const char *result_value = result == nullptr ? "" : psprintf(", %s", result);
	return psprintf("insert into %s (%s, state, finished_at%s%s) select %s, '%s', %s%s%s from %s",
					definition->archive_name, columns, slot, result == nullptr ? "" : ", result",
					columns, state, placeholder(Parameter::call_time), slot_value, result_value,
					source);
}

void
set_slot(const Definition *definition, TimestampTz now, statement::Arguments *arguments)
{
	if (definition->has_slots)
		arguments->set(Parameter::slot, Int16GetDatum(slot_of(definition->archive_keep, now)));
}

Oid
find_slot(const Definition *definition, TimestampTz now)
{
	Relation archive =
		definition->has_slots ? try_relation_open(definition->archive, NoLock) : nullptr;
	if (archive == nullptr)
		return InvalidOid;
	Oid slot = InvalidOid;
	PartitionKey key = RelationGetPartitionKey(archive);
	if (key != nullptr && key->strategy == PARTITION_STRATEGY_LIST &&
		key->parttypid[0] == INT2OID && key->partattrs[0] != InvalidAttrNumber) {
		PartitionDesc partitions = RelationGetPartitionDesc(archive, true);
		const Datum value = Int16GetDatum(slot_of(definition->archive_keep, now));
		bool is_equal = false;
		const int place = partitions->nparts == 0
							  ? -1
							  : partition_list_bsearch(key->partsupfunc, key->partcollation,
													   partitions->boundinfo, value, &is_equal);
		if (place >= 0 && is_equal)
			slot = partitions->oids[partitions->boundinfo->indexes[place]];
	}
	relation_close(archive, NoLock);
	return slot;
}

} // namespace queue_ext::definition
