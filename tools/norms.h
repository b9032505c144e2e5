#ifndef SP_TOOLS_NORMS_H
#define SP_TOOLS_NORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/report.h"

/*
 * L2 norms of the rows of a table; rows with NaN or infinities are counted apart.
 * All zero is the initial state.
 */
typedef struct sp_norms {
	uint64_t rows; /* finite ones */
	uint64_t not_finite;
	double least;
	double sum;
	double greatest;
} sp_norms;

/* row: float32 [dim], at any address */
void sp_norms_add(sp_norms *norms, size_t dim, const void *row);
bool sp_row_is_finite(size_t dim, const void *row);

void sp_norms_report(const sp_norms *norms, sp_report *report);

#endif
