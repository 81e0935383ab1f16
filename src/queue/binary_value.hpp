// binary_value.hpp - values in the binary form of their types, as clients and servers exchange
// them. It does not depend on DateStyle and the like, and its readers accept bytes from anywhere.

#pragma once

#include "../postgres.hpp"

#include "../error.hpp"

namespace queue_ext::queue {

// Runs body with the client's encoding set to the server's, so that binary forms have text as the
// server has it. On ERROR the client's encoding is set back first: the message is sent under it.
template <typename Body>
void
with_server_encoding(Body &&body)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Body>>);
	const int encoding = pg_get_client_encoding();
	if (encoding == GetDatabaseEncoding()) {
		body();
		return;
	}
	(void) SetClientEncoding(GetDatabaseEncoding());
	PG_TRY();
	{
		body();
	}
	PG_FINALLY();
	{
		(void) SetClientEncoding(encoding);
	}
	PG_END_TRY();
}

// Runs body, which reads values of a receipt. What the types' functions find wrong with the bytes (a
// data exception or a protocol violation, which some clients take for a broken connection) becomes
// 22P02, with their message as the detail. On ERROR only the code and the message change.
template <typename Body>
void
with_faults_of_receipt(Body &&body)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Body>>);
	const MemoryContext context = CurrentMemoryContext;
	PG_TRY();
	{
		body();
	}
	PG_CATCH();
	{
		const int category = ERRCODE_TO_CATEGORY(geterrcode());
		if (category != ERRCODE_DATA_EXCEPTION && category != ERRCODE_CONNECTION_EXCEPTION)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		const ErrorData *fault = CopyErrorData();
		FlushErrorState();
		error::malformed_receipt(fault->message);
	}
	PG_END_TRY();
}

// Returns the binary form of a value of the type, in the current context. Raises 42883 if the type
// has none, 0A000 if that does not give the same bytes back; "column" is for the message. Within
// with_server_encoding(), as the next.
bytea *binary_of(Datum value, Oid type, const char *column);

// Returns the value of a binary form, in the current context. Raises what the type's function
// raises, 22P02 if it does not read all bytes.
Datum value_of_binary(const char *bytes, int length, Oid type);

} // namespace queue_ext::queue
