#ifndef SP_STORAGE_FORMAT_ROW_FORMAT_INTERNAL_H
#define SP_STORAGE_FORMAT_ROW_FORMAT_INTERNAL_H

#include "storage/format/row_format.h"

/* One codec for each format.  The scalar ones define the results of all others. */
extern const sp_row_codec sp_row__codecs_scalar[SP_ROW_FORMATS];
#if defined(__x86_64__)
extern const sp_row_codec sp_row__codecs_avx2[SP_ROW_FORMATS];
extern const sp_row_codec sp_row__codecs_avx512[SP_ROW_FORMATS];
#endif

#endif
