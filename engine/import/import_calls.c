#include <string.h>

#include "base/size.h"
#include "engine/import/front_end.h"
#include "engine/import/import_internal.h"

/*
 * Function calls: the functions of the graph, what a node calls, and the scope of each call.  The
 * graph is a scope and so is every call: a body that is called twice is two scopes.
 */

enum { MAX_CALL_DEPTH = 128, MAX_IDENTITIES = 64 };

/* ------------------------------------------------------------- functions */

static sp_status index_function(sp_importer *im, sp_known_function *known)
{
	const sp_function_def *function = known->def;

	if (known->names != NULL)
		return SP_OK; /* called before */
	known->names = sp_arena_zeros(im->scratch, 1, sizeof(*known->names));
	if (known->names == NULL)
		return sp_import__no_memory(im);
	sp_map_init(known->names, im->scratch);
	for (size_t i = 0; i < function->input_count; i++)
		SP_TRY(sp_import__add_name(im, known->names, function->inputs[i].name,
					   SP_ARGUMENT + i));
	for (size_t i = 0; i < function->node_count; i++)
		SP_TRY(sp_import__add_name(im, known->names, function->nodes[i].name, i));
	return SP_OK;
}

static sp_status add_functions(sp_importer *im, const sp_graph_def *library)
{
	const sp_function_def *functions = library->functions;
	size_t count = library->function_count;

	if (!SP_ARENA_GROW(im->scratch, im->known, im->known_capacity, im->known_count, count))
		return sp_import__no_memory(im);
	for (size_t i = 0; i < count; i++) {
		sp_bytes name = sp_bytes_of(functions[i].name);

		if (functions[i].implements != NULL && functions[i].is_for_cpu &&
		    !functions[i].is_of_gradient &&
		    sp_map_add(&im->for_cpu, sp_bytes_of(functions[i].implements),
			       im->known_count) == SP_MAP_NO_MEMORY)
			return sp_import__no_memory(im);
		switch (sp_map_add(&im->functions, name, im->known_count)) {
		case SP_MAP_ADDED:
			im->known[im->known_count++] = (sp_known_function){.def = &functions[i],
									   .library = library};
			break;
		case SP_MAP_PRESENT:
			return sp_error_set(im->err, SP_CORRUPT, "two functions are named '%s'",
					    functions[i].name);
		default:
			return sp_import__no_memory(im);
		}
	}
	return SP_OK;
}

sp_status sp_import__index(sp_importer *im)
{
	sp_map_init(&im->functions, im->scratch);
	sp_map_init(&im->for_cpu, im->scratch);
	sp_map_init(&im->modules, im->scratch);
	sp_map_init(&im->repeated, im->scratch);
	im->repeated_left = SP_IMPORT_MAX_REPEATED;
	return add_functions(im, im->def);
}

/* ---------------------------------------------------------------- calls */

static bool has_same_counts(const sp_function_def *a, const sp_function_def *b)
{
	return a->input_count == b->input_count && a->output_count == b->output_count;
}

/* The function of that name, or the one for CPUs that implements the same interface. */
static sp_known_function *find_known(const sp_importer *im, const char *name)
{
	const sp_function_def *def;
	uint64_t i, for_cpu;

	if (!sp_map_get(&im->functions, sp_bytes_of(name), &i))
		return NULL;
	def = im->known[i].def;
	if (def->implements != NULL && !def->is_for_cpu && !def->is_of_gradient &&
	    sp_map_get(&im->for_cpu, sp_bytes_of(def->implements), &for_cpu) &&
	    has_same_counts(def, im->known[for_cpu].def))
		i = for_cpu;
	return &im->known[i];
}

static const sp_function_def *find_function(const sp_importer *im, const char *name)
{
	const sp_known_function *known = find_known(im, name);

	return known != NULL ? known->def : NULL;
}

/* The translated module of a node; NULL when it was not reached yet. */
static const sp_module *find_module(const sp_importer *im, const sp_node_def *node)
{
	sp_bytes key = {(const char *)&node, sizeof(node)};
	uint64_t address;

	return sp_map_get(&im->modules, key, &address) ? (const sp_module *)(uintptr_t)address
						       : NULL;
}

static const char *module_function(const sp_importer *im, const sp_node_def *node)
{
	const sp_module *module = find_module(im, node);

	return module != NULL ? module->function : NULL;
}

/*
 * A module becomes functions when its node is first reached.  A node whose module cannot be
 * translated is not supported, with the reason.
 */
static sp_status translate_module(sp_importer *im, const sp_front_end *front_end,
				  const sp_node_def *node, sp_module *module)
{
	sp_translation made;
	sp_error why = {.status = SP_OK};
	const char *prefix = sp_arena_printf(im->arena, "%s#%zu", node->name, im->known_count);
	sp_graph_def *library = sp_arena_array(im->arena, 1, sizeof(*library));
	sp_status status;

	if (prefix == NULL || library == NULL)
		return sp_import__no_memory(im);
	status = front_end->translate(&made, node, prefix, im->arena, im->scratch, &why);
	if (status == SP_NO_MEMORY)
		return sp_import__no_memory(im);
	if (status != SP_OK) {
		module->refused = sp_arena_printf(im->arena, "%s", why.text);
		return module->refused != NULL ? SP_OK : sp_import__no_memory(im);
	}
	module->function = made.list[0].name;
	*library = (sp_graph_def){.functions = made.list, .function_count = made.count};
	return add_functions(im, library);
}

static sp_status open_module(sp_importer *im, const sp_node_def *node, const char **refused)
{
	const sp_front_end *front_end = sp_front_end_find(node->op);
	const sp_module *known = find_module(im, node);
	const sp_node_def **key;
	sp_module *module;

	if (front_end == NULL)
		return SP_OK;
	if (known == NULL) {
		key = sp_arena_array(im->scratch, 1, sizeof(*key));
		module = sp_arena_zeros(im->scratch, 1, sizeof(*module));
		if (key == NULL || module == NULL)
			return sp_import__no_memory(im);
		*key = node;
		known = module;
		SP_TRY(translate_module(im, front_end, node, module));
		if (sp_map_add(&im->modules, (sp_bytes){(const char *)key, sizeof(*key)},
			       (uint64_t)(uintptr_t)module) == SP_MAP_NO_MEMORY)
			return sp_import__no_memory(im);
	}
	*refused = known->refused;
	return SP_OK;
}

/* The kind of call that an operator makes; false when it makes none. */
static bool kind_of_op(const char *op, sp_owner_kind *kind)
{
	static const struct {
		const char *op;
		sp_owner_kind kind;
	} kinds[] = {
		{"PartitionedCall", SP_OWNER_CALL},
		{"StatefulPartitionedCall", SP_OWNER_CALL},
		{"BatchFunction", SP_OWNER_CALL}, /* a batch of one request */
		{"If", SP_OWNER_IF},
		{"StatelessIf", SP_OWNER_IF},
		{"XlaIf", SP_OWNER_IF},
		{"Case", SP_OWNER_CASE},
		{"StatelessCase", SP_OWNER_CASE},
		{"While", SP_OWNER_WHILE},
		{"StatelessWhile", SP_OWNER_WHILE},
		{"XlaWhile", SP_OWNER_WHILE},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].op, op) == 0) {
			*kind = kinds[i].kind;
			return true;
		}
	return false;
}

/* The function that attribute 'f' names; NULL when it names none. */
static const char *named_function(const sp_node_def *node)
{
	const sp_attr *f = sp_attr_find(node->attrs, node->attr_count, "f");

	return f != NULL && f->kind == SP_ATTR_FUNC ? f->text : NULL;
}

/*
 * The kind of call that a node is.  False for other nodes, and for a call of a function that the
 * file lacks: that node is not supported, and breaks only the signatures that reach it.
 */
static bool call_kind(const sp_importer *im, const sp_node_def *node, sp_owner_kind *kind)
{
	const char *name = named_function(node);

	if (kind_of_op(node->op, kind))
		return *kind != SP_OWNER_CALL || (name != NULL && find_function(im, name) != NULL);
	*kind = SP_OWNER_CALL;
	return find_function(im, node->op) != NULL || module_function(im, node) != NULL;
}

/* Notes why a call of a missing function is not supported. */
static sp_status explain_no_call(sp_importer *im, const sp_node_def *node,
				 sp_import_progress *place)
{
	const char *name = named_function(node);
	sp_owner_kind ignored;

	if (!kind_of_op(node->op, &ignored))
		return SP_OK;
	place->refused = name == NULL ? "its attribute 'f' names no function"
				      : sp_arena_printf(im->arena,
							"it calls '%s', which is not there", name);
	return place->refused != NULL ? SP_OK : sp_import__no_memory(im);
}

bool sp_import_resolves(const sp_graph_def *def, const char *op)
{
	static const char *const resolved[] = {"PartitionedCall",  "StatefulPartitionedCall",
					       "BatchFunction",    "Enter",
					       "RefEnter",         "Exit",
					       "RefExit",          "NextIteration",
					       "RefNextIteration", "LoopCond"};

	for (size_t i = 0; i < sizeof(resolved) / sizeof(resolved[0]); i++)
		if (strcmp(resolved[i], op) == 0)
			return true;
	for (size_t i = 0; i < def->function_count; i++)
		if (strcmp(def->functions[i].name, op) == 0)
			return true;
	return sp_front_end_find(op) != NULL;
}

static sp_status bad_call(sp_importer *im, const sp_owner *owner, const char *what)
{
	const sp_node_def *node = &owner->in->nodes[owner->node];

	return sp_error_set(im->err, SP_INVALID, "node '%s%s' (%s): %s", owner->in->prefix,
			    node->name, node->op, what);
}

static sp_status check_recursion(sp_importer *im, const sp_scope *caller,
				 const sp_function_def *function)
{
	if (caller->depth >= MAX_CALL_DEPTH)
		return sp_error_set(im->err, SP_INVALID, "functions call each other %d deep",
				    MAX_CALL_DEPTH);
	for (const sp_scope *s = caller; s != NULL; s = s->caller)
		if (s->function == function)
			return sp_error_set(im->err, SP_INVALID, "function '%s' calls itself",
					    function->name);
	return SP_OK;
}

sp_status sp_import__make_scope(sp_importer *im, sp_scope *scope)
{
	enum { NODES_PER_SCOPE = 8 }; /* for the scope itself */

	if (!sp_size_add(&im->planned, im->planned, scope->node_count + NODES_PER_SCOPE) ||
	    im->planned > SP_IMPORT_MAX_NODES)
		return sp_error_set(
			im->err, SP_INVALID,
			"the graph has more than %u nodes once its functions are inlined",
			SP_IMPORT_MAX_NODES);
	scope->places = sp_arena_zeros(im->scratch, scope->node_count, sizeof(*scope->places));
	return scope->places != NULL ? SP_OK : sp_import__no_memory(im);
}

/* Opens the scope of function `name` as the next body of `owner`. */
static sp_status add_body(sp_importer *im, sp_owner *owner, const char *name)
{
	sp_scope *caller = owner->in;
	sp_known_function *known = find_known(im, name);
	const sp_function_def *function = known != NULL ? known->def : NULL;
	sp_scope *body = sp_arena_zeros(im->scratch, 1, sizeof(*body));

	if (function == NULL)
		return sp_error_set(im->err, SP_CORRUPT,
				    "node '%s%s' calls '%s', which is not there", caller->prefix,
				    caller->nodes[owner->node].name, name);
	SP_TRY(check_recursion(im, caller, function));
	if (body == NULL)
		return sp_import__no_memory(im);
	SP_TRY(index_function(im, known));
	*body = (sp_scope){.caller = caller,
			   .owner = owner,
			   .function = function,
			   .library = known->library,
			   .nodes = function->nodes,
			   .node_count = function->node_count,
			   .names = known->names,
			   .depth = caller->depth + 1};
	body->prefix = sp_arena_printf(im->scratch, "%s%s/", caller->prefix,
				       caller->nodes[owner->node].name);
	if (body->prefix == NULL)
		return sp_import__no_memory(im);
	owner->bodies[owner->body_count++] = body;
	return sp_import__make_scope(im, body);
}

/*
 * A Case on DeviceIndex is a call of the branch for the CPU; branches for other devices may have
 * operators that the engine lacks.
 */
static bool is_device_case(const sp_owner *owner, size_t branches, size_t *branch)
{
	const sp_scope *in = owner->in;
	const char *ref = sp_import__data_input(&in->nodes[owner->node], 0);
	sp_bytes name, argument;
	const sp_attr *devices;
	uint32_t number;
	uint64_t found;

	if (ref == NULL ||
	    !sp_import__split_reference(ref, in->function != NULL, &name, &argument, &number) ||
	    !sp_map_get(in->names, name, &found) || found >= SP_ARGUMENT ||
	    strcmp(in->nodes[found].op, "DeviceIndex") != 0)
		return false;
	devices = sp_attr_find(in->nodes[found].attrs, in->nodes[found].attr_count, "device_names");
	if (devices == NULL || devices->kind != SP_ATTR_LIST || devices->element != SP_ATTR_BYTES)
		return false;
	*branch = 0;
	while (*branch + 1 < branches &&
	       (*branch >= devices->count ||
		!sp_bytes_equal_text(devices->bytes_list[*branch], "CPU")))
		++*branch;
	return true;
}

/* Opens the bodies of a call; which attributes name them depends on its kind. */
static sp_status add_bodies(sp_importer *im, sp_owner *owner)
{
	static const char *const attrs[][2] = {
		[SP_OWNER_CALL] = {"f", NULL},
		[SP_OWNER_IF] = {"then_branch", "else_branch"},
		[SP_OWNER_CASE] = {"branches", NULL},
		[SP_OWNER_WHILE] = {"cond", "body"},
	};
	const sp_node_def *node = &owner->in->nodes[owner->node];
	const sp_attr *list = sp_attr_find(node->attrs, node->attr_count, attrs[owner->kind][0]);
	bool is_list = owner->kind == SP_OWNER_CASE;
	size_t count = is_list ? (list != NULL && list->kind == SP_ATTR_LIST ? list->count : 0) : 2;
	size_t branch;

	owner->first_argument = owner->kind != SP_OWNER_CALL;
	owner->bodies = sp_arena_zeros(im->scratch, count, sizeof(*owner->bodies));
	if (owner->bodies == NULL)
		return sp_import__no_memory(im);
	if (owner->kind == SP_OWNER_CALL && module_function(im, node) != NULL)
		return add_body(im, owner, module_function(im, node));
	if (owner->kind == SP_OWNER_CALL && find_function(im, node->op) != NULL)
		return add_body(im, owner, node->op);
	if (is_list && (count == 0 || list->element != SP_ATTR_FUNC))
		return bad_call(im, owner, "it has no list of functions 'branches'");
	if (is_list && is_device_case(owner, count, &branch)) {
		owner->kind = SP_OWNER_CALL;
		return add_body(im, owner, list->text_list[branch]);
	}
	for (size_t i = 0; i < count; i++) {
		const char *name = is_list ? NULL : attrs[owner->kind][i];
		const sp_attr *attr = name == NULL
					      ? NULL
					      : sp_attr_find(node->attrs, node->attr_count, name);

		if (is_list) {
			SP_TRY(add_body(im, owner, list->text_list[i]));
			continue;
		}
		if (name == NULL)
			break;
		if (attr == NULL || attr->kind != SP_ATTR_FUNC)
			return bad_call(im, owner, "an attribute that names a function is missing");
		SP_TRY(add_body(im, owner, attr->text));
	}
	return SP_OK;
}

static size_t data_input_count(const sp_node_def *node)
{
	size_t n = 0;

	while (sp_import__data_input(node, n) != NULL)
		n++;
	return n;
}

/* Checks the bodies' numbers of arguments and results against those of the node. */
static sp_status check_signatures(sp_importer *im, const sp_owner *owner)
{
	size_t inputs = data_input_count(&owner->in->nodes[owner->node]);
	const sp_function_def *first = owner->bodies[0]->function;
	const sp_function_def *last = owner->bodies[owner->body_count - 1]->function;

	switch (owner->kind) {
	case SP_OWNER_IF:
	case SP_OWNER_CASE:
		for (size_t i = 0; i < owner->body_count; i++) {
			const sp_function_def *branch = owner->bodies[i]->function;

			if (branch->input_count + 1 != inputs ||
			    branch->output_count != first->output_count)
				return bad_call(im, owner,
						"its branches take or return another "
						"number of values than it does");
		}
		return SP_OK;
	case SP_OWNER_WHILE:
		if (first->input_count == inputs && first->output_count == 1 &&
		    last->input_count == inputs && last->output_count == inputs)
			return SP_OK;
		return bad_call(im, owner,
				"its condition or body takes or returns another number "
				"of values than it does");
	default:
		return SP_OK; /* a call's arguments are checked as they are read */
	}
}

static bool is_identity(const char *op)
{
	return strcmp(op, "Identity") == 0 || strcmp(op, "StopGradient") == 0 ||
	       strcmp(op, "PreventGradient") == 0;
}

/* Whether `ref` of a body is argument `number`, perhaps through identities. */
static bool is_argument_itself(const sp_scope *body, const char *ref, size_t number)
{
	for (int hops = 0; ref != NULL && hops < MAX_IDENTITIES; hops++) {
		sp_bytes name, argument;
		uint32_t port;
		uint64_t found;

		if (!sp_import__split_reference(ref, true, &name, &argument, &port) ||
		    !sp_map_get(body->names, name, &found))
			return false;
		if (found >= SP_ARGUMENT)
			return found == SP_ARGUMENT + number;
		if (!is_identity(body->nodes[found].op))
			return false;
		ref = sp_import__data_input(&body->nodes[found], 0);
	}
	return false;
}

static sp_status add_variables(sp_importer *im, sp_owner *owner)
{
	const sp_node_def *node = &owner->in->nodes[owner->node];
	const sp_scope *body = owner->bodies[owner->body_count - 1];

	if (owner->kind != SP_OWNER_WHILE)
		return SP_OK;
	owner->variable_count = body->function->input_count;
	owner->variables = sp_arena_zeros(im->scratch, owner->variable_count,
					  sizeof(*owner->variables));
	if (owner->variables == NULL)
		return sp_import__no_memory(im);
	for (size_t i = 0; i < owner->variable_count; i++) {
		sp_variable *v = &owner->variables[i];

		v->first = sp_import__data_input(node, i);
		v->next = body->function->returns[i].ref;
		v->is_constant = is_argument_itself(body, v->next, i);
	}
	sp_import__number_variables(owner);
	return SP_OK;
}

static sp_status add_owner_regions(sp_importer *im, sp_owner *owner)
{
	uint32_t around = sp_import__region_of(owner->in, owner->node);
	bool is_loop = owner->kind == SP_OWNER_WHILE;

	for (size_t i = 0; i < owner->body_count; i++)
		owner->bodies[i]->region = around;
	if (owner->kind == SP_OWNER_CALL)
		return SP_OK;
	owner->region_count = (uint32_t)owner->body_count;
	SP_TRY(sp_import__add_regions(im, around, owner->region_count, &owner->first_region));
	if (is_loop) /* the body sees what the condition has computed */
		im->graph->around[owner->first_region + 1] = owner->first_region;
	for (size_t i = 0; i < owner->body_count; i++)
		owner->bodies[i]->region = owner->first_region + (uint32_t)i;
	return SP_OK;
}

/* Finds the loops among the nodes of a body. */
static sp_status find_loops(sp_importer *im, sp_scope *body)
{
	const sp_function_def *function = body->function;
	size_t count = function->output_count + function->control_return_count;
	const char **wanted = sp_arena_array(im->scratch, count, sizeof(*wanted));

	if (wanted == NULL)
		return sp_import__no_memory(im);
	for (size_t i = 0; i < function->output_count; i++)
		wanted[i] = function->returns[i].ref;
	for (size_t i = 0; i < function->control_return_count; i++)
		wanted[function->output_count + i] = function->control_returns[i];
	return sp_import__find_loops(im, body, wanted, count);
}

sp_status sp_import__open(sp_importer *im, sp_scope *in, uint32_t node)
{
	sp_owner_kind kind;
	sp_owner *owner;

	if (in->places[node].owner != NULL)
		return SP_OK;
	if (in->loops != NULL && strcmp(in->nodes[node].op, "LoopCond") == 0)
		return sp_import__open_loop(im, in, node);
	SP_TRY(open_module(im, &in->nodes[node], &in->places[node].refused));
	if (!call_kind(im, &in->nodes[node], &kind))
		return explain_no_call(im, &in->nodes[node], &in->places[node]);
	owner = sp_arena_zeros(im->scratch, 1, sizeof(*owner));
	if (owner == NULL)
		return sp_import__no_memory(im);
	*owner = (sp_owner){.kind = kind, .in = in, .node = node};
	SP_TRY(add_bodies(im, owner));
	SP_TRY(check_signatures(im, owner));
	SP_TRY(add_variables(im, owner));
	SP_TRY(add_owner_regions(im, owner));
	for (size_t i = 0; i < owner->body_count; i++)
		SP_TRY(find_loops(im, owner->bodies[i]));
	in->places[node].owner = owner;
	return SP_OK;
}
