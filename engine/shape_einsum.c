#include "engine/static_shapes_internal.h"

#include <string.h>

typedef sp_static_shape shape;

/* What the labels of an equation stand for, as far as its inputs have been read. */
typedef struct equation {
	sp_shape_inference *in;
	int64_t dims[UINT8_MAX + 1];
	bool met[UINT8_MAX + 1];
	shape dots; /* what stands for "..." in the inputs, stretched to each other */
} equation;

enum { DOTS = 3 };

static int32_t labels_of(sp_bytes term)
{
	int32_t count = 0;

	for (size_t i = 0; i < term.size; i++)
		count += term.data[i] != '.';
	return count;
}

static void meet(equation *e, unsigned char label, int64_t dim)
{
	if (!e->met[label] || (e->dims[label] < 0 && dim >= 0))
		e->dims[label] = dim;
	e->met[label] = true;
}

/* The dimensions that are left for "..." from `at` on. */
static shape part_of(const shape *from, int32_t at, int32_t count)
{
	shape part = from->rank < 0 ? *from : sp_shapes__scalar();

	for (int32_t i = at; from->rank >= 0 && i < at + count; i++)
		sp_shapes__append(&part, from->dims[i]);
	return part;
}

/* False for a term that does not fit the shape. */
static bool read_term(equation *e, sp_bytes term, const shape *from)
{
	int32_t at = 0, more = from->rank < 0 ? 0 : from->rank - labels_of(term);
	shape dots = sp_shapes__scalar();

	if (more < 0 || (more > 0 && memchr(term.data, '.', term.size) == NULL))
		return false;
	for (size_t i = 0; i < term.size; i++) {
		if (term.data[i] == '.') {
			dots = part_of(from, at, more);
			at += more;
			i += DOTS - 1;
			continue;
		}
		if (from->rank >= 0 && at >= from->rank)
			return false;
		meet(e, (unsigned char)term.data[i],
		     from->rank < 0 ? sp_shapes__new_name(e->in) : from->dims[at]);
		at++;
	}
	e->dots = sp_shapes__broadcast(e->in, &e->dots, &dots);
	return true;
}

static void write_term(const equation *e, const sp_node *node, sp_bytes term, shape *out)
{
	*out = sp_shapes__scalar();
	for (size_t i = 0; i < term.size; i++) {
		unsigned char label = (unsigned char)term.data[i];

		if (label != '.') {
			if (e->met[label])
				sp_shapes__append(out, e->dims[label]);
			else
				*out = sp_shapes__unknown();
			continue;
		}
		if (!sp_shapes__is_known(e->in, node, &e->dots, out))
			return;
		for (int32_t k = 0; k < e->dots.rank; k++)
			sp_shapes__append(out, e->dots.dims[k]);
		i += DOTS - 1;
	}
}

/* The bytes up to `end`, or all there are; *rest begins behind it. */
static sp_bytes take_until(sp_bytes *rest, const char *end)
{
	size_t size = strlen(end), at = 0;
	sp_bytes taken = *rest;

	while (at + size <= rest->size && memcmp(rest->data + at, end, size) != 0)
		at++;
	if (at + size > rest->size) {
		rest->size = 0;
		return taken;
	}
	taken.size = at;
	rest->data += at + size;
	rest->size -= at + size;
	return taken;
}

void sp_shapes__einsum(sp_shape_inference *in, const sp_node *node, shape *out)
{
	equation e = {.in = in, .dots = sp_shapes__scalar()};
	sp_bytes inputs, output;

	if (sp_node_attr_bytes(node, "equation", "", &output, NULL) != SP_OK)
		return;
	inputs = take_until(&output, "->");
	for (size_t k = 0; k < node->input_count; k++) {
		shape from = sp_shapes__input(in, node, k);

		if (!read_term(&e, take_until(&inputs, ","), &from))
			return;
	}
	write_term(&e, node, output, out);
}
