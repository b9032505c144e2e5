#include "tests/support/expected.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tests/support/cmocka.h"
#include "tests/support/paths.h"

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = memchr(digits, c, 16);

	assert_non_null(at);
	return (int)(at - digits);
}

sp_bytes sp_expected_bytes(const char *digits, size_t size, sp_arena *arena)
{
	char *out = sp_arena_alloc(arena, size / 2);

	assert_non_null(out);
	for (size_t i = 0; i < size / 2; i++)
		out[i] = (char)(digit(digits[2 * i]) << 4 | digit(digits[2 * i + 1]));
	return (sp_bytes){out, size / 2};
}

static sp_shape parse_dims(const char *text)
{
	sp_shape shape = {.rank = 0};

	for (char *end; *text != '\0'; text = *end == ',' ? end + 1 : end) {
		shape.dims[shape.rank++] = strtoll(text, &end, 10);
		assert_ptr_not_equal(end, text);
	}
	return shape;
}

static void parse_elements(sp_tensor *tensor, const char *text, sp_arena *arena)
{
	sp_bytes *strings = tensor->data;
	sp_bytes bytes;

	if (tensor->dtype != SP_STRING) {
		bytes = sp_expected_bytes(text, strlen(text), arena);
		assert_int_equal(bytes.size, tensor->count * sp_dtype_size(tensor->dtype));
		memcpy(tensor->data, bytes.data, bytes.size);
		return;
	}
	for (size_t i = 0; i < tensor->count; i++) {
		size_t n = strcspn(text, ",");

		strings[i] = sp_expected_bytes(text, n, arena);
		assert_int_equal(text[n], ',');
		text += n + 1;
	}
}

static void parse_line(sp_expected *out, char *line, size_t texts, sp_arena *arena)
{
	char *dtype, *dims;
	sp_shape shape;
	sp_error err;

	for (size_t i = 0; i < texts; i++)
		out->texts[i] = sp_arena_text(arena, sp_bytes_of(strsep(&line, "\t")));
	dtype = strsep(&line, "\t");
	dims = strsep(&line, "\t");
	assert_non_null(line);
	shape = parse_dims(dims);
	assert_ok(sp_tensor_create(&out->tensor, arena, (sp_dtype)atoi(dtype), &shape, &err), &err);
	parse_elements(&out->tensor, line, arena);
}

const sp_expected *sp_expected_read(const char *relative, size_t texts, sp_arena *arena,
				    size_t *count)
{
	char path[SP_PATH_SIZE], *file, *rest, *line;
	sp_expected *out;
	sp_error err;
	size_t size;

	assert_ok(sp_file_read(&file, &size, sp_source_path(path, relative), (size_t)1 << 24, &err),
		  &err);
	*count = 0;
	for (size_t i = 0; i < size; i++)
		*count += file[i] == '\n';
	out = sp_arena_array(arena, *count, sizeof(*out));
	assert_non_null(out);
	rest = file;
	for (size_t i = 0; i < *count && (line = strsep(&rest, "\n")) != NULL; i++)
		parse_line(&out[i], line, texts, arena);
	sp_free(file);
	return out;
}

void sp_assert_same_tensor(const sp_tensor *got, const sp_tensor *want, const char *name)
{
	if (got->dtype != want->dtype || !sp_shape_equal(&got->shape, &want->shape) ||
	    got->count != want->count)
		fail_msg("%s has another type or shape", name);
	for (size_t i = 0; want->dtype == SP_STRING && i < want->count; i++)
		if (!sp_bytes_equal(sp_tensor_strings(got)[i], sp_tensor_strings(want)[i]))
			fail_msg("string %zu of %s differs", i, name);
	if (want->dtype != SP_STRING && want->count != 0 &&
	    memcmp(got->data, want->data, want->count * sp_dtype_size(want->dtype)) != 0)
		fail_msg("the elements of %s differ", name);
}
