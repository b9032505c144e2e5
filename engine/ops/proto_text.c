#include "engine/ops/proto_text.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/ops/proto_token.h"
#include "engine/ops/proto_tree.h"

/*
 * One loop over fields; the messages that are open are a chain of parents, and what is
 * skipped has a stack of its own, so a text that nests deeply costs memory, not stack.
 */
typedef struct parser {
	const sp_call *call;
	sp_bytes rest;
	sp_proto_token now;
	sp_proto_tree tree;
	sp_proto_tree_message *message; /* the innermost that is open */
	size_t size;                    /* of the whole text */
	char *name;                     /* [size], once a name has several tokens */
	size_t name_size;
	char *number; /* [size + SP_PROTO_TOKEN_ROOM], once a number is long */
	char *ends;   /* [size], once something is skipped: what ends it */
	sp_status status;
} parser;

/* --------------------------------------------------------------------- tokens */

static void advance(parser *p)
{
	p->now = sp_proto_token_next(&p->rest);
}

static bool is_at(const parser *p, char symbol)
{
	return p->now.kind == SP_PROTO_TOKEN_SYMBOL && p->now.text.data[0] == symbol;
}

static bool take(parser *p, char symbol)
{
	if (!is_at(p, symbol))
		return false;
	advance(p);
	return true;
}

static bool is_kind(const parser *p, sp_proto_token_kind kind)
{
	return p->now.kind == kind;
}

static bool take_separator(parser *p)
{
	return take(p, ';') || take(p, ',');
}

/* '{' or '<'; *end is what ends it. */
static bool take_opening(parser *p, char *end)
{
	*end = is_at(p, '<') ? '>' : '}';
	return take(p, '<') || take(p, '{');
}

static bool no_memory(parser *p)
{
	p->status = sp_call_no_memory(p->call);
	return false;
}

static bool make_room(parser *p, char **room, size_t more)
{
	if (*room == NULL)
		*room = sp_call_bytes(p->call, p->size + more, 1);
	return *room != NULL || no_memory(p);
}

/* Identifiers with symbols out of `between` among them, appended to the name. */
static bool take_name(parser *p, const char *between)
{
	if (!make_room(p, &p->name, 0))
		return false;
	for (;;) {
		if (!is_kind(p, SP_PROTO_TOKEN_IDENTIFIER))
			return false;
		memcpy(p->name + p->name_size, p->now.text.data, p->now.text.size);
		p->name_size += p->now.text.size;
		advance(p);
		if (!is_kind(p, SP_PROTO_TOKEN_SYMBOL) ||
		    strchr(between, p->now.text.data[0]) == NULL)
			return true;
		p->name[p->name_size++] = p->now.text.data[0];
		advance(p);
	}
}

/* ------------------------------------------------------------------- skipping */

/* A value that is no text, message or list. */
static bool skip_scalar(parser *p)
{
	bool is_negative = take(p, '-');

	if (is_kind(p, SP_PROTO_TOKEN_IDENTIFIER)) {
		if (is_negative && !sp_bytes_is_word(p->now.text, "inf") &&
		    !sp_bytes_is_word(p->now.text, "infinity") &&
		    !sp_bytes_is_word(p->now.text, "nan"))
			return false;
	} else if (!is_kind(p, SP_PROTO_TOKEN_INTEGER) && !is_kind(p, SP_PROTO_TOKEN_REAL)) {
		return false;
	}
	advance(p);
	return true;
}

/* A value, or the beginning of one, whose end goes on the stack. */
static bool skip_value(parser *p, size_t *depth, bool is_message)
{
	char end;

	if (is_message || is_at(p, '{') || is_at(p, '<')) {
		if (!take_opening(p, &end))
			return false;
		p->ends[(*depth)++] = end;
		return true;
	}
	if (is_kind(p, SP_PROTO_TOKEN_TEXT)) {
		while (is_kind(p, SP_PROTO_TOKEN_TEXT))
			advance(p);
		return true;
	}
	if (!take(p, '['))
		return skip_scalar(p);
	p->ends[(*depth)++] = ']';
	return true;
}

static bool skip_name(parser *p)
{
	p->name_size = 0;
	if (take(p, '['))
		return take_name(p, "./") && take(p, ']');
	if (!is_kind(p, SP_PROTO_TOKEN_IDENTIFIER))
		return false;
	advance(p);
	return true;
}

/* What stands behind a field's name: without a ':' it is a message. */
static bool skip(parser *p)
{
	enum { A_VALUE, A_FIELD, BEHIND } next = A_VALUE;
	bool is_message = !take(p, ':');
	size_t depth = 0, before;

	if (!make_room(p, &p->ends, 0))
		return false;
	while (next != BEHIND || depth != 0) {
		char end = depth != 0 ? p->ends[depth - 1] : '\0';

		if (next == A_VALUE) {
			before = depth;
			if (!skip_value(p, &depth, is_message))
				return false;
			is_message = false;
			next = depth == before             ? BEHIND
			       : p->ends[depth - 1] == ']' ? A_VALUE
							   : A_FIELD;
		} else if (next == A_FIELD && (is_at(p, '>') || is_at(p, '}'))) {
			if (!take(p, end))
				return false;
			depth--;
			next = BEHIND;
		} else if (next == A_FIELD) {
			if (!skip_name(p))
				return false;
			is_message = !take(p, ':');
			next = A_VALUE;
		} else if (end != ']') {
			take_separator(p);
			next = A_FIELD;
		} else if (take(p, ']')) {
			depth--;
		} else if (take(p, ',')) {
			next = A_VALUE;
		} else {
			return false;
		}
	}
	return true;
}

/* --------------------------------------------------------------------- values */

static bool read_unsigned(parser *p, uint64_t most, uint64_t *out)
{
	if (!is_kind(p, SP_PROTO_TOKEN_INTEGER) || !sp_proto_token_integer(p->now.text, most, out))
		return false;
	advance(p);
	return true;
}

/* -most - 1 ... most */
static bool read_signed(parser *p, uint64_t most, uint64_t *out)
{
	bool is_negative = take(p, '-');

	if (!read_unsigned(p, most + is_negative, out))
		return false;
	if (is_negative)
		*out = 0 - *out;
	return true;
}

static bool read_digits(parser *p, double *out)
{
	char narrow[64 + SP_PROTO_TOKEN_ROOM], *scratch = narrow;

	if (is_kind(p, SP_PROTO_TOKEN_INTEGER) ? !sp_proto_token_is_decimal(p->now.text)
					       : !is_kind(p, SP_PROTO_TOKEN_REAL))
		return false;
	if (p->now.text.size > 64) {
		if (!make_room(p, &p->number, SP_PROTO_TOKEN_ROOM))
			return false;
		scratch = p->number;
	}
	*out = sp_proto_token_real(p->now.text, scratch);
	return true;
}

static bool read_real(parser *p, double *out)
{
	bool is_negative = take(p, '-');

	if (is_kind(p, SP_PROTO_TOKEN_IDENTIFIER)) {
		if (sp_bytes_is_word(p->now.text, "inf") ||
		    sp_bytes_is_word(p->now.text, "infinity"))
			*out = INFINITY;
		else if (sp_bytes_is_word(p->now.text, "nan"))
			*out = NAN;
		else
			return false;
	} else if (!read_digits(p, out)) {
		return false;
	}
	advance(p);
	if (is_negative)
		*out = -*out;
	return true;
}

/*
 * What is a little more than the largest float is that one, as it is printed rounded up.
 * Below the first bound a float, its exponent unbounded, would be rounded to a subnormal one.
 */
static float narrow_real(double value)
{
	if (fabs(value) < 0x1p-126 - 0x1p-151)
		return copysignf(0, (float)value);
	if (fabs(value) > FLT_MAX && fabs(value) <= 3.4028235677973366e+38)
		return copysignf(FLT_MAX, (float)value);
	return (float)value;
}

static bool read_number(parser *p, const sp_proto_part *part, uint64_t *out)
{
	double real;
	float narrow;

	*out = 0;
	switch (part->type) {
	case SP_PROTO_UINT32:
	case SP_PROTO_FIXED32:
		return read_unsigned(p, UINT32_MAX, out);
	case SP_PROTO_UINT64:
	case SP_PROTO_FIXED64:
		return read_unsigned(p, UINT64_MAX, out);
	case SP_PROTO_INT64:
	case SP_PROTO_SINT64:
	case SP_PROTO_SFIXED64:
		return read_signed(p, INT64_MAX, out);
	case SP_PROTO_DOUBLE:
		if (!read_real(p, &real))
			return false;
		memcpy(out, &real, sizeof(real));
		return true;
	case SP_PROTO_FLOAT:
		if (!read_real(p, &real))
			return false;
		narrow = narrow_real(real);
		memcpy(out, &narrow, sizeof(narrow));
		return true;
	default:
		return read_signed(p, INT32_MAX, out);
	}
}

static bool read_bool(parser *p, uint64_t *out)
{
	static const char *const words[] = {"false", "False", "f", "true", "True", "t"};

	if (is_kind(p, SP_PROTO_TOKEN_INTEGER))
		return read_unsigned(p, 1, out);
	for (size_t i = 0; is_kind(p, SP_PROTO_TOKEN_IDENTIFIER) && i < 6; i++)
		if (sp_bytes_equal_text(p->now.text, words[i])) {
			*out = i >= 3;
			advance(p);
			return true;
		}
	return false;
}

static bool read_enum(parser *p, const sp_proto_part *part, uint64_t *out)
{
	const sp_proto_enum *e = part->enumeration;

	if (is_kind(p, SP_PROTO_TOKEN_IDENTIFIER)) {
		if (!sp_map_get(&e->by_name, p->now.text, out))
			return false;
		*out = (uint64_t)(int32_t)(uint32_t)*out;
		advance(p);
		return true;
	}
	return read_signed(p, INT32_MAX, out) &&
	       (!part->is_closed || sp_proto_enum_has(e, (int32_t)*out));
}

/* One text or several. */
static bool read_text(parser *p, const sp_proto_part *part)
{
	size_t size = 0;

	if (!is_kind(p, SP_PROTO_TOKEN_TEXT))
		return false;
	for (; is_kind(p, SP_PROTO_TOKEN_TEXT); advance(p)) {
		char *to = sp_proto_tree_text_room(&p->tree, size, p->now.text.size);

		if (to == NULL)
			return false;
		size += sp_proto_token_unquote(p->now.text, to);
	}
	return sp_proto_tree_add_text(&p->tree, p->message, part, size);
}

static bool read_scalar(parser *p, const sp_proto_part *part)
{
	uint64_t number = 0;
	bool good;

	if (part->type == SP_PROTO_STRING || part->type == SP_PROTO_BYTES)
		return read_text(p, part);
	good = part->type == SP_PROTO_BOOL   ? read_bool(p, &number)
	       : part->type == SP_PROTO_ENUM ? read_enum(p, part, &number)
					     : read_number(p, part, &number);
	return good && sp_proto_tree_add_number(&p->tree, p->message, part, number);
}

static bool read_list(parser *p, const sp_proto_part *part)
{
	do
		if (!read_scalar(p, part))
			return false;
	while (take(p, ','));
	return take(p, ']');
}

/* ------------------------------------------------------------------- messages */

static bool open_message(parser *p, const sp_proto_part *part, const sp_proto_layout *layout,
			 bool is_listed)
{
	sp_proto_tree_message *made;
	char end;

	if (!take_opening(p, &end))
		return false;
	made = sp_proto_tree_add_message(&p->tree, p->message, part, layout);
	if (made == NULL)
		return false;
	made->end = end;
	made->is_listed = is_listed;
	p->message = made;
	return true;
}

/* Behind the '[': the type's address, then a message of it, which becomes the Any's bytes. */
static bool open_any(parser *p)
{
	const sp_proto_layout *any = p->message->layout;
	const sp_proto_part *url = sp_proto_layout_find(any, 1);
	size_t host;
	uint64_t found;
	char *to;

	p->name_size = 0;
	if (!take_name(p, ".") || !take(p, '/'))
		return false;
	p->name[p->name_size++] = '/';
	host = p->name_size;
	if (!take_name(p, ".") || !take(p, ']'))
		return false;
	if (!sp_bytes_equal_text((sp_bytes){p->name, host}, "type.googleapis.com/") &&
	    !sp_bytes_equal_text((sp_bytes){p->name, host}, "type.googleprod.com/"))
		return false;
	if (!sp_map_get(any->in_any, (sp_bytes){p->name + host, p->name_size - host}, &found))
		return false;
	take(p, ':');
	to = sp_proto_tree_text_room(&p->tree, 0, p->name_size);
	if (to == NULL)
		return false;
	memcpy(to, p->name, p->name_size);
	return sp_proto_tree_add_text(&p->tree, p->message, url, p->name_size) &&
	       open_message(p, sp_proto_layout_find(any, 2),
			    (const sp_proto_layout *)(uintptr_t)found, false);
}

/* What stands behind a field's name. */
static bool read_field(parser *p, const sp_proto_part *part)
{
	if (!take(p, ':') && part->message == NULL)
		return false;
	if (!part->is_repeated || !take(p, '[')) {
		if (part->message != NULL)
			return open_message(p, part, part->message, false);
		if (!read_scalar(p, part))
			return false;
	} else if (!take(p, ']')) {
		if (part->message != NULL)
			return open_message(p, part, part->message, true);
		if (!read_list(p, part))
			return false;
	}
	take_separator(p);
	return true;
}

static bool read_extension(parser *p)
{
	const sp_proto_layout *layout = p->message->layout;
	uint64_t i;

	p->name_size = 0;
	return take_name(p, ".") && take(p, ']') &&
	       sp_map_get(&layout->extensions, (sp_bytes){p->name, p->name_size}, &i) &&
	       read_field(p, &layout->parts[i]);
}

static bool read_any_field(parser *p)
{
	const sp_proto_layout *layout = p->message->layout;
	uint64_t i;

	if (take(p, '['))
		return layout->in_any != NULL ? open_any(p) : read_extension(p);
	if (!is_kind(p, SP_PROTO_TOKEN_IDENTIFIER) ||
	    !sp_map_get(&layout->by_name, p->now.text, &i))
		return false;
	advance(p);
	return i == SP_PROTO_RESERVED ? skip(p) : read_field(p, &layout->parts[i]);
}

/* The end of a message, and what may stand behind it. */
static bool close_message(parser *p)
{
	sp_proto_tree_message *message = p->message;
	const sp_proto_part *part = message->part;

	if (!take(p, message->end) || !sp_proto_tree_close(&p->tree, message))
		return false;
	p->message = message->parent;
	if (message->is_listed && take(p, ','))
		return open_message(p, part, part->message, true);
	if (message->is_listed && !take(p, ']'))
		return false;
	if (part->message != NULL) /* no Any */
		take_separator(p);
	return true;
}

static bool read_message(parser *p, const sp_proto_layout *layout, sp_bytes *out)
{
	sp_proto_tree_message *root = sp_proto_tree_add_message(&p->tree, NULL, NULL, layout);

	p->message = root;
	if (root == NULL)
		return false;
	advance(p);
	while (p->message != root || !is_kind(p, SP_PROTO_TOKEN_END))
		if (p->message != root && (is_at(p, '>') || is_at(p, '}')) ? !close_message(p)
									   : !read_any_field(p))
			return false;
	return sp_proto_tree_close(&p->tree, root) && sp_proto_tree_write(&p->tree, root, out);
}

sp_status sp_proto_text_read(const sp_call *call, const sp_proto_layout *layout, sp_bytes text,
			     sp_bytes *out, bool *good)
{
	parser p = {.call = call, .rest = text, .size = text.size, .status = SP_OK};

	*out = (sp_bytes){"", 0};
	sp_proto_tree_open(&p.tree, call);
	*good = read_message(&p, layout, out);
	return p.status != SP_OK ? p.status : p.tree.status;
}
