#ifndef SP_ENGINE_OPS_CONTROL_H
#define SP_ENGINE_OPS_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The prepared state of nodes that own regions (If, Case, While).  The inputs
 * (engine/graph/graph.h) are a selector or `argument_count` loop variables, then `return_count`
 * results of the regions.
 */
typedef enum sp_control_kind {
	SP_CONTROL_IF,
	SP_CONTROL_CASE,
	SP_CONTROL_WHILE, /* returns whether to go on, then what the variables become */
} sp_control_kind;

typedef struct sp_control_layout {
	sp_control_kind kind;
	uint32_t argument_count; /* of a condition 0 */
	uint32_t return_count;
	bool scalar_only; /* needs a scalar condition (_lower_using_switch_merge) */
} sp_control_layout;

#endif
