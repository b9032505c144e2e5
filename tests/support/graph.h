#ifndef SP_TESTS_SUPPORT_GRAPH_H
#define SP_TESTS_SUPPORT_GRAPH_H

#include "engine/graph_def.h"

/* A node_def by name, operator and input references; attributes are set after. */
#define NODE(NAME, OP, ...)                                                                        \
	{                                                                                          \
		.name = NAME, .op = OP, .inputs = (const char *[]){__VA_ARGS__},                   \
		.input_count = sizeof((const char *[]){"", ##__VA_ARGS__}) / sizeof(char *) - 1    \
	}

/* The same with attributes: an array of sp_attr. */
#define NODE_WITH(NAME, OP, ATTRS, ...)                                                            \
	{                                                                                          \
		.name = NAME, .op = OP, .inputs = (const char *[]){__VA_ARGS__},                   \
		.input_count = sizeof((const char *[]){"", ##__VA_ARGS__}) / sizeof(char *) - 1,   \
		.attrs = ATTRS, .attr_count = sizeof(ATTRS) / sizeof(ATTRS[0])                     \
	}

#endif
