// table_command.cpp - see table_command.hpp.

#include "../postgres.hpp"

#include "table_command.hpp"

#include "../catalog/owner.hpp"
#include "../error.hpp"

namespace queue_ext::definition {

using statement::Named;

void
run_command_on(const Named &table, const char *text)
{
	statement::run_command(text);
	statement::check_named(table);
}

void
run_newest_on(const Named &table, const char *text)
{
	statement::run_newest_command(text);
	statement::check_named(table);
}

// The name may mean another table by then, which the command would have dropped.
void
drop_table(const Named &table)
{
	statement::run_command(psprintf("drop table %s", table.name));
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(table.table)))
		error::gone_during_command(table.name);
}

void
give_to_owner_of(Oid other, const Named &table)
{
	const Oid owner = catalog::owner_of(other);
	if (catalog::owner_of(table.table) != owner)
		run_command_on(table, psprintf("alter table %s owner to %s", table.name,
									   quote_identifier(GetUserNameFromId(owner, false))));
}

} // namespace queue_ext::definition
