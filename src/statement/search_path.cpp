// search_path.cpp - see search_path.hpp.

#include "../postgres.hpp"

#include "search_path.hpp"

namespace queue_ext::statement {

// GUC_ACTION_SAVE: AtEOXact_GUC() restores the old value at the end of the nest level.
void
set_locally(const Setting &setting)
{
	(void) set_config_option(setting.name, setting.value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

// The parameters that change what a literal means, or how one is written.
void
set_reading_settings(const char *path)
{
	static constexpr Setting settings[] = {
		{"standard_conforming_strings", "on"},
		{"backslash_quote", "safe_encoding"},
		{"array_nulls", "on"},
		{"xmloption", "content"},
		{"transform_null_equals", "off"},
		{"datestyle", "ISO, MDY"},
		{"intervalstyle", "postgres"},
		{"timezone", "UTC"},
		{"extra_float_digits", "3"},
		{"lc_monetary", "C"},
		{"bytea_output", "hex"},
		{"quote_all_identifiers", "off"},
	};
	set_locally({"search_path", psprintf("%s, pg_temp", path)});
	for (const Setting &setting : settings)
		set_locally(setting);
	// Setting this reads a file.
	const Setting abbreviations{"timezone_abbreviations", "Default"};
	if (strcmp(GetConfigOption(abbreviations.name, false, false), abbreviations.value) != 0)
		set_locally(abbreviations);
}

// A schema that was dropped a moment ago is left out, too.
char *
current_search_path()
{
	StringInfoData path;
	initStringInfo(&path);
	// fetch_search_path() may create the session's temporary schema.
	const int length = fetch_search_path_array(nullptr, 0);
	auto *schemas = static_cast<Oid *>(palloc(sizeof(Oid) * Max(length, 1)));
	(void) fetch_search_path_array(schemas, length);
	for (int i = 0; i < length; i++) {
		const char *name =
			isAnyTempNamespace(schemas[i]) ? nullptr : get_namespace_name(schemas[i]);
		if (name != nullptr)
			appendStringInfo(&path, "%s%s", path.len > 0 ? ", " : "", quote_identifier(name));
	}
	return path.data;
}

int
search_path_schemas(Oid *schemas, int max_schemas)
{
	Oid temporary;
	Oid toast;
	GetTempNamespaceState(&temporary, &toast);
	// fetch_search_path() creates the session's temporary schema where the path begins with
	// pg_temp, so it is called only if the schema exists.
	if (!OidIsValid(temporary))
		return fetch_search_path_array(schemas, max_schemas);
	List *path = fetch_search_path(true);
	const int length = list_length(path);
	for (int i = 0; i < Min(length, max_schemas); i++)
		schemas[i] = list_nth_oid(path, i);
	list_free(path);
	return length;
}

} // namespace queue_ext::statement
