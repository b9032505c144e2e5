#include "model_loader/checkpoint/checkpoint_name.h"

#include <stddef.h>

enum { SHARD_DIGITS = 5 };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool sp_checkpoint_number(int64_t *out, sp_bytes text)
{
	int64_t number = 0;

	for (size_t i = 0; i < text.size; i++) {
		char c = text.data[i];

		if (c < '0' || c > '9' || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, c - '0', &number))
			return false;
	}
	*out = number;
	return text.size != 0;
}

/* Whether the name is hidden, or is one that editors and office programs give to copies. */
static bool is_side_name(const char *name)
{
	return name[0] == '\0' || name[0] == '.' || name[0] == '#' || name[0] == '~';
}

static sp_bytes cut(sp_bytes text, const char *ending)
{
	return (sp_bytes){text.data, text.size - strlen(ending)};
}

/* The position of the last `word` in a text; text.size when there is none. */
static size_t find_last(sp_bytes text, const char *word)
{
	size_t size = strlen(word);

	for (size_t at = text.size >= size ? text.size - size + 1 : 0; at-- > 0;)
		if (memcmp(text.data + at, word, size) == 0)
			return at;
	return text.size;
}

static bool read_shard(int64_t *out, sp_bytes text)
{
	return text.size >= SHARD_DIGITS && sp_checkpoint_number(out, text);
}

/* "NNNNN-of-MMMMM" */
static bool is_shard_of_shards(sp_bytes text)
{
	size_t at = find_last(text, "-of-"), behind = at + strlen("-of-");
	int64_t shard, shards;

	return at < text.size && read_shard(&shard, (sp_bytes){text.data, at}) &&
	       read_shard(&shards, (sp_bytes){text.data + behind, text.size - behind}) &&
	       shard < shards;
}

/* Finds the kind of a file by its name, and the part of the name before its ending. */
static sp_checkpoint_part split(sp_bytes *prefix, const char *name)
{
	sp_bytes text = sp_bytes_of(name);
	size_t at = find_last(text, ".data-"), behind = at + strlen(".data-");

	if (is_side_name(name))
		return SP_CHECKPOINT_NONE;
	if (sp_bytes_ends_with(text, ".index")) {
		*prefix = cut(text, ".index");
		return prefix->size != 0 ? SP_CHECKPOINT_INDEX : SP_CHECKPOINT_NONE;
	}
	if (at == text.size || at == 0 ||
	    !is_shard_of_shards((sp_bytes){text.data + behind, text.size - behind}))
		return SP_CHECKPOINT_NONE;
	*prefix = (sp_bytes){text.data, at};
	return SP_CHECKPOINT_DATA;
}

static int64_t step_of(sp_bytes prefix)
{
	size_t dash = find_last(prefix, "-");
	int64_t step;

	if (dash == prefix.size || !sp_checkpoint_number(&step, (sp_bytes){prefix.data + dash + 1,
									   prefix.size - dash - 1}))
		return 0;
	return step;
}

sp_checkpoint_name sp_checkpoint_name_of(const char *name)
{
	sp_checkpoint_name out = {.part = SP_CHECKPOINT_NONE};
	sp_checkpoint_part part = split(&out.prefix, name);

	if (part == SP_CHECKPOINT_NONE || sp_bytes_ends_with(out.prefix, "-ssd_record"))
		return (sp_checkpoint_name){.part = SP_CHECKPOINT_NONE};
	out.part = part;
	out.step = step_of(out.prefix);
	return out;
}

bool sp_checkpoint_is_file_of(const char *prefix, const char *name)
{
	sp_bytes own;

	return split(&own, name) != SP_CHECKPOINT_NONE && sp_bytes_equal_text(own, prefix);
}

bool sp_checkpoint_owns(const char *prefix, const char *name)
{
	size_t size = strlen(prefix);
	sp_bytes own;
	bool is_part = split(&own, name) != SP_CHECKPOINT_NONE;

	if (!is_part)
		own = sp_bytes_of(name);
	else if (sp_bytes_equal_text(own, prefix))
		return true;
	return own.size > size && sp_bytes_starts_with(own, prefix) && own.data[size] == '-' &&
	       sp_bytes_ends_with(own, is_part ? "-ssd_record" : "-emb_files");
}

bool sp_checkpoint_is_row_file(const char *name)
{
	sp_bytes text = sp_bytes_of(name);
	int64_t number;

	return sp_bytes_ends_with(text, ".emb") && sp_checkpoint_number(&number, cut(text, ".emb"));
}

bool sp_checkpoint_is_version(const char *name)
{
	static const char *const names[] = {"tmp", "temp", "_temporary", "lost+found"};
	static const char *const endings[] = {"._COPYING_", ".tmp", ".temp",     ".part",
					      ".partial",   ".bak", "_$folder$", "~"};
	sp_bytes text = sp_bytes_of(name);

	if (is_side_name(name))
		return false;
	for (size_t i = 0; i < COUNT(names); i++)
		if (sp_bytes_equal_text(text, names[i]))
			return false;
	for (size_t i = 0; i < COUNT(endings); i++)
		if (sp_bytes_ends_with(text, endings[i]))
			return false;
	return true;
}
