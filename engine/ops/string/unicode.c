#include "engine/ops/string/unicode.h"

#include <string.h>

static bool same_name(sp_bytes name, const char *lower)
{
	size_t i = 0;

	for (;; i++) {
		while (i < name.size && (name.data[i] == '-' || name.data[i] == '_'))
			i++;
		if (i == name.size || *lower == '\0')
			break;
		if ((name.data[i] >= 'A' && name.data[i] <= 'Z' ? name.data[i] | 0x20
								: name.data[i]) != *lower++)
			return false;
	}
	return i == name.size && *lower == '\0';
}

/* False where it is none of those that are read here. */
static bool is_plain(sp_bytes name, sp_encoding *out)
{
	static const struct {
		const char *name;
		sp_encoding encoding;
	} known[] = {
		{"utf8", SP_ENCODING_UTF8},        {"utf16be", SP_ENCODING_UTF16_BE},
		{"utf16le", SP_ENCODING_UTF16_LE}, {"utf32be", SP_ENCODING_UTF32_BE},
		{"utf32le", SP_ENCODING_UTF32_LE}, {"usascii", SP_ENCODING_ASCII},
		{"ascii", SP_ENCODING_ASCII},      {"iso88591", SP_ENCODING_LATIN1},
		{"latin1", SP_ENCODING_LATIN1},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (same_name(name, known[i].name)) {
			*out = known[i].encoding;
			return true;
		}
	return false;
}

sp_status sp_unicode__read_output(const sp_prepare *prepare, sp_encoding *out, sp_error *err)
{
	sp_bytes name;

	SP_TRY(sp_node_attr_bytes(prepare->node, "output_encoding", "", &name, err));
	if (is_plain(name, out) && (*out == SP_ENCODING_UTF8 || *out == SP_ENCODING_UTF16_BE ||
				    *out == SP_ENCODING_UTF32_BE))
		return SP_OK;
	return sp_error_set(err, SP_INVALID,
			    "output_encoding must be UTF-8, UTF-16-BE or UTF-32-BE");
}

sp_status sp_unicode__read_input(const sp_prepare *prepare, sp_encoding *out, sp_error *err)
{
	sp_bytes name;

	SP_TRY(sp_node_attr_bytes(prepare->node, "input_encoding", "", &name, err));
	if (is_plain(name, out))
		return SP_OK;
	return sp_error_set(err, SP_UNSUPPORTED, "input_encoding %.*s is not supported",
			    (int)(name.size < 60 ? name.size : 60), name.data);
}

sp_status sp_unicode__read_policy(const sp_prepare *prepare, sp_unicode_policy *out, sp_error *err)
{
	const sp_node *node = prepare->node;
	int64_t replacement;
	sp_bytes errors;

	SP_TRY(sp_node_attr_bytes(node, "errors", "replace", &errors, err));
	SP_TRY(sp_node_attr_int(node, "replacement_char", 0xfffd, &replacement, err));
	SP_TRY(sp_node_attr_bool(node, "replace_control_characters", false, &out->replace_controls,
				 err));
	if (sp_bytes_equal_text(errors, "strict"))
		out->errors = SP_UNICODE_STRICT;
	else if (sp_bytes_equal_text(errors, "replace"))
		out->errors = SP_UNICODE_REPLACE;
	else if (sp_bytes_equal_text(errors, "ignore"))
		out->errors = SP_UNICODE_IGNORE;
	else
		return sp_error_set(err, SP_INVALID, "errors must be strict, replace or ignore");
	if (replacement < 0 || replacement > 0x10ffff)
		return sp_error_set(err, SP_INVALID, "replacement_char is %lld",
				    (long long)replacement);
	out->replacement = (int32_t)replacement;
	return SP_OK;
}

void sp_unicode__open(sp_unicode_reader *reader, sp_encoding encoding, sp_bytes text)
{
	reader->encoding = encoding;
	reader->start = reader->at = (const unsigned char *)text.data;
	reader->end = reader->start + text.size;
}

/* How many bytes follow a first one, and what the first bits and the second byte may be. */
static size_t utf8_lead(unsigned char lead, int32_t *bits, unsigned char *low, unsigned char *high)
{
	*low = 0x80;
	*high = 0xbf;
	*bits = lead & 0x0f;
	if (lead >= 0xc2 && lead <= 0xdf) {
		*bits = lead & 0x1f;
		return 1;
	}
	if (lead >= 0xe0 && lead <= 0xef) {
		*low = lead == 0xe0 ? 0xa0 : 0x80;
		*high = lead == 0xed ? 0x9f : 0xbf;
		return 2;
	}
	*bits = lead & 0x07;
	*low = lead == 0xf0 ? 0x90 : 0x80;
	*high = lead == 0xf4 ? 0x8f : 0xbf;
	return lead >= 0xf0 && lead <= 0xf4 ? 3 : 0;
}

static bool next_utf8(sp_unicode_reader *reader, int32_t *character)
{
	unsigned char lead = *reader->at++, low, high;
	size_t more;

	if (lead < 0x80) {
		*character = lead;
		return true;
	}
	more = utf8_lead(lead, character, &low, &high);
	if (more == 0)
		return false;
	for (; more > 0; more--) {
		if (reader->at == reader->end || *reader->at < low || *reader->at > high)
			return false;
		*character = *character << 6 | (*reader->at++ & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	return true;
}

/* A unit of `size` bytes; false, and at the end, when there are fewer. */
static bool take_unit(sp_unicode_reader *reader, size_t size, bool big, uint32_t *unit)
{
	if ((size_t)(reader->end - reader->at) < size) {
		reader->at = reader->end;
		return false;
	}
	*unit = 0;
	for (size_t i = 0; i < size; i++)
		*unit = *unit << 8 | reader->at[big ? i : size - 1 - i];
	reader->at += size;
	return true;
}

static bool next_utf16(sp_unicode_reader *reader, bool big, int32_t *character)
{
	uint32_t first, second;
	const unsigned char *after;

	if (!take_unit(reader, 2, big, &first))
		return false;
	*character = (int32_t)first;
	if (first < 0xd800 || first > 0xdfff)
		return true;
	after = reader->at;
	if (first > 0xdbff || !take_unit(reader, 2, big, &second))
		return false;
	if (second < 0xdc00 || second > 0xdfff) {
		reader->at = after;
		return false;
	}
	*character = (int32_t)(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
	return true;
}

static bool next_utf32(sp_unicode_reader *reader, bool big, int32_t *character)
{
	uint32_t unit;

	if (!take_unit(reader, 4, big, &unit))
		return false;
	*character = (int32_t)unit;
	return unit <= 0x10ffff && (unit < 0xd800 || unit > 0xdfff);
}

bool sp_unicode__next(sp_unicode_reader *reader, int32_t *character, bool *is_error)
{
	bool good;

	if (reader->at == reader->end)
		return false;
	switch (reader->encoding) {
	case SP_ENCODING_UTF8:
		good = next_utf8(reader, character);
		break;
	case SP_ENCODING_UTF16_BE:
	case SP_ENCODING_UTF16_LE:
		good = next_utf16(reader, reader->encoding == SP_ENCODING_UTF16_BE, character);
		break;
	case SP_ENCODING_UTF32_BE:
	case SP_ENCODING_UTF32_LE:
		good = next_utf32(reader, reader->encoding == SP_ENCODING_UTF32_BE, character);
		break;
	default:
		*character = *reader->at++;
		good = reader->encoding == SP_ENCODING_LATIN1 || *character < 0x80;
	}
	*is_error = !good;
	if (!good)
		*character = 0xfffd;
	return true;
}

sp_status sp_unicode__next_by(sp_unicode_reader *reader, const sp_unicode_policy *policy,
			      const sp_call *call, bool *more, int32_t *character, size_t *offset)
{
	bool is_bad;

	for (;;) {
		*offset = (size_t)(reader->at - reader->start);
		*more = sp_unicode__next(reader, character, &is_bad);
		if (!*more || !(is_bad || (policy->replace_controls && *character <= 0x1f)))
			return SP_OK;
		if (policy->errors == SP_UNICODE_STRICT && (is_bad || !policy->spare_controls))
			return sp_call_invalid(call, "invalid formatting at byte %zu of a text",
					       *offset);
		*character = policy->replacement;
		if (policy->errors != SP_UNICODE_IGNORE)
			return SP_OK;
	}
}

static size_t put_utf8(uint32_t c, unsigned char *out)
{
	if (c < 0x80) {
		out[0] = (unsigned char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (unsigned char)(0xc0 | c >> 6);
		out[1] = (unsigned char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (unsigned char)(0xe0 | c >> 12);
		out[1] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (unsigned char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (unsigned char)(0xf0 | c >> 18);
	out[1] = (unsigned char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (unsigned char)(0x80 | (c & 0x3f));
	return 4;
}

static size_t put_units(uint32_t value, size_t size, unsigned char *out)
{
	for (size_t i = 0; i < size; i++)
		out[i] = (unsigned char)(value >> (8 * (size - 1 - i)));
	return size;
}

size_t sp_unicode__put(sp_encoding encoding, int32_t character, char *out)
{
	unsigned char bytes[4];
	uint32_t c = (uint32_t)character, rest = c - 0x10000;
	size_t size;

	if (encoding == SP_ENCODING_UTF8)
		size = put_utf8(c, bytes);
	else if (encoding == SP_ENCODING_UTF32_BE)
		size = put_units(c, 4, bytes);
	else if (c < 0x10000)
		size = put_units(c, 2, bytes);
	else
		size = put_units((0xd800 + (rest >> 10)) << 16 | (0xdc00 + (rest & 0x3ff)), 4,
				 bytes);
	if (out != NULL)
		memcpy(out, bytes, size);
	return size;
}

bool sp_unicode__is_character(int32_t value)
{
	if (value < 0 || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return false;
	return !(value >= 0xfdd0 && value <= 0xfdef) && (value & 0xfffe) != 0xfffe;
}
