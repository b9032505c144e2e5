#include <string.h>

#include "engine/import/import_internal.h"

/*
 * Follows references to the node that gives the value.  An argument of a function is the value that
 * the caller passes, unless it is a variable of a loop.
 */

enum { MAX_HOPS = 10000 /* more are a cycle */ };

/*
 * How many outputs come before output argument `name` of a node, by the operator's list ("y idx",
 * "values:Tdense").  0 for unknown operators and names: their nodes cannot run.
 */
static uint32_t output_offset(const sp_node_def *node, sp_bytes name)
{
	const sp_op *op = sp_op_find(node->op);
	const char *at = op != NULL ? op->outputs : NULL;
	uint64_t offset = 0;

	while (at != NULL && *at != '\0') {
		size_t size = strcspn(at, " ");
		const char *colon = memchr(at, ':', size);
		sp_bytes argument = {at, colon != NULL ? (size_t)(colon - at) : size};
		uint64_t length = 1;

		if (sp_bytes_equal(argument, name))
			return (uint32_t)(offset < UINT16_MAX ? offset : UINT16_MAX);
		if (colon != NULL) {
			char attr_name[64] = "";
			const sp_attr *attr;

			strncat(attr_name, colon + 1, size - argument.size - 1);
			attr = sp_attr_find(node->attrs, node->attr_count, attr_name);
			length = attr == NULL                 ? 0
				 : attr->kind == SP_ATTR_INT  ? (uint64_t)attr->i & UINT16_MAX
				 : attr->kind == SP_ATTR_LIST ? attr->count
							      : 0;
		}
		offset += length;
		at += size;
		at += strspn(at, " ");
	}
	return 0;
}

/* The same for a node that may be named after a function: then the outputs are the function's. */
static uint32_t argument_offset(const sp_importer *im, const sp_node_def *node, sp_bytes name)
{
	const sp_function_def *function;
	uint64_t named;

	/* The named function, even if one for CPUs is called in its place. */
	if (!sp_map_get(&im->functions, sp_bytes_of(node->op), &named))
		return output_offset(node, name);
	function = im->known[named].def;
	for (size_t i = 0; i < function->output_count; i++)
		if (sp_bytes_equal_text(name, function->outputs[i].name))
			return (uint32_t)i;
	return 0;
}

/* Argument `i` of a body: a variable of a loop, or a reference in the scope of the call. */
static sp_status follow_argument(sp_importer *im, const sp_scope *body, uint64_t i,
				 const sp_variable **variable, const char **ref)
{
	const sp_owner *owner = body->owner;
	const sp_node_def *node = &owner->in->nodes[owner->node];

	*variable = NULL;
	if (owner->variables != NULL) {
		*variable = owner->variables[i].is_constant ? NULL : &owner->variables[i];
		*ref = owner->variables[i].first;
		return SP_OK;
	}
	*ref = sp_import__data_input(node, i + owner->first_argument);
	if (*ref != NULL)
		return SP_OK;
	return sp_error_set(im->err, SP_CORRUPT, "the call '%s%s' lacks argument %llu",
			    owner->in->prefix, node->name, (unsigned long long)i);
}

/*
 * Nodes that forward another value: parts of loops, outputs of a loop whose variable is constant,
 * and a Merge with a constant condition.  For these *follows is true, and *ref is another reference
 * of the same scope, or NULL when *out has the value.
 */
static sp_status follow_node(sp_importer *im, sp_target *out, const char **ref, bool *follows)
{
	sp_scope *in = out->in;
	sp_loop_meaning meaning;
	const sp_owner *owner;

	*follows = true;
	if (in->loops != NULL && sp_import__loop_meaning(in, out->node, out->control, &meaning)) {
		out->variable = meaning.variable;
		*ref = meaning.ref;
		if (!meaning.is_output)
			return SP_OK;
		out->node = meaning.loop;
		out->port = meaning.port;
	}
	*ref = out->control || out->port != 0 ? NULL : sp_import__decided_side(in, out->node);
	if (*ref != NULL)
		return SP_OK;
	*follows = false;
	SP_TRY(sp_import__open(im, in, out->node));
	owner = in->places[out->node].owner;
	if (out->control || owner == NULL || owner->kind != SP_OWNER_WHILE ||
	    out->port >= owner->variable_count)
		return SP_OK;
	if (owner->variables[out->port].is_constant) {
		*ref = owner->variables[out->port].first;
		*follows = true;
		return SP_OK;
	}
	out->port = owner->variables[out->port].number;
	return SP_OK;
}

sp_status sp_import__locate(sp_importer *im, sp_scope *in, const char *ref, sp_target *out)
{
	bool control = false, follows;

	for (int hops = 0; hops < MAX_HOPS; hops++) {
		sp_bytes name, argument;
		uint32_t number;
		uint64_t found;

		control |= ref[0] == '^';
		if (!sp_import__split_reference(ref, in->function != NULL, &name, &argument,
						&number))
			return sp_error_set(im->err, SP_CORRUPT,
					    "'%s' is not a reference to a node", ref);
		if (!sp_map_get(in->names, name, &found))
			return sp_error_set(im->err, SP_CORRUPT, "there is no node '%s%.*s'",
					    in->prefix, (int)name.size, name.data);
		*out = (sp_target){.in = in, .node = (uint32_t)found, .control = control};
		if (found >= SP_ARGUMENT) {
			SP_TRY(follow_argument(im, in, found - SP_ARGUMENT, &out->variable, &ref));
			if (out->variable != NULL)
				return SP_OK;
			in = in->caller;
			continue;
		}
		if (argument.size != 0)
			number += argument_offset(im, &in->nodes[found], argument);
		out->port = number;
		SP_TRY(follow_node(im, out, &ref, &follows));
		if (!follows || ref == NULL)
			return SP_OK;
	}
	return sp_error_set(im->err, SP_UNSUPPORTED, "the reference '%s%s' is part of a cycle",
			    in->prefix, ref);
}
