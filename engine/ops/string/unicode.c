#include "engine/ops/string/unicode.h"

#include <string.h>

#include "base/utf8.h"

/* Names of encodings are compared without case, '-' and '_'. */
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

sp_status sp_unicode__check_encoding(const sp_prepare *prepare, const char *name, sp_error *err)
{
	sp_bytes encoding;

	SP_TRY(sp_node_attr_bytes(prepare->node, name, "", &encoding, err));
	if (same_name(encoding, "utf8"))
		return SP_OK;
	return sp_error_set(err, SP_UNSUPPORTED, "%s %.*s is not supported, only UTF-8", name,
			    (int)(encoding.size < 60 ? encoding.size : 60), encoding.data);
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

void sp_unicode__open(sp_unicode_reader *reader, sp_bytes text)
{
	reader->at = (const unsigned char *)text.data;
	reader->end = reader->at + text.size;
}

/*
 * Returns how many bytes follow the lead byte; *bits are its payload bits, *low and *high bound the
 * second byte.
 */
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

bool sp_unicode__next(sp_unicode_reader *reader, int32_t *character, bool *is_error)
{
	if (reader->at == reader->end)
		return false;
	*is_error = !next_utf8(reader, character);
	if (*is_error)
		*character = 0xfffd;
	return true;
}

sp_status sp_unicode__next_by(sp_unicode_reader *reader, const sp_unicode_policy *policy,
			      const sp_call *call, bool *more, int32_t *character)
{
	bool is_bad;

	for (;;) {
		*more = sp_unicode__next(reader, character, &is_bad);
		if (!*more || !(is_bad || (policy->replace_controls && *character <= 0x1f)))
			return SP_OK;
		if (policy->errors == SP_UNICODE_STRICT && is_bad)
			return sp_call_invalid(call, "invalid formatting in a text");
		*character = policy->replacement;
		if (policy->errors != SP_UNICODE_IGNORE)
			return SP_OK;
	}
}

size_t sp_unicode__put(int32_t character, char *out)
{
	char bytes[4];
	size_t size = sp_utf8_encode(
		bytes, character >= 0xd800 && character <= 0xdfff ? 0xfffd : (uint32_t)character);

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
