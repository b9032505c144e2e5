#ifndef SP_ENGINE_OPS_LINEAR_SOLVE_H
#define SP_ENGINE_OPS_LINEAR_SOLVE_H

#include "engine/op.h"

/*
 * How square systems are solved in one kind of numbers; written once in linear_solve.inc, made
 * for float, double and double complex.
 */
typedef struct sp_solve_runs {
	sp_status (*determinant)(const sp_call *call);
	sp_status (*log_determinant)(const sp_call *call);
	sp_status (*inverse)(const sp_call *call);
	sp_status (*solve)(const sp_call *call);
	sp_status (*triangular)(const sp_call *call);
	sp_status (*cholesky)(const sp_call *call);
	sp_status (*lu)(const sp_call *call);
} sp_solve_runs;

typedef struct sp_solve_state {
	const sp_solve_runs *runs;
	bool adjoint;   /* of the matrix */
	bool lower;     /* triangle that counts */
	sp_dtype index; /* of Lu's permutation */
} sp_solve_state;

extern const sp_solve_runs sp_solve__float;
extern const sp_solve_runs sp_solve__double;  /* half, too */
extern const sp_solve_runs sp_solve__complex; /* complex64, complex128 */

#endif
