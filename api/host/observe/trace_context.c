#include "api/host/observe/trace_context.h"

#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/hex.h"

/* "00-", trace id, "-", span id, "-", flags. */
enum { TRACE_AT = 3, SPAN_AT = 36, FLAGS_AT = 53, SIZE = 55, SAMPLED = 1 };

static bool read_id(unsigned char *out, const char *text, size_t size)
{
	unsigned char any = 0;

	for (size_t i = 0; i < size; i++) {
		int high = sp_hex_value(text[2 * i]), low = sp_hex_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (unsigned char)(high << 4 | low);
		any |= out[i];
	}
	return any != 0;
}

static bool has_upper_case(const char *text)
{
	for (size_t i = 0; i < SIZE; i++)
		if (text[i] >= 'A' && text[i] <= 'Z')
			return true;
	return false;
}

bool sp_trace_context_parse(sp_trace_context *out, sp_bytes header)
{
	const char *text = header.data;
	unsigned char version, flags;
	int high, low;

	*out = (sp_trace_context){0};
	if (header.size < SIZE || has_upper_case(text) || text[TRACE_AT - 1] != '-' ||
	    text[SPAN_AT - 1] != '-' || text[FLAGS_AT - 1] != '-')
		return false;
	high = sp_hex_value(text[0]);
	low = sp_hex_value(text[1]);
	if (high < 0 || low < 0)
		return false;
	version = (unsigned char)(high << 4 | low);
	/* Later versions may add fields behind these. */
	if (version == 0xff || (version == 0 && header.size != SIZE) ||
	    (header.size > SIZE && text[SIZE] != '-'))
		return false;
	high = sp_hex_value(text[FLAGS_AT]);
	low = sp_hex_value(text[FLAGS_AT + 1]);
	if (high < 0 || low < 0 || !read_id(out->trace_id, text + TRACE_AT, SP_TRACE_ID) ||
	    !read_id(out->parent_id, text + SPAN_AT, SP_SPAN_ID)) {
		*out = (sp_trace_context){0};
		return false;
	}
	flags = (unsigned char)(high << 4 | low);
	out->known = out->has_parent = true;
	out->sampled = (flags & SAMPLED) != 0;
	return true;
}

/* ------------------------------------------------------------- random numbers */

/* SplitMix64; its constants are the generator's. */
static uint64_t next_random(void)
{
	static _Thread_local uint64_t state;
	uint64_t x;

	if (state == 0 && getrandom(&state, sizeof(state), GRND_NONBLOCK) != sizeof(state))
		state = (uint64_t)sp_clock_now_ns() ^ (uint64_t)(uintptr_t)&state;
	state += UINT64_C(0x9e3779b97f4a7c15);
	x = state;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

void sp_trace_new_id(unsigned char *id, size_t size)
{
	for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
		uint64_t random = next_random() | 1;

		memcpy(id + i, &random, size - i < sizeof(random) ? size - i : sizeof(random));
	}
}

void sp_trace_context_take(sp_trace_context *out, sp_bytes header, double rate)
{
	if (header.data != NULL && sp_trace_context_parse(out, header))
		return;
	*out = (sp_trace_context){0};
	if (rate <= 0 || (double)(next_random() >> 11) * 0x1p-53 >= rate)
		return;
	out->known = out->sampled = true;
	sp_trace_new_id(out->trace_id, SP_TRACE_ID);
}
