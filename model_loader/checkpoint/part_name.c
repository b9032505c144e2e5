#include "model_loader/checkpoint/part_name.h"

#include <stdlib.h>
#include <string.h>

static const char mark[] = "/part_";

/* Parses the digits at the start of `text`; returns how many there are, 0 when it is no number. */
static size_t read_number(sp_bytes text, uint64_t *number)
{
	size_t n = 0;

	*number = 0;
	while (n < text.size && n < 9 && text.data[n] >= '0' && text.data[n] <= '9')
		*number = *number * 10 + (uint64_t)(text.data[n++] - '0');
	return n > 1 && text.data[0] == '0' ? 0 : n;
}

sp_part_name sp_part_name_split(const char *name)
{
	sp_part_name split = {.head = sp_bytes_of(name), .tail = {"", 0}};

	for (const char *at = strstr(name, mark); at != NULL; at = strstr(at + 1, mark)) {
		const char *digits = at + strlen(mark);
		uint64_t number;
		size_t n = read_number(sp_bytes_of(digits), &number);

		if (at != name && n != 0 && (digits[n] == '\0' || digits[n] == '/'))
			split = (sp_part_name){.head = {name, (size_t)(at - name)},
					       .tail = sp_bytes_of(digits + n),
					       .numbered = true,
					       .number = number};
	}
	return split;
}

const char *sp_part_name_base(const sp_part_name *name, sp_arena *arena)
{
	return sp_arena_printf(arena, "%.*s%.*s", (int)name->head.size, name->head.data,
			       (int)name->tail.size, name->tail.data);
}

const char *sp_part_name_join(const sp_part_name *name, size_t number, sp_arena *arena)
{
	return sp_arena_printf(arena, "%.*s%s%zu%.*s", (int)name->head.size, name->head.data, mark,
			       number, (int)name->tail.size, name->tail.data);
}

/* Removes the prefix `text` from *rest; false if *rest does not start with it. */
static bool skip(sp_bytes *rest, sp_bytes text)
{
	if (rest->size < text.size || !sp_bytes_equal((sp_bytes){rest->data, text.size}, text))
		return false;
	*rest = (sp_bytes){rest->data + text.size, rest->size - text.size};
	return true;
}

/* Whether `entry` is <head>/part_<number><tail><suffix>; sets *number. */
static bool is_part(sp_bytes entry, const sp_part_name *name, const char *suffix, uint64_t *number)
{
	size_t n;

	if (!skip(&entry, name->head) || !skip(&entry, sp_bytes_of(mark)))
		return false;
	n = read_number(entry, number);
	entry = (sp_bytes){entry.data + n, entry.size - n};
	return n != 0 && skip(&entry, name->tail) && sp_bytes_equal_text(entry, suffix);
}

sp_status sp_part_name_count(size_t *out, const sp_part_name *name, const sp_bundle *bundle,
			     const char *suffix, sp_error *err)
{
	uint64_t number, largest = 0;
	size_t count = 0;

	for (size_t i = 0; i < sp_bundle_count(bundle); i++)
		if (is_part(sp_bundle_entry_at(bundle, i)->name, name, suffix, &number)) {
			count++;
			largest = number > largest ? number : largest;
		}
	if (count != 0 && largest != count - 1)
		return sp_error_set(err, SP_CORRUPT,
				    "%s has %zu tensors '%.*s%s<number>%.*s%s', and one is %llu",
				    sp_bundle_prefix(bundle), count, (int)name->head.size,
				    name->head.data, mark, (int)name->tail.size, name->tail.data,
				    suffix, (unsigned long long)largest);
	*out = count;
	return SP_OK;
}

static int by_number(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

sp_status sp_part_name_numbers(size_t **out, size_t *count, const sp_part_name *name,
			       const sp_bundle *bundle, const char *suffix, sp_arena *arena,
			       sp_error *err)
{
	size_t most = sp_bundle_count(bundle), found = 0;
	uint64_t number;

	for (size_t i = 0; i < most; i++)
		found += is_part(sp_bundle_entry_at(bundle, i)->name, name, suffix, &number);
	*count = 0;
	*out = sp_arena_array(arena, found, sizeof(**out));
	SP_NEED_MEMORY(*out, err, "the numbers of %zu parts", found);
	for (size_t i = 0; i < most; i++)
		if (is_part(sp_bundle_entry_at(bundle, i)->name, name, suffix, &number))
			(*out)[(*count)++] = (size_t)number;
	if (*count != 0)
		qsort(*out, *count, sizeof(**out), by_number);
	return SP_OK;
}
