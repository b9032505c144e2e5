#include <string.h>

#include "engine/stablehlo/translate_internal.h"

/*
 * dot_general: products of matrices with dimensions in any order.  Products of two matrices become
 * MatMul, which may be fused into a layer with packed weights; those in the layout of BatchMatMulV2
 * become one; all others become an Einsum.
 *
 * fft: TensorFlow's operators on the last dimensions.
 *
 * Operands of another type than the result (int8 by int8 to int32) are converted first, which is as
 * exact as XLA's products.
 */

typedef struct product {
	int64_t batch[2][SP_MAX_RANK];
	int64_t inner[2][SP_MAX_RANK];
	size_t batch_count;
	size_t inner_count;
	const sp_vhlo_type *type[2];
	const char *ref[2];
	sp_dtype dtype;
} product;

static sp_status read_lists(sp_hlo *hlo, const sp_mlir_op *op, product *p)
{
	static const char *const names[2][2] = {
		{"lhs_batching_dimensions", "lhs_contracting_dimensions"},
		{"rhs_batching_dimensions", "rhs_contracting_dimensions"}};
	size_t batch[2], inner[2];

	for (int side = 0; side < 2; side++) {
		SP_TRY(sp_vhlo_ints(&hlo->module, op, names[side][0], p->batch[side], SP_MAX_RANK,
				    &batch[side], hlo->err));
		SP_TRY(sp_vhlo_ints(&hlo->module, op, names[side][1], p->inner[side], SP_MAX_RANK,
				    &inner[side], hlo->err));
	}
	p->batch_count = batch[0];
	p->inner_count = inner[0];
	return batch[0] == batch[1] && inner[0] == inner[1]
		       ? SP_OK
		       : sp_hlo__refuse(hlo, op, "its operands have different dimensions");
}

/* Whether all dimensions are in range and distinct. */
static bool are_distinct(const product *p, int side)
{
	bool seen[SP_MAX_RANK] = {false};

	for (size_t i = 0; i < p->batch_count + p->inner_count; i++) {
		int64_t d = i < p->batch_count ? p->batch[side][i]
					       : p->inner[side][i - p->batch_count];

		if (d < 0 || d >= p->type[side]->rank || seen[d])
			return false;
		seen[d] = true;
	}
	return true;
}

/* ------------------------------------------------------------ matrix products */

static const char *matmul(sp_hlo_body *body, const product *p)
{
	int64_t end = (int64_t)p->batch_count + 1;
	bool last[2] = {p->inner[0][0] == end, p->inner[1][0] == end};
	bool is_batch = p->batch_count != 0;
	sp_hlo_node node;

	SP_HLO_BEGIN(body, &node, is_batch ? "BatchMatMulV2" : "MatMul", p->dtype, p->ref[0],
		     p->ref[1]);
	sp_hlo__bool(&node, is_batch ? "adj_x" : "transpose_a", !last[0]);
	sp_hlo__bool(&node, is_batch ? "adj_y" : "transpose_b", last[1]);
	return sp_hlo__write(body, &node);
}

/*
 * Whether exactly one dimension besides the leading batch dimensions is kept and one is contracted.
 */
static bool is_matmul(const product *p)
{
	if (p->inner_count != 1)
		return false;
	for (int side = 0; side < 2; side++) {
		if (p->type[side]->rank != (int32_t)p->batch_count + 2)
			return false;
		for (size_t i = 0; i < p->batch_count; i++)
			if (p->batch[side][i] != (int64_t)i)
				return false;
	}
	return true;
}

/* ------------------------------------------------------------------ einsum */

static void label(const product *p, int side, char *labels, char *next, char *free, size_t *frees)
{
	memset(labels, 0, SP_MAX_RANK + 1);
	for (size_t i = 0; i < p->batch_count; i++)
		labels[p->batch[side][i]] = (char)('a' + i);
	for (size_t i = 0; i < p->inner_count; i++)
		labels[p->inner[side][i]] = (char)('a' + p->batch_count + i);
	for (int32_t i = 0; i < p->type[side]->rank; i++)
		if (labels[i] == 0)
			free[(*frees)++] = labels[i] = (*next)++;
}

static const char *einsum(sp_hlo_body *body, const product *p)
{
	char labels[2][SP_MAX_RANK + 1], batch[SP_MAX_RANK + 1] = "",
							     free[2 * SP_MAX_RANK + 1] = "";
	char next = (char)('a' + p->batch_count + p->inner_count);
	size_t frees = 0;
	const char *equation;
	sp_hlo_node node;

	for (size_t i = 0; i < p->batch_count; i++)
		batch[i] = (char)('a' + i);
	label(p, 0, labels[0], &next, free, &frees);
	label(p, 1, labels[1], &next, free, &frees);
	equation = sp_arena_printf(body->hlo->arena, "%s,%s->%s%s", labels[0], labels[1], batch,
				   free);
	if (equation == NULL)
		return sp_hlo__no_memory(body->hlo);
	sp_hlo__begin(body, &node, "Einsum", 2);
	sp_hlo__input(&node, p->ref[0]);
	sp_hlo__input(&node, p->ref[1]);
	sp_hlo__text(&node, "equation", sp_bytes_of(equation));
	sp_hlo__int(&node, "N", 2);
	sp_hlo__type(&node, "T", p->dtype);
	return sp_hlo__write(body, &node);
}

/* The product of dimensions; 0 when one is unknown or the product is too large. */
static int64_t known_product(const sp_vhlo_type *type, int32_t first, int32_t last)
{
	int64_t size = 1;

	for (int32_t i = first; i < last; i++)
		if (type->dims[i] <= 0 || __builtin_mul_overflow(size, type->dims[i], &size))
			return 0;
	return size;
}

/* Whether the contracted dimensions are consecutive from `first` on. */
static bool are_contracted_from(const product *p, int side, int32_t first)
{
	for (size_t i = 0; i < p->inner_count; i++)
		if (p->inner[side][i] != first + (int64_t)i)
			return false;
	return true;
}

/*
 * A product of rows, whose last dimensions are contracted, with constant weights, whose first or
 * last dimensions are: becomes a product of two matrices, the second of which can be packed.  NULL
 * for other products.
 */
static const char *rows_times_weights(sp_hlo_body *body, product *p, const sp_vhlo_type *result)
{
	int32_t inner = (int32_t)p->inner_count, left = p->type[0]->rank - inner;
	int32_t right = p->type[1]->rank - inner, unknown = 0;
	int64_t summed = known_product(p->type[0], left, p->type[0]->rank);
	int64_t all = known_product(p->type[1], 0, p->type[1]->rank);
	bool leads = are_contracted_from(p, 1, 0);
	const char *rows;

	for (int32_t i = 0; i < result->rank; i++)
		unknown += result->dims[i] < 0;
	if (p->batch_count != 0 || inner == 0 || left == 0 || right == 0 || unknown > 1 ||
	    summed == 0 || all == 0 || !are_contracted_from(p, 0, left) ||
	    (!leads && !are_contracted_from(p, 1, right)))
		return NULL;
	for (int32_t i = 0; i < result->rank; i++)
		if (result->dims[i] == 0)
			return NULL;
	if (p->type[0]->rank != 2)
		p->ref[0] = sp_hlo__reshape(body, p->ref[0], (int64_t[]){-1, summed}, 2, p->dtype);
	if (p->type[1]->rank != 2)
		p->ref[1] = sp_hlo__reshape(body, p->ref[1],
					    leads ? (int64_t[]){summed, all / summed}
						  : (int64_t[]){all / summed, summed},
					    2, p->dtype);
	p->inner[0][0] = 1;
	p->inner[1][0] = leads ? 0 : 1;
	rows = matmul(body, p);
	return result->rank == 2
		       ? rows
		       : sp_hlo__reshape(body, rows, result->dims, result->rank, p->dtype);
}

sp_status sp_hlo__do_dot_general(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->first_result);
	product p = {.batch_count = 0};
	const char *rows;

	for (int side = 0; side < 2; side++)
		p.type[side] = sp_hlo__value_type(hlo, op->operands[side]);
	if (hlo->status != SP_OK)
		return hlo->status;
	SP_TRY(read_lists(hlo, op, &p));
	if (!are_distinct(&p, 0) || !are_distinct(&p, 1))
		return sp_hlo__refuse(hlo, op, "its dimensions are wrong");
	p.dtype = type->dtype;
	/* Small integers are multiplied as int32, whose low bits are the result. */
	if (sp_dtype_is_integer(p.dtype) && p.dtype != SP_INT64)
		p.dtype = SP_INT32;
	/* Half and bfloat16: only the sum is rounded. */
	if (p.dtype == SP_HALF || p.dtype == SP_BFLOAT16)
		p.dtype = SP_FLOAT;
	if (type->dtype == SP_BOOL || type->dtype == SP_UINT32 || type->dtype == SP_UINT64)
		return sp_hlo__refuse(hlo, op, "its type");
	for (int side = 0; side < 2; side++)
		p.ref[side] = sp_hlo__cast(body, sp_hlo__all(body, op->operands[side]),
					   p.type[side]->dtype, p.dtype);
	rows = is_matmul(&p) ? matmul(body, &p) : rows_times_weights(body, &p, type);
	if (rows == NULL)
		rows = einsum(body, &p);
	return sp_hlo__give(body, op, 0, sp_hlo__cast(body, rows, p.dtype, type->dtype));
}

/* --------------------------------------------------------------------- fft */

sp_status sp_hlo__do_fft(sp_hlo_body *body, const sp_mlir_op *op)
{
	enum { REAL = 2, INVERSE_REAL = 3 };
	sp_hlo *hlo = body->hlo;
	sp_dtype from = sp_hlo__value_type(hlo, op->operands[0])->dtype;
	sp_dtype to = sp_hlo__value_type(hlo, op->first_result)->dtype;
	int64_t length[3];
	uint64_t kind;
	size_t count;
	sp_hlo_node node;

	SP_TRY(sp_vhlo_enum(&hlo->module, op, "fft_type", &kind, hlo->err));
	SP_TRY(sp_vhlo_ints(&hlo->module, op, "fft_length", length, 3, &count, hlo->err));
	if ((kind != REAL && kind != INVERSE_REAL) || count != 1)
		return sp_hlo__refuse(hlo, op, "complex or of several dimensions");
	sp_hlo__begin(body, &node, kind == REAL ? "RFFT" : "IRFFT", 2);
	sp_hlo__input(&node, sp_hlo__all(body, op->operands[0]));
	sp_hlo__input(&node, sp_hlo__ints(body, length, count));
	sp_hlo__type(&node, "Treal", kind == REAL ? from : to);
	sp_hlo__type(&node, "Tcomplex", kind == REAL ? to : from);
	return sp_hlo__give(body, op, 0, sp_hlo__write(body, &node));
}
