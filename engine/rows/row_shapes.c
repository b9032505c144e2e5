#include "engine/rows/row_fact.h"

#include "base/size.h"

/* Shapes, and numbers that follow from them. */

static bool no_rows(const sp_row_number *numbers, int first, int count)
{
	for (int i = first; i < count; i++)
		if (numbers[i].by_rows)
			return false;
	return true;
}

/* The product of numbers `first` and following, but for one that is -1; ANY: not known. */
static int64_t product_of(const sp_row_number *numbers, int first, int count)
{
	sp_row_number product = sp_row_known(1);

	for (int i = first; i < count; i++)
		if (numbers[i].factor != -1 && !sp_row_multiply(&product, numbers[i]))
			return SP_ROW_ANY;
	return product.factor;
}

/* -------------------------------------------------------------------- Reshape */

/*
 * All elements of a row are together.  A target that begins with a multiple of R keeps them so; one
 * that begins with -1 if its other dimensions divide the elements of a row.
 */
static void reshape_rows(sp_row_step *step, const sp_row_number *target, int rank)
{
	const sp_row_fact *in = step->in[0];
	int64_t row = product_of(in->dims, 0, in->rank), rest = product_of(target, 1, rank);
	bool known = row != SP_ROW_ANY && rest != SP_ROW_ANY;
	sp_row_fact out = {.kind = SP_ROW_ROWS, .rank = rank};

	if (rank == 0 || !no_rows(target, 1, rank) || rest == 0)
		return;
	for (int d = 0; d < rank; d++)
		out.dims[d] = target[d];
	if (target[0].by_rows) {
		int64_t fixed = product_of(target, 0, rank);

		if (fixed == 0)
			return;
		row = known && fixed != SP_ROW_ANY ? row / fixed : SP_ROW_ANY;
		for (int d = 1; d < rank; d++)
			if (out.dims[d].factor == -1)
				out.dims[d] = sp_row_known(row);
	} else if (target[0].factor == -1 && known && row % rest == 0) {
		out.dims[0] = sp_row_rows(row / rest);
	} else if (target[0].factor == -1) {
		out.kind = SP_ROW_SEQUENCE;
		out.dims[0] = sp_row_known(SP_ROW_ANY);
	} else {
		return;
	}
	step->out[0] = out;
}

static void make_positions(sp_row_step *step)
{
	step->out[0] = *step->in[0];
	step->out[0].kind = SP_ROW_POSITIONS;
	step->out[0].rank = 1;
}

void sp_row__reshape(sp_row_step *step)
{
	const sp_row_fact *in = step->in[0];
	sp_row_number target[SP_MAX_RANK];
	int rank;

	if (!sp_row_numbers(step->in[1], target, &rank) || rank == 0)
		return;
	if (in->kind == SP_ROW_ROWS) {
		reshape_rows(step, target, rank);
		return;
	}
	if (target[0].by_rows || target[0].factor != -1)
		return;
	if (in->kind == SP_ROW_INDICES && rank == 1 && sp_row_is(in->dims[1], 1, false)) {
		make_positions(step);
	} else if (in->kind == SP_ROW_ENTRIES && no_rows(target, 1, rank) &&
		   product_of(target, 1, rank) != SP_ROW_ANY &&
		   product_of(target, 1, rank) == product_of(in->dims, 1, in->rank)) {
		step->out[0] = *in;
		step->out[0].rank = rank;
		for (int d = 1; d < rank; d++)
			step->out[0].dims[d] = target[d];
	}
}

/* ----------------------------------------------------------- other dimensions */

void sp_row__expand_dims(sp_row_step *step)
{
	const sp_row_fact *in = step->in[0];
	int64_t axis = sp_row_scalar(step->in[1], INT64_MAX);
	sp_row_fact out = *in;

	axis += axis < 0 ? in->rank + 1 : 0;
	if (axis < 0 || axis > in->rank || in->rank == SP_MAX_RANK ||
	    (in->kind != SP_ROW_FIXED && (!sp_row_has_lead(in) || axis == 0)))
		return;
	out.value = NULL;
	out.rank = (int)axis;
	out.dims[out.rank++] = sp_row_known(1);
	if (sp_row_append(&out, in, (int)axis))
		step->out[0] = out;
}

void sp_row__squeeze(sp_row_step *step)
{
	const sp_row_fact *in = step->in[0];
	const sp_attr *list;
	bool gone[SP_MAX_RANK] = {false};
	sp_row_fact out = *in;

	if (sp_node_attr_list(step->node, "squeeze_dims", SP_ATTR_INT, &list, NULL) != SP_OK)
		return;
	for (size_t i = 0; i < list->count; i++) {
		int axis = sp_row_axis(list->i_list[i], in->rank);

		if (axis == 0)
			return;
		gone[axis] = true;
	}
	if (in->kind == SP_ROW_INDICES && gone[1]) {
		make_positions(step);
		return;
	}
	if (!sp_row_has_lead(in) || (list->count == 0 && in->kind != SP_ROW_ROWS))
		return;
	out.rank = 0;
	for (int d = 0; d < in->rank; d++) {
		if (list->count == 0 && in->dims[d].factor == SP_ROW_ANY)
			return;
		if (list->count == 0 ? !sp_row_is(in->dims[d], 1, false) : !gone[d])
			out.dims[out.rank++] = in->dims[d];
	}
	step->out[0] = out;
}

void sp_row__transpose(sp_row_step *step)
{
	const sp_row_fact *in = step->in[0];
	sp_row_number axes[SP_MAX_RANK];
	int count;

	if (!sp_row_has_lead(in) || step->in[1]->kind != SP_ROW_FIXED ||
	    !sp_row_numbers(step->in[1], axes, &count) || count != in->rank || axes[0].factor != 0)
		return;
	step->out[0] = *in;
	for (int d = 1; d < count; d++) {
		int axis = sp_row_axis(axes[d].factor, in->rank);

		if (axis == 0)
			step->out[0].kind = SP_ROW_UNKNOWN;
		step->out[0].dims[d] = in->dims[axis];
	}
}

void sp_row__tile(sp_row_step *step)
{
	const sp_row_fact *in = step->in[0];
	sp_row_number times[SP_MAX_RANK];
	sp_row_fact out = *in;
	int count;

	if (!sp_row_has_lead(in) || !sp_row_numbers(step->in[1], times, &count) ||
	    count != in->rank || !sp_row_is(times[0], 1, false) || !no_rows(times, 1, count))
		return;
	for (int d = 1; d < count; d++)
		if (!sp_row_multiply(&out.dims[d], times[d]))
			return;
	step->out[0] = out;
}

/* ------------------------------------------------------------------- slices */

/* Elements from `begin` to before `end` of a dimension; ANY: not known. */
static int64_t length_of(int64_t begin, int64_t end, sp_row_number dim)
{
	if (dim.factor == SP_ROW_ANY || begin < 0 || end < 0)
		return SP_ROW_ANY;
	end = end < dim.factor ? end : dim.factor;
	return begin < end ? end - begin : 0;
}

typedef struct slice_entries {
	sp_row_number begin[SP_MAX_RANK], end[SP_MAX_RANK], stride[SP_MAX_RANK];
	int count;
	int64_t begin_mask, end_mask, ellipsis, new_axis, shrink;
} slice_entries;

static bool read_entries(const sp_row_step *step, slice_entries *e)
{
	int ends, strides;

	if (!sp_row_numbers(step->in[1], e->begin, &e->count) ||
	    !sp_row_numbers(step->in[2], e->end, &ends) || ends != e->count ||
	    !sp_row_numbers(step->in[3], e->stride, &strides) || strides != e->count ||
	    !no_rows(e->begin, 0, e->count) || !no_rows(e->end, 0, e->count))
		return false;
	e->begin_mask = sp_row_attr(step->node, "begin_mask", 0);
	e->end_mask = sp_row_attr(step->node, "end_mask", 0);
	e->ellipsis = sp_row_attr(step->node, "ellipsis_mask", 0);
	e->new_axis = sp_row_attr(step->node, "new_axis_mask", 0);
	e->shrink = sp_row_attr(step->node, "shrink_axis_mask", 0);
	return true;
}

static bool has(int64_t mask, int i)
{
	return mask >> i & 1;
}

/* x[i] or x[i:j] of numbers. */
static void slice_numbers(sp_row_step *step, const slice_entries *e)
{
	const sp_row_fact *in = step->in[0];
	int64_t size = in->dims[0].factor;
	int64_t first = has(e->begin_mask, 0) ? 0 : e->begin[0].factor;
	int64_t end = has(e->end_mask, 0) ? size : e->end[0].factor;

	if (in->rank != 1 || e->count != 1 || (e->ellipsis | e->new_axis) != 0 ||
	    e->stride[0].factor != 1)
		return;
	first += first < 0 ? size : 0;
	end += end < 0 ? size : 0;
	end = end < size ? end : size;
	if (has(e->shrink, 0) && first < size)
		end = first + 1;
	if (first < 0 || first > end)
		return;
	step->out[0] = sp_row_make_numbers(in->numbers + first, (int)(end - first),
					   has(e->shrink, 0) ? 0 : 1);
}

/* Whether entry i takes the whole of its dimension. */
static bool is_whole(const slice_entries *e, int i)
{
	return has(e->begin_mask, i) && has(e->end_mask, i) && !has(e->shrink, i) &&
	       e->stride[i].factor == 1;
}

/* Dimensions that an ellipsis at entry i stands for. */
static int ellipsis_size(const slice_entries *e, int i, int rank)
{
	for (int k = 0; k < e->count; k++)
		rank -= k != i && !has(e->new_axis, k);
	return rank;
}

/* All of dimension 0, and of others some. */
static void slice_rows(sp_row_step *step, const slice_entries *e)
{
	const sp_row_fact *in = step->in[0];
	sp_row_fact out = *in;
	int d = 0;

	out.rank = 0;
	for (int i = 0; i < e->count; i++) {
		int whole = has(e->ellipsis, i) ? ellipsis_size(e, i, in->rank) : 0;

		if (!has(e->ellipsis, i) && !has(e->new_axis, i) && is_whole(e, i))
			whole = 1;
		if (d + whole > in->rank || out.rank + whole >= SP_MAX_RANK)
			return;
		for (int k = 0; k < whole; k++)
			out.dims[out.rank++] = in->dims[d++];
		if (has(e->ellipsis, i) || whole != 0)
			continue;
		if (out.rank == 0 || (d == in->rank && !has(e->new_axis, i)))
			return;
		if (has(e->new_axis, i)) {
			out.dims[out.rank++] = sp_row_known(1);
			continue;
		}
		if (!has(e->shrink, i)) {
			int64_t first = has(e->begin_mask, i) ? 0 : e->begin[i].factor;
			int64_t end = has(e->end_mask, i) ? INT64_MAX : e->end[i].factor;
			bool plain = e->stride[i].factor == 1;

			out.dims[out.rank++] = sp_row_known(
				plain ? length_of(first, end, in->dims[d]) : SP_ROW_ANY);
		}
		d++;
	}
	if (sp_row_append(&out, in, d) && out.rank > 0)
		step->out[0] = out;
}

void sp_row__strided_slice(sp_row_step *step)
{
	const sp_row_fact *in = step->in[0];
	slice_entries e;

	if (!read_entries(step, &e))
		return;
	if (in->kind == SP_ROW_NUMBERS)
		slice_numbers(step, &e);
	else if (sp_row_has_lead(in))
		slice_rows(step, &e);
	else if (in->kind == SP_ROW_INDICES && e.count == 2 && (e.ellipsis | e.new_axis) == 0 &&
		 is_whole(&e, 0) && has(e.shrink, 1) && e.begin[1].factor == 0)
		make_positions(step);
}

void sp_row__slice(sp_row_step *step)
{
	const sp_row_fact *in = step->in[0];
	sp_row_number begin[SP_MAX_RANK], size[SP_MAX_RANK];
	sp_row_fact out = *in;
	int count, sizes;

	if (!sp_row_numbers(step->in[1], begin, &count) ||
	    !sp_row_numbers(step->in[2], size, &sizes) || count != in->rank || sizes != count ||
	    count == 0 || !no_rows(begin, 0, count) || !no_rows(size, 0, count))
		return;
	if (in->kind == SP_ROW_NUMBERS) {
		int64_t first = begin[0].factor, all = in->dims[0].factor;
		int64_t length = size[0].factor == -1 ? all - first : size[0].factor;

		if (first >= 0 && first <= all && length >= 0 && length <= all - first)
			step->out[0] = sp_row_make_numbers(in->numbers + first, (int)length, 1);
		return;
	}
	if (!sp_row_has_lead(in) || begin[0].factor != 0 || size[0].factor != -1)
		return;
	for (int d = 1; d < count; d++)
		out.dims[d] = sp_row_known(
			size[d].factor == -1 ? length_of(begin[d].factor, INT64_MAX, in->dims[d])
					     : size[d].factor);
	step->out[0] = out;
}

/* ------------------------------------------------------------------- numbers */

void sp_row__shape(sp_row_step *step)
{
	for (size_t i = 0; i < step->in_count && i < step->out_count; i++)
		if (step->in[i]->kind == SP_ROW_ROWS || step->in[i]->kind == SP_ROW_FIXED)
			step->out[i] = sp_row_make_numbers(step->in[i]->dims, step->in[i]->rank, 1);
}

void sp_row__size(sp_row_step *step)
{
	sp_row_number size = sp_row_known(1);

	if (step->in[0]->kind != SP_ROW_ROWS)
		return;
	for (int d = 0; d < step->in[0]->rank; d++)
		if (!sp_row_multiply(&size, step->in[0]->dims[d]))
			return;
	step->out[0] = sp_row_make_numbers(&size, 1, 0);
}

void sp_row__fill(sp_row_step *step)
{
	sp_row_fact out = {.kind = SP_ROW_FIXED};

	if (step->in[1]->kind != SP_ROW_FIXED ||
	    !sp_row_numbers(step->in[0], out.dims, &out.rank) || !no_rows(out.dims, 1, out.rank))
		return;
	if (out.rank > 0 && out.dims[0].by_rows)
		out.kind = SP_ROW_ROWS;
	step->out[0] = out;
}

/* -------------------------------------------------------------------- joining */

/* Inputs from `first` to before `end`, one after the other, as numbers; false: they are none. */
static bool join_numbers(sp_row_step *step, size_t first, size_t end, int rank)
{
	sp_row_number numbers[SP_MAX_RANK], more[SP_MAX_RANK];
	int count = 0, added;

	for (size_t i = first; i < end; i++) {
		if (step->in[i]->rank != rank || !sp_row_numbers(step->in[i], more, &added) ||
		    count + added > SP_MAX_RANK)
			return false;
		for (int k = 0; k < added; k++)
			numbers[count++] = more[k];
	}
	step->out[0] = sp_row_make_numbers(numbers, count, 1);
	return true;
}

void sp_row__pack(sp_row_step *step)
{
	const sp_row_fact *in = step->in[0];
	int64_t number = sp_row_attr(step->node, "axis", 0);
	int axis = sp_row_axis(number, in->rank + 1);
	sp_row_fact out = *in;

	if (number == 0 && join_numbers(step, 0, step->in_count, 0))
		return;
	if (!sp_row_has_lead(in) || axis == 0 || in->rank == SP_MAX_RANK)
		return;
	for (size_t i = 1; i < step->in_count; i++) {
		const sp_row_fact *other = step->in[i];

		if (other->kind != in->kind || other->lead.set != in->lead.set ||
		    other->rank != in->rank)
			return;
		for (int d = 0; d < in->rank; d++)
			if (!sp_row_join(&out.dims[d], other->dims[d]))
				return;
	}
	out.rank = axis;
	out.dims[out.rank++] = sp_row_known((int64_t)step->in_count);
	if (sp_row_append(&out, in, axis))
		step->out[0] = out;
}

/* Adds `in` along the axis; a sequence beside rows has as many elements for each row as they. */
static bool add_along(sp_row_fact *out, const sp_row_fact *in, int axis)
{
	bool follows = in->kind == SP_ROW_SEQUENCE && out->kind == SP_ROW_ROWS;

	if ((in->kind != out->kind && !follows) || in->lead.set != out->lead.set ||
	    in->rank != out->rank)
		return false;
	for (int d = follows ? 1 : 0; d < in->rank; d++) {
		int64_t *size = &out->dims[d].factor;

		if (d != axis && !sp_row_join(&out->dims[d], in->dims[d]))
			return false;
		if (d == axis && (*size == SP_ROW_ANY || in->dims[d].factor == SP_ROW_ANY ||
				  !sp_i64_add(size, *size, in->dims[d].factor)))
			*size = SP_ROW_ANY;
	}
	return true;
}

void sp_row__concat(sp_row_step *step)
{
	bool first = step->node->opcode == SP_OPCODE_Concat;
	size_t from = first ? 1 : 0, end = step->in_count - (first ? 0 : 1), lead = from;
	int64_t number = sp_row_scalar(step->in[first ? 0 : end], INT64_MAX);
	sp_row_fact out;
	int axis;

	if (number == 0 && join_numbers(step, from, end, 1))
		return;
	for (size_t i = end; i-- > from;)
		if (step->in[i]->kind == SP_ROW_ROWS)
			lead = i;
	out = *step->in[lead];
	axis = sp_row_axis(number, out.rank);
	if (!sp_row_has_lead(&out) || axis == 0)
		return;
	for (size_t i = from; i < end; i++)
		if (i != lead && !add_along(&out, step->in[i], axis))
			return;
	step->out[0] = out;
}
