#include "engine/ops/matrices.h"

#include "engine/ops/complex.h"

sp_status sp_matrices__prepare(const sp_prepare *prepare, sp_dtype dtype, bool half, sp_error *err)
{
	if (dtype == SP_FLOAT || dtype == SP_DOUBLE || sp_dtype_is_complex(dtype) ||
	    (half && dtype == SP_HALF))
		return SP_OK;
	return sp_prepare_unsupported(prepare, dtype, err);
}

sp_status sp_matrices__read(const sp_call *call, size_t i, sp_matrices *out)
{
	const sp_shape *shape = &call->in[i]->shape;
	char text[SP_SHAPE_TEXT_SIZE];

	if (shape->rank < 2)
		return sp_call_invalid(call, "shape %s is not one of matrices",
				       sp_shape_text(shape, text));
	out->count = (size_t)sp_shape_product(shape, 0, shape->rank - 2);
	out->rows = (size_t)shape->dims[shape->rank - 2];
	out->columns = (size_t)shape->dims[shape->rank - 1];
	return SP_OK;
}

sp_shape sp_matrices__shape(const sp_call *call, size_t rows, size_t columns)
{
	sp_shape shape = call->in[0]->shape;

	shape.dims[shape.rank - 2] = (int64_t)rows;
	shape.dims[shape.rank - 1] = (int64_t)columns;
	return shape;
}

sp_complex *sp_matrices__room(const sp_call *call, size_t rows, size_t columns)
{
	size_t size;

	if (__builtin_mul_overflow(columns, sizeof(sp_complex), &size))
		return NULL;
	return sp_call_bytes(call, rows, size);
}

sp_complex sp_matrices__get(const sp_tensor *t, size_t i)
{
	switch (t->dtype) {
	case SP_FLOAT:
		return (double)((const float *)t->data)[i];
	case SP_DOUBLE:
		return ((const double *)t->data)[i];
	case SP_HALF:
		return (double)sp_half_to_float(((const uint16_t *)t->data)[i]);
	case SP_COMPLEX64:
		return ((const float complex *)t->data)[i];
	default:
		return ((const double complex *)t->data)[i];
	}
}

void sp_matrices__put(const sp_tensor *t, size_t i, sp_complex value)
{
	switch (t->dtype) {
	case SP_FLOAT:
		((float *)t->data)[i] = (float)creal(value);
		break;
	case SP_DOUBLE:
		((double *)t->data)[i] = creal(value);
		break;
	case SP_HALF:
		((uint16_t *)t->data)[i] = sp_half_from_float((float)creal(value));
		break;
	case SP_COMPLEX64:
		((float complex *)t->data)[i] = (float complex)value;
		break;
	default:
		((double complex *)t->data)[i] = value;
	}
}

void sp_matrices__load(const sp_tensor *tensor, size_t which, size_t count, sp_complex *to)
{
	for (size_t i = 0; i < count; i++)
		to[i] = sp_matrices__get(tensor, which * count + i);
}

void sp_matrices__store(const sp_tensor *tensor, size_t which, size_t count, const sp_complex *from)
{
	for (size_t i = 0; i < count; i++)
		sp_matrices__put(tensor, which * count + i, from[i]);
}
