#ifndef SP_TOOLS_CONFIGURATION_H
#define SP_TOOLS_CONFIGURATION_H

#include "processor/config/config.h"
#include "tools/tool.h"

/*
 * The processor's configuration for commands that load as the processor does: the file PATH, or one
 * with the defaults for the SavedModel that is PATH or --model and for checkpoints that are PATH.
 * --row_format and --sessions replace what it says.
 *
 * Errors: those of sp_config_parse(); SP_INVALID with tool->wrong_usage when --model is missing or
 * --row_format is of no format.
 */
SP_MUST_CHECK sp_status sp_configuration_read(sp_config *out, sp_tool *tool, sp_error *err);

/*
 * The format of --row_format; without the flag *out stays.
 *
 * Errors: SP_INVALID with tool->wrong_usage for another word.
 */
SP_MUST_CHECK sp_status sp_configuration_row_format(sp_row_format *out, sp_tool *tool,
						    sp_error *err);

#endif
