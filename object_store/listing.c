#include "object_store/listing.h"

#include <string.h>
#include <time.h>

static bool is_part(sp_bytes part)
{
	return part.size != 0 && !sp_bytes_equal_text(part, ".") &&
	       !sp_bytes_equal_text(part, "..");
}

/* Whether it can be a path below a folder. */
static bool is_name(sp_bytes name, bool deep)
{
	size_t start = 0;

	for (size_t i = 0; i <= name.size; i++) {
		if (i == name.size || name.data[i] == '/') {
			if ((i != name.size && !deep) ||
			    !is_part((sp_bytes){name.data + start, i - start}))
				return false;
			start = i + 1;
		} else if ((unsigned char)name.data[i] < 0x20 || name.data[i] == 0x7f) {
			return false;
		}
	}
	return true;
}

sp_status sp_listing_add(sp_listing *out, sp_bytes name, bool deep, const sp_listing_entry *entry,
			 sp_error *err)
{
	sp_listing_entry *item;

	if (!is_name(name, deep))
		return SP_OK;
	if (out->count == SP_LISTING_MAX)
		return sp_error_set(err, SP_INVALID,
				    "a folder of an object store has more than %d "
				    "names",
				    SP_LISTING_MAX);
	SP_NEED_MEMORY(SP_ARENA_GROW(out->arena, out->items, out->room, out->count, 1), err,
		       "the names in a folder");
	item = &out->items[out->count];
	*item = *entry;
	item->name = sp_arena_text(out->arena, name);
	if (entry->etag != NULL)
		item->etag = sp_arena_text(out->arena, sp_bytes_of(entry->etag));
	SP_NEED_MEMORY(item->name != NULL && (entry->etag == NULL) == (item->etag == NULL), err,
		       "the names in a folder");
	out->count++;
	return SP_OK;
}

int64_t sp_listing_time(const char *text)
{
	static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%a, %d %b %Y %H:%M:%S"};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm parts = {0};

		if (strptime(text, forms[i], &parts) != NULL)
			return (int64_t)timegm(&parts);
	}
	return 0;
}
