#include "tools/image_check.h"

#include "tools/progress.h"

enum { CHUNKS_AT_A_TIME = 256 };

sp_status sp_tool_check_image(sp_image *image, sp_error *err)
{
	size_t count = sp_image_chunk_count(image);
	sp_status status = SP_OK;
	sp_progress progress;

	sp_progress_start(&progress, "checking", sp_image_size(image));
	for (size_t i = 0; i < count && status == SP_OK; i += CHUNKS_AT_A_TIME) {
		size_t end = i + CHUNKS_AT_A_TIME < count ? i + CHUNKS_AT_A_TIME : count;

		status = sp_image_check(image, i, end, err);
		sp_progress_add(&progress, (end - i) * SP_IMAGE_CHUNK);
	}
	sp_progress_end(&progress);
	return status;
}
