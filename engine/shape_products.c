#include "engine/static_shapes_internal.h"

#include <string.h>

typedef sp_static_shape shape;

/* ---------------------------------------------------------------- products */

void sp_shapes__matrix_product(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape a = sp_shapes__input(in, node, 0), b = sp_shapes__input(in, node, 1);
	bool left, right;

	a = sp_shapes__with_rank(in, &a, 2);
	b = sp_shapes__with_rank(in, &b, 2);
	if (a.rank != 2 || b.rank != 2)
		return;
	left = sp_shapes__attr_bool(node, "transpose_a");
	right = sp_shapes__attr_bool(node, "transpose_b");
	sp_shapes__unify(in, a.dims[left ? 0 : 1], b.dims[right ? 1 : 0]);
	out->rank = 2;
	out->dims[0] = a.dims[left ? 1 : 0];
	out->dims[1] = b.dims[right ? 0 : 1];
}

void sp_shapes__batch_product(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape a = sp_shapes__input(in, node, 0), b = sp_shapes__input(in, node, 1);
	int64_t rows, columns;
	int left, right;

	if (a.rank < 2 || b.rank < 2)
		return;
	left = sp_shapes__attr_bool(node, "adj_x") ? 1 : 2;
	right = sp_shapes__attr_bool(node, "adj_y") ? 2 : 1;
	sp_shapes__unify(in, a.dims[a.rank - 3 + left], b.dims[b.rank - 3 + right]);
	rows = a.dims[a.rank - left];
	columns = b.dims[b.rank - right];
	a.rank -= 2;
	b.rank -= 2;
	if (strcmp(node->op_name, "BatchMatMul") == 0) {
		sp_shapes__unify_all(in, &a, &b);
		*out = sp_shapes__merge(&a, &b);
	} else {
		*out = sp_shapes__broadcast(in, &a, &b);
	}
	sp_shapes__append(out, rows);
	sp_shapes__append(out, columns);
}

void sp_shapes__sparse_product(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape a = sp_shapes__from_list(in, node, 2), b = sp_shapes__input(in, node, 3);
	bool left = sp_shapes__attr_bool(node, "adjoint_a");
	bool right = sp_shapes__attr_bool(node, "adjoint_b");

	a = sp_shapes__with_rank(in, &a, 2);
	b = sp_shapes__with_rank(in, &b, 2);
	if (a.rank != 2 || b.rank != 2)
		return;
	sp_shapes__unify(in, a.dims[left ? 0 : 1], b.dims[right ? 1 : 0]);
	*out = sp_shapes__vector(a.dims[left ? 1 : 0]);
	sp_shapes__append(out, b.dims[right ? 0 : 1]);
}

/* --------------------------------------------------------------- equations */

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
	e->dims[label] = e->met[label] ? sp_shapes__merge_dims(e->in, e->dims[label], dim) : dim;
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

static void write_term(const equation *e, sp_bytes term, shape *out)
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
		if (!sp_shapes__is_known(&e->dots, out))
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
	write_term(&e, output, out);
}
