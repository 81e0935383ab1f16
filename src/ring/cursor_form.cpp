// cursor_form.cpp - see cursor_form.hpp.

#include "../postgres.hpp"

#include "cursor_form.hpp"

namespace queue_ext::ring {

using cursor::Form;

// Arrays, ranges, jsonb and the like are left out: their comparison functions trust offsets within
// a value.
bool
find_form(const FormData_pg_attribute *attribute, cursor::Column *column)
{
	column->length = attribute->attlen > 0 ? static_cast<uint16>(attribute->attlen) : 0;
	switch (attribute->atttypid) {
		case BOOLOID:
			column->form = Form::boolean;
			return true;
		case NAMEOID:
			column->form = Form::name;
			return true;
		case BYTEAOID:
			column->form = Form::bytes;
			return true;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			column->form = Form::text;
			return true;
		case NUMERICOID:
			column->form = Form::numeric;
			return true;
		case BITOID:
		case VARBITOID:
			column->form = Form::bits;
			return true;
		case INETOID:
		case CIDROID:
			column->form = Form::network;
			return true;
		default:
			// Numbers, times, OIDs, uuid: their comparison functions accept any bytes.
			column->form = Form::fixed;
			return attribute->attlen > 0 && attribute->atttypid < FirstNormalObjectId;
	}
}

} // namespace queue_ext::ring
