#include "row_stream/stream_mark.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/words.h"

enum { MAX_SIZE = 16 << 20, MAX_WORDS = 5 };

/* Divides a line; the number of words, at most MAX_WORDS. */
static size_t split_words(sp_bytes line, sp_bytes words[MAX_WORDS])
{
	size_t count = 0;

	while (count < MAX_WORDS) {
		size_t size = 0;

		line = sp_words_trim(line);
		while (size < line.size && line.data[size] != ' ' && line.data[size] != '\t')
			size++;
		if (size == 0)
			break;
		words[count++] = (sp_bytes){line.data, size};
		line = (sp_bytes){line.data + size, line.size - size};
	}
	return count;
}

/* A decimal number of at most 18 digits. */
static bool read_number(sp_bytes word, int64_t *out)
{
	*out = 0;
	if (word.size == 0 || word.size > 18)
		return false;
	for (size_t i = 0; i < word.size; i++) {
		if (word.data[i] < '0' || word.data[i] > '9')
			return false;
		*out = *out * 10 + (word.data[i] - '0');
	}
	return true;
}

static bool parse_offset(sp_stream_offset *out, const sp_bytes words[MAX_WORDS])
{
	int64_t partition;

	if (words[1].size >= sizeof(out->topic) || !read_number(words[2], &partition) ||
	    partition > INT32_MAX || !read_number(words[3], &out->offset))
		return false;
	snprintf(out->topic, sizeof(out->topic), "%.*s", (int)words[1].size, words[1].data);
	out->partition = (int32_t)partition;
	return true;
}

static sp_status parse_line(sp_stream_mark *mark, sp_bytes line, size_t number, sp_error *err)
{
	sp_bytes words[MAX_WORDS];
	size_t count = split_words(line, words);
	sp_stream_offset *more;

	if (count == 0)
		return SP_OK;
	if (count == 2 && sp_bytes_equal_text(words[0], "timestamp_ms") &&
	    read_number(words[1], &mark->timestamp_ms))
		return SP_OK;
	if (count != 4 || !sp_bytes_equal_text(words[0], "offset"))
		return sp_error_set(err, SP_INVALID, "line %zu is no timestamp and no offset",
				    number);
	more = sp_alloc_resize(mark->offsets, mark->count + 1, sizeof(*more));
	SP_NEED_MEMORY(more, err, "%zu offsets", mark->count);
	mark->offsets = more;
	if (!parse_offset(&more[mark->count], words))
		return sp_error_set(err, SP_INVALID, "line %zu is no offset of a partition",
				    number);
	mark->count++;
	return SP_OK;
}

sp_status sp_stream_mark_parse(sp_stream_mark *out, sp_bytes text, sp_error *err)
{
	sp_status status = SP_OK;

	*out = (sp_stream_mark){.timestamp_ms = -1};
	for (size_t number = 1; status == SP_OK && text.size != 0; number++) {
		const char *end = memchr(text.data, '\n', text.size), *comment;
		size_t size = end != NULL ? (size_t)(end - text.data) : text.size;
		sp_bytes line = {text.data, size};

		comment = memchr(line.data, '#', line.size);
		if (comment != NULL)
			line.size = (size_t)(comment - line.data);
		if (line.size != 0 && line.data[line.size - 1] == '\r')
			line.size--;
		status = parse_line(out, line, number, err);
		size += end != NULL;
		text = (sp_bytes){text.data + size, text.size - size};
	}
	if (status != SP_OK)
		sp_stream_mark_fini(out);
	return status;
}

sp_status sp_stream_mark_read(sp_stream_mark *out, const char *prefix, sp_error *err)
{
	char path[4096], *text;
	size_t size;
	sp_status status;

	*out = (sp_stream_mark){.timestamp_ms = -1};
	if (snprintf(path, sizeof(path), "%s.row_stream", prefix) >= (int)sizeof(path))
		return sp_error_set(err, SP_INVALID, "the path of a checkpoint is too long");
	if (!sp_file_exists(path))
		return SP_OK;
	SP_TRY(sp_file_read(&text, &size, path, MAX_SIZE, err));
	status = sp_stream_mark_parse(out, (sp_bytes){text, size}, err);
	sp_free(text);
	return sp_error_prefix(err, status, "%s", path);
}

int64_t sp_stream_mark_offset(const sp_stream_mark *mark, const char *topic, int32_t partition)
{
	for (size_t i = mark->count; i-- != 0;)
		if (mark->offsets[i].partition == partition &&
		    strcmp(mark->offsets[i].topic, topic) == 0)
			return mark->offsets[i].offset;
	return -1;
}

void sp_stream_mark_fini(sp_stream_mark *mark)
{
	sp_free(mark->offsets);
	*mark = (sp_stream_mark){.timestamp_ms = -1};
}
