#include <stdlib.h>
#include <string.h>

#include "object_store/listing.h"
#include "tests/support/fuzz.h"

/* What a list promises: names that stay in the folder. */
static void check(const sp_listing *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *name = list->items[i].name;

		if (name[0] == '/' || strstr(name, "//") != NULL || strcmp(name, "..") == 0 ||
		    strncmp(name, "../", 3) == 0 || strstr(name, "/../") != NULL)
			abort();
	}
}

/* Any bytes as a document of each kind of store. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sp_bytes document = {(const char *)data, size};
	sp_arena *arena = sp_arena_create(1 << 14);
	sp_listing list = {.arena = arena};
	char code[64];

	if (arena == NULL)
		abort();
	(void)!sp_listing_read_xml(&list, document, "m/", NULL);
	check(&list);
	(void)!sp_listing_read_json(&list, document, NULL);
	check(&list);
	(void)!sp_listing_read_html(&list, document, "/m/", NULL);
	check(&list);
	sp_listing_error_code(code, document);
	sp_arena_destroy(arena);
	return 0;
}
