// own_text.cpp - see own_text.hpp.

#include "../postgres.hpp"

#include "own_text.hpp"

#include "../error.hpp"
#include "../missing_rights.hpp"

namespace queue_ext::statement {

// Null if the label says nothing.
static char *
words_of(const Label &label)
{
	if (label.act == nullptr)
		return nullptr;
	return label.queue == nullptr ? pstrdup(label.act)
								  : psprintf("%s queue \"%s\"", label.act, label.queue);
}

// Whether the innermost line of the context has the text: then the statement itself has failed, and
// no user-defined code in it.
static bool
is_statements_own(const ErrorData *error, const char *text)
{
	if (error->context == nullptr)
		return false;
	const char *found = strstr(error->context, text);
	return found != nullptr && memchr(error->context, '\n', found - error->context) == nullptr;
}

// Whether the error is one of privileges, and not of row security or of a function.
static bool
is_refused(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE && error->hint == nullptr &&
		   error->funcname != nullptr && strcmp(error->funcname, "aclcheck_error") == 0;
}

// Replaces each line of the context that has the text, which may itself have several. The words around
// the text in the line depend on lc_messages.
static char *
replace_lines(const char *context, const char *text, const char *words)
{
	const size_t length = strlen(text);
	StringInfoData kept;
	initStringInfo(&kept);
	const char *rest = context;
	for (const char *found; (found = strstr(rest, text)) != nullptr;) {
		const char *line = found;
		while (line > rest && line[-1] != '\n')
			line--;
		appendBinaryStringInfo(&kept, rest, static_cast<int>(line - rest));
		if (words != nullptr)
			appendStringInfo(&kept, "%s\n", words);
		const char *end = strchr(found + length, '\n');
		rest = end == nullptr ? "" : end + 1;
	}
	appendStringInfoString(&kept, rest);
	if (kept.len > 0 && kept.data[kept.len - 1] == '\n')
		kept.data[--kept.len] = '\0';
	return kept.len > 0 ? kept.data : nullptr;
}

// An error with a position has the text as its query instead of in its context.
static void
remove_query(ErrorData *error, const char *text, const char *words)
{
	if (error->internalquery == nullptr || strcmp(error->internalquery, text) != 0)
		return;
	error->internalquery = nullptr;
	error->internalpos = 0;
	if (words != nullptr)
		error->context =
			error->context == nullptr ? pstrdup(words) : psprintf("%s\n%s", words, error->context);
}

// The commands that grant what the caller is short of for the statement; null if it is not. Reads
// catalogs: the executor checks privileges before it does anything else, so the transaction is in
// order at that point, although it will be aborted.
static const char *
missing_grants(const CachedPlanSource *source)
{
	List *needs = NIL;
	ListCell *cell;
	foreach (cell, source->query_list)
		needs = list_concat(needs, missing_rights::needs_of(lfirst_node(Query, cell)));
	return missing_rights::grants_for(needs);
}

void
raise_without_text(SPIPlanPtr plan, const char *text, const Label &label)
{
	ErrorData *error = CopyErrorData();
	FlushErrorState();
	const CachedPlanSource *source = nullptr;
	if (plan != nullptr) {
		source = static_cast<CachedPlanSource *>(linitial(SPI_plan_get_plan_sources(plan)));
		text = source->query_string;
	}
	const char *words = words_of(label);
	if (source != nullptr && is_refused(error) && is_statements_own(error, text)) {
		const char *grants = missing_grants(source);
		if (grants != nullptr) {
			error->hint = error::grant_hint(grants);
			words = nullptr; // the hint tells enough
		}
	}
	if (error->context != nullptr)
		error->context = replace_lines(error->context, text, words);
	remove_query(error, text, words);
	ReThrowError(error);
}

} // namespace queue_ext::statement
