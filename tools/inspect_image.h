#ifndef SP_TOOLS_INSPECT_IMAGE_H
#define SP_TOOLS_INSPECT_IMAGE_H

#include "tools/tool.h"

/* `inspect` of an image: identity, tables, and norms unless --quick. */
SP_MUST_CHECK sp_status sp_tool_inspect_image(sp_tool *tool, sp_error *err);

#endif
