#include "tests/support/op_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "engine/import/import.h"
#include "engine/import/lower.h"
#include "engine/runtime/program.h"
#include "model_loader/proto/graph_proto.h"

enum { MAX_TENSORS = 64 };

typedef struct reader {
	const char *at;
	const char *end;
	sp_arena *arena;
} reader;

typedef struct op_case {
	const char *name;
	const char *op;
	sp_attr *attrs;
	size_t attr_count;
	sp_graph_def library; /* functions that attributes name */
	sp_tensor inputs[MAX_TENSORS];
	size_t input_count;
	sp_tensor outputs[MAX_TENSORS];
	size_t output_count;
	bool refused;
	float rtol;
	float atol;
} op_case;

/* --------------------------------------------------------------- reading */

static void die(const char *why)
{
	fprintf(stderr, "op cases: %s\n", why);
	exit(1);
}

static const void *take(reader *r, size_t size)
{
	const char *at = r->at;

	if ((size_t)(r->end - at) < size)
		die("the file ends too early");
	r->at += size;
	return at;
}

#define TAKE(r, type) (*(type *)memcpy(&(type){0}, take(r, sizeof(type)), sizeof(type)))

static sp_bytes take_text(reader *r)
{
	uint32_t size = TAKE(r, uint32_t);

	return (sp_bytes){take(r, size), size};
}

static sp_tensor take_tensor(reader *r)
{
	sp_dtype dtype = (sp_dtype)TAKE(r, uint8_t);
	sp_shape shape = {.rank = TAKE(r, uint8_t)};
	sp_tensor tensor;

	for (int i = 0; i < shape.rank; i++)
		shape.dims[i] = TAKE(r, int64_t);
	if (sp_tensor_create(&tensor, r->arena, dtype, &shape, NULL) != SP_OK)
		die("a tensor is not readable");
	if (dtype == SP_STRING)
		for (size_t i = 0; i < tensor.count; i++)
			sp_tensor_strings(&tensor)[i] = take_text(r);
	else if (tensor.count != 0)
		memcpy(tensor.data, take(r, tensor.count * sp_dtype_size(dtype)),
		       tensor.count * sp_dtype_size(dtype));
	return tensor;
}

static sp_partial_shape take_shape(reader *r)
{
	sp_partial_shape shape = {.rank = TAKE(r, int8_t)};

	for (int i = 0; i < shape.rank; i++)
		shape.dims[i] = TAKE(r, int64_t);
	return shape;
}

static const sp_attr_kind kinds[] = {SP_ATTR_NONE, SP_ATTR_BYTES, SP_ATTR_INT,   SP_ATTR_FLOAT,
				     SP_ATTR_BOOL, SP_ATTR_TYPE,  SP_ATTR_SHAPE, SP_ATTR_TENSOR,
				     SP_ATTR_LIST, SP_ATTR_FUNC};

static void take_list(reader *r, sp_attr *attr)
{
	uint8_t kind = TAKE(r, uint8_t);
	void *items;

	attr->element = kinds[kind];
	attr->count = TAKE(r, uint32_t);
	items = sp_arena_zeros(r->arena, attr->count + 1, sizeof(sp_tensor));
	attr->i_list = items;
	for (size_t i = 0; i < attr->count; i++)
		switch (attr->element) {
		case SP_ATTR_BYTES:
			((sp_bytes *)items)[i] = take_text(r);
			break;
		case SP_ATTR_INT:
			((int64_t *)items)[i] = TAKE(r, int64_t);
			break;
		case SP_ATTR_FLOAT:
			((float *)items)[i] = TAKE(r, float);
			break;
		case SP_ATTR_BOOL:
			((bool *)items)[i] = TAKE(r, uint8_t) != 0;
			break;
		case SP_ATTR_TYPE:
			((sp_dtype *)items)[i] = (sp_dtype)TAKE(r, uint8_t);
			break;
		case SP_ATTR_SHAPE:
			((sp_partial_shape *)items)[i] = take_shape(r);
			break;
		default:
			((sp_tensor *)items)[i] = take_tensor(r);
		}
}

static void take_attr(reader *r, sp_attr *attr, sp_graph_def *library)
{
	sp_bytes name = take_text(r);

	attr->name = sp_arena_text(r->arena, name);
	attr->kind = kinds[TAKE(r, uint8_t)];
	switch (attr->kind) {
	case SP_ATTR_BYTES:
		attr->bytes = take_text(r);
		break;
	case SP_ATTR_INT:
		attr->i = TAKE(r, int64_t);
		break;
	case SP_ATTR_FLOAT:
		attr->f = TAKE(r, float);
		break;
	case SP_ATTR_BOOL:
		attr->b = TAKE(r, uint8_t) != 0;
		break;
	case SP_ATTR_TYPE:
		attr->type = (sp_dtype)TAKE(r, uint8_t);
		break;
	case SP_ATTR_SHAPE: {
		sp_partial_shape *shape = sp_arena_alloc(r->arena, sizeof(*shape));

		*shape = take_shape(r);
		attr->shape = shape;
		break;
	}
	case SP_ATTR_TENSOR: {
		sp_tensor *tensor = sp_arena_alloc(r->arena, sizeof(*tensor));

		*tensor = take_tensor(r);
		attr->tensor = tensor;
		break;
	}
	case SP_ATTR_FUNC:
		attr->text = sp_arena_text(r->arena, take_text(r));
		if (sp_graph_def_parse(library, take_text(r), r->arena, NULL) != SP_OK)
			die("a library of functions is not readable");
		break;
	default:
		take_list(r, attr);
	}
}

static size_t take_tensors(reader *r, sp_tensor tensors[MAX_TENSORS])
{
	uint32_t count = TAKE(r, uint32_t);

	if (count > MAX_TENSORS)
		die("a case has too many tensors");
	for (uint32_t i = 0; i < count; i++)
		tensors[i] = take_tensor(r);
	return count;
}

static void take_case(reader *r, op_case *c)
{
	c->name = sp_arena_text(r->arena, take_text(r));
	c->op = sp_arena_text(r->arena, take_text(r));
	c->attr_count = TAKE(r, uint32_t);
	c->attrs = sp_arena_zeros(r->arena, c->attr_count, sizeof(*c->attrs));
	for (size_t i = 0; i < c->attr_count; i++)
		take_attr(r, &c->attrs[i], &c->library);
	c->input_count = take_tensors(r, c->inputs);
	c->refused = TAKE(r, uint8_t) != 0;
	c->rtol = TAKE(r, float);
	c->atol = TAKE(r, float);
	c->output_count = take_tensors(r, c->outputs);
}

/* ------------------------------------------------------------- comparing */

/* Of a complex tensor, part i: real and imaginary ones in turns. */
static double element(const sp_tensor *t, size_t i)
{
	switch (t->dtype) {
	case SP_FLOAT:
	case SP_COMPLEX64:
		return ((const float *)t->data)[i];
	case SP_DOUBLE:
	case SP_COMPLEX128:
		return ((const double *)t->data)[i];
	case SP_HALF:
		return sp_half_to_float(((const uint16_t *)t->data)[i]);
	default:
		return sp_bfloat16_to_float(((const uint16_t *)t->data)[i]);
	}
}

static bool close_enough(double got, double want, const op_case *c)
{
	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want);
	if (isinf(got) || isinf(want) || (c->rtol == 0 && c->atol == 0))
		return got == want && signbit(got) == signbit(want);
	return fabs(got - want) <= (double)c->atol + (double)c->rtol * fabs(want);
}

static bool is_complex(sp_dtype dtype)
{
	return dtype == SP_COMPLEX64 || dtype == SP_COMPLEX128;
}

static bool same_element(const sp_tensor *got, const sp_tensor *want, size_t i, const op_case *c)
{
	size_t size = sp_dtype_size(want->dtype);

	if (want->dtype == SP_STRING)
		return sp_bytes_equal(sp_tensor_strings(got)[i], sp_tensor_strings(want)[i]);
	if (sp_dtype_is_floating(want->dtype))
		return close_enough(element(got, i), element(want, i), c);
	if (is_complex(want->dtype))
		return close_enough(element(got, 2 * i), element(want, 2 * i), c) &&
		       close_enough(element(got, 2 * i + 1), element(want, 2 * i + 1), c);
	return memcmp((const char *)got->data + i * size, (const char *)want->data + i * size,
		      size) == 0;
}

static bool same_tensor(const sp_tensor *got, const sp_tensor *want, const op_case *c,
			size_t number)
{
	char a[SP_SHAPE_TEXT_SIZE], b[SP_SHAPE_TEXT_SIZE];

	if (got->dtype != want->dtype || !sp_shape_equal(&got->shape, &want->shape)) {
		printf("  output %zu is %s %s, wanted %s %s\n", number, sp_dtype_name(got->dtype),
		       sp_shape_text(&got->shape, a), sp_dtype_name(want->dtype),
		       sp_shape_text(&want->shape, b));
		return false;
	}
	for (size_t i = 0; i < want->count; i++) {
		if (same_element(got, want, i, c))
			continue;
		printf("  output %zu differs at element %zu", number, i);
		if (sp_dtype_is_floating(want->dtype))
			printf(": %.9g, wanted %.9g", element(got, i), element(want, i));
		else if (is_complex(want->dtype))
			printf(": %.9g%+.9gi, wanted %.9g%+.9gi", element(got, 2 * i),
			       element(got, 2 * i + 1), element(want, 2 * i),
			       element(want, 2 * i + 1));
		else if (want->dtype == SP_STRING)
			printf(": '%.*s', wanted '%.*s'", (int)sp_tensor_strings(got)[i].size,
			       sp_tensor_strings(got)[i].data, (int)sp_tensor_strings(want)[i].size,
			       sp_tensor_strings(want)[i].data);
		else if (want->dtype == SP_INT32 || want->dtype == SP_INT64)
			printf(": %lld, wanted %lld", (long long)sp_tensor_index(got, i),
			       (long long)sp_tensor_index(want, i));
		printf("\n");
		return false;
	}
	return true;
}

/* --------------------------------------------------------------- running */

typedef enum manner { FED, CONSTANT, HALF_AND_HALF, MANNERS } manner;

static bool is_constant(manner how, size_t i)
{
	return how == CONSTANT || (how == HALF_AND_HALF && i % 2 == 1);
}

/* in0 ... in<n-1>, each a Placeholder or a Const, and "op" on them. */
static sp_graph_def make_graph(const op_case *c, manner how, sp_arena *arena)
{
	size_t n = c->input_count;
	sp_node_def *nodes = sp_arena_zeros(arena, n + 1, sizeof(*nodes));
	const char **names = sp_arena_array(arena, n + 1, sizeof(*names));
	sp_attr *attrs = sp_arena_zeros(arena, 2 * n + 1, sizeof(*attrs));

	for (size_t i = 0; i < n; i++) {
		names[i] = sp_arena_printf(arena, "in%zu", i);
		attrs[2 * i] = (sp_attr){
			.name = "dtype", .kind = SP_ATTR_TYPE, .type = c->inputs[i].dtype};
		attrs[2 * i + 1] = (sp_attr){
			.name = "value", .kind = SP_ATTR_TENSOR, .tensor = &c->inputs[i]};
		nodes[i] = (sp_node_def){.name = names[i],
					 .op = is_constant(how, i) ? "Const" : "Placeholder",
					 .attrs = &attrs[2 * i],
					 .attr_count = is_constant(how, i) ? 2 : 1};
	}
	nodes[n] = (sp_node_def){.name = "op",
				 .op = c->op,
				 .inputs = names,
				 .input_count = n,
				 .attrs = c->attrs,
				 .attr_count = c->attr_count};
	return (sp_graph_def){.nodes = nodes,
			      .node_count = n + 1,
			      .functions = c->library.functions,
			      .function_count = c->library.function_count};
}

static sp_status compile(sp_program **program, sp_graph *graph, sp_graph_def *def, const op_case *c,
			 manner how, sp_resources *resources, sp_arena *arena, sp_error *err)
{
	const char *root = "op";
	sp_import_roots roots = {&root, 1};
	sp_port feeds[MAX_TENSORS], fetches[MAX_TENSORS], op;
	sp_entry_spec entry = {.name = "case", .feeds = feeds, .fetches = fetches};

	*def = make_graph(c, how, arena);
	SP_TRY(sp_graph_import(graph, def, &roots, arena, err));
	SP_TRY(sp_graph_lower(graph, err));
	SP_TRY(sp_graph_find(graph, "op", &op, err));
	for (size_t i = 0; i < c->input_count; i++)
		if (!is_constant(how, i))
			SP_TRY(sp_graph_find(graph, def->nodes[i].name, &feeds[entry.feed_count++],
					     err));
	entry.fetch_count = c->refused ? 1 : c->output_count;
	for (uint32_t i = 0; i < entry.fetch_count; i++)
		fetches[i] = (sp_port){op.node, i};
	sp_resources_init(resources, arena);
	SP_TRY(sp_program_compile(program, graph, &entry, 1, resources, NULL, err));
	if (sp_program_entry_error(*program, 0) != NULL)
		return sp_error_set(err, sp_program_entry_error(*program, 0)->status, "%s",
				    sp_program_entry_error(*program, 0)->text);
	return SP_OK;
}

/* Runs twice: the second time in memory that has been used. */
static sp_status run(sp_session *session, const sp_snapshot *snapshot, const op_case *c, manner how,
		     const sp_tensor **fetches, sp_error *err)
{
	sp_tensor feeds[MAX_TENSORS];
	/* Random streams are where they begin in both runs. */
	sp_run request = {.snapshot = snapshot, .feeds = feeds, .rehearsal = true};
	size_t n = 0;

	for (size_t i = 0; i < c->input_count; i++)
		if (!is_constant(how, i))
			feeds[n++] = c->inputs[i];
	if (sp_session_run(session, &request, fetches, err) != SP_OK)
		return err->status;
	sp_session_reset(session);
	return sp_session_run(session, &request, fetches, err);
}

/*
 * A refusal must be a refusal of the data: not a lack of ours (SP_UNSUPPORTED)
 * and not a bug.  What cannot be supported is not among the cases.
 */
static bool judge(const op_case *c, sp_status status, const sp_tensor **fetches,
		  const sp_error *err)
{
	bool good = true;

	if (c->refused) {
		if (status == SP_INVALID || status == SP_NO_MEMORY)
			return true;
		printf("  not refused as it should be (%s%s)\n", sp_status_name(status),
		       status != SP_OK ? err->text : "");
		return false;
	}
	if (status != SP_OK) {
		printf("  %s: %s\n", sp_status_name(status), err->text);
		return false;
	}
	for (size_t i = 0; i < c->output_count; i++)
		good &= same_tensor(fetches[i], &c->outputs[i], c, i);
	return good;
}

static bool replay_one(const op_case *c, manner how)
{
	static const char *const words[] = {"fed", "constant", "half and half"};
	sp_arena *arena = sp_arena_create(64 << 10);
	sp_program *program = NULL;
	sp_snapshot *snapshot = NULL;
	sp_session *session = NULL;
	sp_graph graph;
	sp_graph_def def;
	sp_resources resources;
	const sp_tensor *fetches[MAX_TENSORS];
	sp_error err = {.status = SP_OK};
	sp_status status = compile(&program, &graph, &def, c, how, &resources, arena, &err);
	bool good;

	if (status == SP_OK)
		status = sp_snapshot_build(&snapshot, program, &resources, &err);
	if (status == SP_OK)
		status = sp_session_create(&session, program, 64 << 20, &err);
	if (status == SP_OK)
		status = run(session, snapshot, c, how, fetches, &err);
	good = judge(c, status, fetches, &err);
	if (!good)
		printf("^ %s '%s' (%s)\n", c->op, c->name, words[how]);
	sp_session_destroy(session);
	sp_snapshot_destroy(snapshot);
	sp_program_destroy(program);
	sp_arena_destroy(arena);
	return good;
}

size_t sp_op_cases_replay(const char *path, size_t *total)
{
	reader r = {0};
	size_t failed = 0, size;
	char *data;
	sp_error err;

	if (sp_file_read(&data, &size, path, 64 << 20, &err) != SP_OK)
		die(err.text);
	r.at = data;
	r.end = data + size;
	if (memcmp(take(&r, 8), "SPCASES1", 8) != 0)
		die("not a file of cases");
	*total = TAKE(&r, uint32_t);
	for (size_t i = 0; i < *total; i++) {
		op_case c = {0};
		bool good = true;

		r.arena = sp_arena_create(64 << 10);
		take_case(&r, &c);
		for (manner how = FED; how < MANNERS; how++)
			good &= replay_one(&c, how);
		failed += !good;
		sp_arena_destroy(r.arena);
	}
	sp_free(data);
	return failed;
}
