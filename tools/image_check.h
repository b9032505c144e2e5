#ifndef SP_TOOLS_IMAGE_CHECK_H
#define SP_TOOLS_IMAGE_CHECK_H

#include "base/status.h"
#include "storage/image/image.h"

/*
 * Reads all of an image and compares it with its checksums, so that every row visited
 * afterwards is intact.  SP_CORRUPT or SP_IO otherwise.
 */
SP_MUST_CHECK sp_status sp_tool_check_image(sp_image *image, sp_error *err);

#endif
