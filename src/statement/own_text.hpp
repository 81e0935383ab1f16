// own_text.hpp - errors without the text of our own statements.
//
// SPI puts the text of a statement into the context of every error in it, and ours are long and no
// user wrote them. Here the error is caught, and raised again: with a few words instead of the text,
// and, where the caller is short of a privilege, with a hint. Lines of user-defined code within the
// statement, such as triggers, stay; so do those of the caller. Notices keep the text.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::statement {

// The words that stand for a statement in an error's context, instead of its text.
struct Label
{
	const char *act;   // such as "claim from"; null: nothing
	const char *queue; // the queue's name, after that; may be null
};

// Raises the error that was caught again. "plan" has its statement, or is null: then "text" has.
[[noreturn]] void raise_without_text(SPIPlanPtr plan, const char *text, const Label &label);

// Runs body, which runs the plan or makes it. Raises what body raises, without the text of the plan.
template <typename Body>
void
without_text(SPIPlanPtr plan, Label label, Body &&body)
{
	const MemoryContext context = CurrentMemoryContext;
	PG_TRY();
	{
		body();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		raise_without_text(plan, nullptr, label);
	}
	PG_END_TRY();
}

// Runs body, which makes a plan of the text, or runs it as a utility command. Raises what body raises,
// without the text.
template <typename Body>
void
without_text(const char *text, Label label, Body &&body)
{
	const MemoryContext context = CurrentMemoryContext;
	PG_TRY();
	{
		body();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		raise_without_text(nullptr, text, label);
	}
	PG_END_TRY();
}

} // namespace queue_ext::statement
