#include "engine/ops/ops.h"

#include <string.h>

/* By opcode; NULL for those without an sp_op. */
static const sp_op *const registry[] = {
	[SP_OPCODE_NONE] = NULL,
#define SP_OP(name)          [SP_OPCODE_##name] = &sp_op_##name,
#define SP_OP_INTERNAL(name) [SP_OPCODE_##name] = &sp_op_##name,
#include "engine/ops/ops.inc"
#undef SP_OP
#undef SP_OP_INTERNAL
};

/* Names without an sp_op, from the first of their opcodes on. */
static const char *const rewritten[] = {
#define SP_OP(name)
#define SP_OP_REWRITTEN(name) #name,
#include "engine/ops/ops.inc"
#undef SP_OP
#undef SP_OP_REWRITTEN
};

/* The opcodes of SP_OP() are 1 ... NAMED_END - 1. */
enum {
	NAMED_END = 1
#define SP_OP(name) +1
#include "engine/ops/ops.inc"
#undef SP_OP
};

/* Those below are in the order of their names; those of front ends follow. */
enum {
	ORDERED_END = 1
#define SP_OP(name) +1
#define SP_OP_WITHOUT_FRONT_ENDS
#include "engine/ops/ops.inc"
#undef SP_OP_WITHOUT_FRONT_ENDS
#undef SP_OP
};

const sp_op *sp_op_of(sp_opcode opcode)
{
	return registry[opcode];
}

sp_opcode sp_opcode_find(const char *name)
{
	size_t first = 1, last = ORDERED_END;

	while (first < last) {
		size_t middle = first + (last - first) / 2;
		int order = strcmp(registry[middle]->name, name);

		if (order == 0)
			return (sp_opcode)middle;
		if (order < 0)
			first = middle + 1;
		else
			last = middle;
	}
	for (size_t i = ORDERED_END; i < NAMED_END; i++)
		if (strcmp(registry[i]->name, name) == 0)
			return (sp_opcode)i;
	for (size_t i = 0; i < sizeof(rewritten) / sizeof(rewritten[0]); i++)
		if (strcmp(rewritten[i], name) == 0)
			return (sp_opcode)(NAMED_END + i);
	return SP_OPCODE_NONE;
}

const sp_op *sp_op_find(const char *name)
{
	return sp_op_of(sp_opcode_find(name));
}

void sp_node_set_op(sp_node *node, sp_opcode opcode)
{
	node->opcode = opcode;
	node->op = sp_op_of(opcode);
	node->op_name = node->op->name;
}
