#include "tools/norms.h"

#include <math.h>
#include <string.h>

/* Infinite or NaN if any element is; squares of finite floats cannot overflow a double. */
static double square_of(size_t dim, const void *row)
{
	double sum = 0.0;

	for (size_t d = 0; d < dim; d++) {
		float element;

		memcpy(&element, (const char *)row + d * sizeof(element), sizeof(element));
		sum += (double)element * element;
	}
	return sum;
}

bool sp_row_is_finite(size_t dim, const void *row)
{
	return isfinite(square_of(dim, row));
}

void sp_norms_add(sp_norms *norms, size_t dim, const void *row)
{
	double square = square_of(dim, row), norm = sqrt(square);

	if (!isfinite(square)) {
		norms->not_finite++;
		return;
	}
	if (norms->rows == 0 || norm < norms->least)
		norms->least = norm;
	if (norms->rows == 0 || norm > norms->greatest)
		norms->greatest = norm;
	norms->sum += norm;
	norms->rows++;
}

void sp_norms_report(const sp_norms *norms, sp_report *report)
{
	if (norms->not_finite != 0)
		sp_report_u64(report, "rows_with_nan_or_infinity", norms->not_finite);
	if (norms->rows == 0)
		return;
	sp_report_open_brief(report, "l2_norm");
	sp_report_f32(report, "min", (float)norms->least);
	sp_report_f32(report, "mean", (float)(norms->sum / (double)norms->rows));
	sp_report_f32(report, "max", (float)norms->greatest);
	sp_report_close(report);
}
