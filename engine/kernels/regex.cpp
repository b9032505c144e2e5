extern "C" {
#include "engine/kernels/regex.h"
}

#include <exception>

#include <re2/re2.h>

/* An sp_regex is an RE2. */
static const RE2 *expression(const sp_regex *regex)
{
	return reinterpret_cast<const RE2 *>(regex);
}

/* RE2 distinguishes null text from empty text. */
static re2::StringPiece piece(sp_bytes text)
{
	return re2::StringPiece(text.data != nullptr ? text.data : "", text.size);
}

static sp_status compile(sp_regex **out, sp_bytes pattern, sp_error *err)
{
	RE2::Options options;
	RE2 *re;

	options.set_log_errors(false);
	options.set_max_mem(SP_REGEX_MAX_MEMORY);
	re = new RE2(piece(pattern), options);
	if (re->ok()) {
		*out = reinterpret_cast<sp_regex *>(re);
		return SP_OK;
	}
	sp_status status = re->error_code() == RE2::ErrorPatternTooLarge ? SP_UNSUPPORTED
									 : SP_INVALID;
	sp_error_set(err, status, "'%.*s' as a regular expression: %s",
		     static_cast<int>(pattern.size < 100 ? pattern.size : 100),
		     piece(pattern).data(), re->error().c_str());
	delete re;
	return status;
}

sp_status sp_regex_create(sp_regex **out, sp_bytes pattern, sp_error *err)
{
	if (pattern.size > SP_REGEX_MAX_PATTERN)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "a regular expression of %zu bytes is longer than %u bytes",
				    pattern.size, SP_REGEX_MAX_PATTERN);
	try {
		return compile(out, pattern, err);
	} catch (const std::exception &) {
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a regular expression");
	}
}

void sp_regex_destroy(sp_regex *regex)
{
	delete expression(regex);
}

size_t sp_regex_group_count(const sp_regex *regex)
{
	return static_cast<size_t>(expression(regex)->NumberOfCapturingGroups());
}

static sp_status match(const sp_regex *regex, sp_bytes text, size_t start, RE2::Anchor anchor,
		       re2::StringPiece *groups, size_t group_count)
{
	try {
		return expression(regex)->Match(piece(text), start, text.size, anchor, groups,
						static_cast<int>(group_count))
			       ? SP_OK
			       : SP_NOT_FOUND;
	} catch (const std::exception &) {
		return SP_NO_MEMORY;
	}
}

sp_status sp_regex_match_whole(const sp_regex *regex, sp_bytes text)
{
	return match(regex, text, 0, RE2::ANCHOR_BOTH, nullptr, 0);
}

sp_status sp_regex_search(const sp_regex *regex, sp_bytes text, size_t start, sp_bytes *groups,
			  size_t group_count)
{
	re2::StringPiece found[SP_REGEX_MAX_GROUPS];

	if (group_count > SP_REGEX_MAX_GROUPS)
		return SP_INTERNAL;
	sp_status status = match(regex, text, start, RE2::UNANCHORED, found, group_count);
	if (status == SP_OK)
		for (size_t i = 0; i < group_count; i++)
			groups[i] = {found[i].data(), found[i].size()};
	return status;
}
