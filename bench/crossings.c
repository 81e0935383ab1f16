/*
 * crossings.c - which functions of queue_ext a call enters, and how often.
 *
 * Preloaded into the server, with a library that is built with -finstrument-functions. It needs nothing of the
 * server's, since the loader puts it into other programs, too.
 *
 *     create function crossings_begin() returns void language c as '.../crossings';
 *     create function crossings_end(text) returns void language c as '.../crossings';
 *
 * The second writes a line for each function to the file: its object, its offset there, and how often.
 */

#define _GNU_SOURCE
#include "postgres.h"

#include <dlfcn.h>
#include <stdio.h>

#include "fmgr.h"

#undef fprintf

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(crossings_begin);
PG_FUNCTION_INFO_V1(crossings_end);

#define MOST_FUNCTIONS 8192

static struct
{
	void	   *function;
	unsigned long count;
}			counts[MOST_FUNCTIONS];
static volatile bool is_counting = false;

#define UNINSTRUMENTED __attribute__((no_instrument_function, visibility("default")))

void		__cyg_profile_func_enter(void *function, void *caller) UNINSTRUMENTED;
void		__cyg_profile_func_exit(void *function, void *caller) UNINSTRUMENTED;

void
__cyg_profile_func_enter(void *function, void *caller)
{
	if (!is_counting)
		return;
	for (size_t i = (size_t) function / 16 % MOST_FUNCTIONS;; i = (i + 1) % MOST_FUNCTIONS)
	{
		if (counts[i].function == NULL)
			counts[i].function = function;
		if (counts[i].function == function)
		{
			counts[i].count++;
			return;
		}
	}
}

void
__cyg_profile_func_exit(void *function, void *caller)
{
}

Datum
crossings_begin(PG_FUNCTION_ARGS)
{
	memset(counts, 0, sizeof(counts));
	is_counting = true;
	PG_RETURN_VOID();
}

Datum
crossings_end(PG_FUNCTION_ARGS)
{
	char		path[1024];
	struct varlena *text = (struct varlena *) PG_GETARG_POINTER(0);
	size_t		size = Min(VARSIZE_ANY_EXHDR(text), sizeof(path) - 1);
	FILE	   *file;

	is_counting = false;
	memcpy(path, VARDATA_ANY(text), size);
	path[size] = '\0';
	file = fopen(path, "w");
	for (int i = 0; file != NULL && i < MOST_FUNCTIONS; i++)
	{
		Dl_info		info;

		if (counts[i].function != NULL && dladdr(counts[i].function, &info) != 0)
			fprintf(file, "%s 0x%lx %lu\n", info.dli_fname,
					(unsigned long) ((char *) counts[i].function - (char *) info.dli_fbase), counts[i].count);
	}
	if (file != NULL)
		fclose(file);
	PG_RETURN_VOID();
}
