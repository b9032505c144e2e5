#include "tests/support/cmocka.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "model_loader/saved_model/saved_model.h"
#include "tests/support/paths.h"
#include "tests/support/wire.h"

/* Fields of the messages. */
enum { VERSION = 1, META_GRAPH = 2 };
enum { META_INFO = 1, GRAPH = 2, SAVER = 3, COLLECTION = 4, SIGNATURE = 5, ASSET = 6, INCR = 8 };
enum { TAG = 4 };
enum { KEY = 1, VALUE = 2 };
enum { INPUTS = 1, OUTPUTS = 2, METHOD = 3, DEFAULTS = 4 };
enum { INFO_NAME = 1, INFO_DTYPE = 2, INFO_SHAPE = 3, INFO_SPARSE = 4, INFO_COMPOSITE = 5 };
enum { SAVER_FILENAME = 1, SAVER_RESTORE = 3 };
enum { NODE_LIST = 1, ANY_LIST = 5 };

static int setup(void **state)
{
	*state = sp_arena_create(4096);
	return *state == NULL;
}

static int teardown(void **state)
{
	sp_arena_destroy(*state);
	return 0;
}

/* A metagraph with these tags (none for NULL) and a graph of one node. */
static sp_buffer metagraph(const char *const *tags)
{
	sp_buffer out = sp_wire_begin(), info = sp_wire_begin();
	sp_buffer graph = sp_wire_begin(), node = sp_wire_begin();

	for (; tags != NULL && *tags != NULL; tags++)
		sp_wire_text(&info, TAG, *tags);
	sp_wire_message(&out, META_INFO, &info);
	sp_wire_text(&node, 1, "n");
	sp_wire_text(&node, 2, "NoOp");
	sp_wire_message(&graph, 1, &node);
	sp_wire_message(&out, GRAPH, &graph);
	return out;
}

static sp_buffer serving(void)
{
	static const char *const tags[] = {"serve", NULL};

	return metagraph(tags);
}

static sp_buffer saved_model(sp_buffer *meta)
{
	sp_buffer out = sp_wire_begin();

	sp_wire_varint(&out, VERSION, 1);
	sp_wire_message(&out, META_GRAPH, meta);
	return out;
}

static sp_status parse(sp_saved_model *out, sp_buffer *message, void **state, sp_error *err)
{
	sp_status status = sp_saved_model_parse(out, message->data, message->size, NULL, *state,
						err);

	sp_buffer_fini(message);
	return status;
}

static sp_status parse_meta(sp_saved_model *out, sp_buffer *meta, void **state, sp_error *err)
{
	sp_buffer model = saved_model(meta);

	return parse(out, &model, state, err);
}

static sp_buffer tensor_info(const char *name, sp_dtype dtype)
{
	sp_buffer out = sp_wire_begin();

	sp_wire_text(&out, INFO_NAME, name);
	sp_wire_varint(&out, INFO_DTYPE, dtype);
	return out;
}

static void add_entry(sp_buffer *out, uint32_t field, const char *key, sp_buffer *value)
{
	sp_buffer entry = sp_wire_begin();

	sp_wire_text(&entry, KEY, key);
	sp_wire_message(&entry, VALUE, value);
	sp_wire_message(out, field, &entry);
}

static void add_tensor(sp_buffer *signature, uint32_t field, const char *alias, const char *name)
{
	sp_buffer info = tensor_info(name, SP_FLOAT);

	add_entry(signature, field, alias, &info);
}

static void add_signature(sp_buffer *meta, const char *name)
{
	sp_buffer signature = sp_wire_begin();

	add_tensor(&signature, INPUTS, "x", "x:0");
	add_tensor(&signature, OUTPUTS, "y", "y:0");
	sp_wire_text(&signature, METHOD, "tensorflow/serving/predict");
	add_entry(meta, SIGNATURE, name, &signature);
}

static void add_init_signature(sp_buffer *meta, const char *key, const char *operation)
{
	sp_buffer signature = sp_wire_begin();

	add_tensor(&signature, OUTPUTS, key, operation);
	add_entry(meta, SIGNATURE, "__saved_model_init_op", &signature);
}

static void add_nodes(sp_buffer *meta, const char *key, int count, const char *name)
{
	sp_buffer list = sp_wire_begin(), collection = sp_wire_begin();

	for (int i = 0; i < count; i++)
		sp_wire_text(&list, 1, name);
	sp_wire_message(&collection, NODE_LIST, &list);
	add_entry(meta, COLLECTION, key, &collection);
}

static sp_buffer asset(const char *tensor, const char *filename)
{
	sp_buffer out = sp_wire_begin(), info = tensor_info(tensor, SP_STRING);

	sp_wire_message(&out, 1, &info);
	sp_wire_text(&out, 2, filename);
	return out;
}

static void the_tag_set_must_be_exactly_serve(void **state)
{
	static const char *const train[] = {"serve", "train", NULL}, *const gpu[] = {"gpu", NULL};
	sp_buffer m = sp_wire_begin(), first = metagraph(train), second = metagraph(gpu);
	sp_buffer third = serving();
	sp_error err;
	sp_saved_model model;

	add_signature(&third, "third");
	sp_wire_message(&m, META_GRAPH, &first);
	sp_wire_message(&m, META_GRAPH, &second);
	sp_wire_message(&m, META_GRAPH, &third);
	assert_ok(parse(&model, &m, state, &err), &err);
	assert_int_equal(model.signature_count, 1);
	assert_string_equal(model.signatures[0].name, "third");
}

static void the_only_metagraph_needs_no_tag(void **state)
{
	sp_buffer meta = metagraph(NULL);
	sp_error err;
	sp_saved_model model;

	assert_ok(parse_meta(&model, &meta, state, &err), &err);
	assert_int_equal(model.graph.node_count, 1);
	assert_null(model.saver.filename_tensor);
	assert_null(model.incremental_saver.filename_tensor);
	assert_null(model.init_op);
	assert_int_equal(model.asset_count, 0);
	assert_null(sp_saved_model_signature(&model, "serving_default"));
}

static void without_a_metagraph_to_take_nothing_is_found(void **state)
{
	static const char *const train[] = {"train", NULL}, *const eval[] = {"eval", NULL};
	sp_buffer m = sp_wire_begin(), first = metagraph(train), second = metagraph(eval);
	sp_buffer none = sp_wire_begin();
	sp_saved_model model;

	sp_wire_message(&m, META_GRAPH, &first);
	sp_wire_message(&m, META_GRAPH, &second);
	assert_int_equal(parse(&model, &m, state, NULL), SP_NOT_FOUND);
	sp_wire_varint(&none, VERSION, 1);
	assert_int_equal(parse(&model, &none, state, NULL), SP_NOT_FOUND);
}

static void another_schema_version_is_refused(void **state)
{
	sp_buffer m = sp_wire_begin(), meta = serving();
	sp_saved_model model;

	sp_wire_varint(&m, VERSION, 2);
	sp_wire_message(&m, META_GRAPH, &meta);
	assert_int_equal(parse(&model, &m, state, NULL), SP_UNSUPPORTED);
}

static void signatures_and_aliases_are_sorted(void **state)
{
	sp_buffer meta = serving(), signature = sp_wire_begin(), info;
	const sp_signature *found;
	sp_error err;
	sp_saved_model model;

	add_tensor(&signature, INPUTS, "b", "second:0");
	info = tensor_info("first:1", SP_INT64);
	sp_wire_bytes(&info, INFO_SHAPE, (sp_bytes){"\x12\x02\x08\x05", 4});
	add_entry(&signature, INPUTS, "a", &info);
	add_tensor(&signature, OUTPUTS, "out", "out:0");
	sp_wire_text(&signature, METHOD, "m");
	add_signature(&meta, "z");
	add_entry(&meta, SIGNATURE, "k", &signature);
	add_signature(&meta, "a");
	assert_ok(parse_meta(&model, &meta, state, &err), &err);

	assert_int_equal(model.signature_count, 3);
	assert_string_equal(model.signatures[0].name, "a");
	assert_string_equal(model.signatures[2].name, "z");
	found = sp_saved_model_signature(&model, "k");
	assert_ptr_equal(found, &model.signatures[1]);
	assert_string_equal(found->method, "m");
	assert_int_equal(found->input_count, 2);
	assert_string_equal(found->inputs[0].alias, "a");
	assert_string_equal(found->inputs[0].tensor_name, "first:1");
	assert_int_equal(found->inputs[0].dtype, SP_INT64);
	assert_int_equal(found->inputs[0].shape.rank, 1);
	assert_int_equal(found->inputs[0].shape.dims[0], 5);
	assert_int_equal(found->inputs[1].shape.rank, -1);
	assert_int_equal(found->output_count, 1);
	assert_null(sp_saved_model_signature(&model, "none"));
}

static void what_is_given_twice_is_refused(void **state)
{
	sp_buffer meta = serving(), other = serving(), signature = sp_wire_begin();
	sp_error err;
	sp_saved_model model;

	add_signature(&meta, "s");
	add_signature(&meta, "s");
	assert_int_equal(parse_meta(&model, &meta, state, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "signature s"));
	add_tensor(&signature, INPUTS, "x", "a:0");
	add_tensor(&signature, INPUTS, "x", "b:0");
	add_entry(&other, SIGNATURE, "t", &signature);
	assert_int_equal(parse_meta(&model, &other, state, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "signature t: tensor x"));
}

static const sp_signature *parse_signature(sp_buffer *signature, void **state)
{
	sp_saved_model *model = sp_arena_alloc(*state, sizeof(*model));
	sp_buffer meta = serving();
	sp_error err;

	assert_non_null(model);
	add_entry(&meta, SIGNATURE, "s", signature);
	assert_ok(parse_meta(model, &meta, state, &err), &err);
	return sp_saved_model_signature(model, "s");
}

static void a_sparse_tensor_is_three(void **state)
{
	sp_buffer signature = sp_wire_begin(), info = sp_wire_begin(), sparse = sp_wire_begin();
	const sp_signature *read;

	sp_wire_text(&sparse, 1, "v:1");
	sp_wire_text(&sparse, 2, "i:0");
	sp_wire_text(&sparse, 3, "s:2");
	sp_wire_message(&info, INFO_SPARSE, &sparse);
	sp_wire_varint(&info, INFO_DTYPE, SP_FLOAT);
	add_entry(&signature, INPUTS, "x", &info);
	add_tensor(&signature, INPUTS, "x/last", "y:0");
	read = parse_signature(&signature, state);
	assert_int_equal(read->input_count, 4);
	assert_string_equal(read->inputs[0].alias, "x/indices");
	assert_string_equal(read->inputs[0].tensor_name, "i:0");
	assert_int_equal(read->inputs[0].dtype, SP_INT64);
	assert_int_equal(read->inputs[0].shape.rank, 2);
	assert_string_equal(read->inputs[1].alias, "x/last");
	assert_string_equal(read->inputs[2].alias, "x/shape");
	assert_string_equal(read->inputs[2].tensor_name, "s:2");
	assert_int_equal(read->inputs[2].shape.dims[0], -1);
	assert_string_equal(read->inputs[3].alias, "x/values");
	assert_string_equal(read->inputs[3].tensor_name, "v:1");
	assert_int_equal(read->inputs[3].dtype, SP_FLOAT);
}

static void a_composite_tensor_is_its_parts(void **state)
{
	sp_buffer signature = sp_wire_begin(), info = sp_wire_begin(), composite = sp_wire_begin();
	sp_buffer parts[3] = {tensor_info("values:0", SP_STRING), tensor_info("splits:0", SP_INT64),
			      sp_wire_begin()};
	const sp_signature *read;

	/* The third is made of several itself: what it would be called nobody knows. */
	sp_wire_bytes(&parts[2], INFO_SPARSE, (sp_bytes){"\x0a\x03v:0", 5});
	for (size_t i = 0; i < 3; i++)
		sp_wire_message(&composite, 2, &parts[i]);
	sp_wire_message(&info, INFO_COMPOSITE, &composite);
	add_entry(&signature, OUTPUTS, "r", &info);
	read = parse_signature(&signature, state);
	assert_int_equal(read->output_count, 3);
	assert_string_equal(read->outputs[0].alias, "r/0");
	assert_string_equal(read->outputs[0].tensor_name, "values:0");
	assert_int_equal(read->outputs[0].dtype, SP_STRING);
	assert_string_equal(read->outputs[1].alias, "r/1");
	assert_string_equal(read->outputs[1].tensor_name, "splits:0");
	assert_string_equal(read->outputs[2].tensor_name, "");
}

/* A signature with the input x, a float, and a default of `alias`. */
static sp_buffer with_default(const char *alias, sp_dtype dtype)
{
	sp_buffer signature = sp_wire_begin(), value = sp_wire_begin();

	add_tensor(&signature, INPUTS, "x", "x:0");
	add_tensor(&signature, INPUTS, "y", "y:0");
	sp_wire_varint(&value, 1, dtype);
	sp_wire_bytes(&value, 4, (sp_bytes){"\0\0\x20\x41", 4});
	add_entry(&signature, DEFAULTS, alias, &value);
	return signature;
}

static void an_input_may_have_a_default(void **state)
{
	sp_buffer signature = with_default("x", SP_FLOAT);
	const sp_signature *read = parse_signature(&signature, state);

	assert_non_null(read->inputs[0].default_value);
	assert_int_equal(read->inputs[0].default_value->shape.rank, 0);
	assert_true(*(const float *)read->inputs[0].default_value->data == 10.0F);
	assert_null(read->inputs[1].default_value);
}

static void a_default_fits_an_input(void **state)
{
	static const struct {
		const char *alias;
		sp_dtype dtype;
		const char *words;
	} wrong[] = {{"z", SP_FLOAT, "the default of z has no input"},
		     {"x", SP_INT32, "the default of x is DT_INT32, not DT_FLOAT"}};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		sp_buffer meta = serving(),
			  signature = with_default(wrong[i].alias, wrong[i].dtype);
		sp_saved_model model;
		sp_error err;

		add_entry(&meta, SIGNATURE, "s", &signature);
		assert_int_equal(parse_meta(&model, &meta, state, &err), SP_CORRUPT);
		assert_non_null(strstr(err.text, wrong[i].words));
	}
}

static void savers_are_read_where_they_are_whole(void **state)
{
	sp_buffer meta = serving(), saver = sp_wire_begin(), incr = sp_wire_begin();
	sp_buffer other = serving(), half = sp_wire_begin();
	sp_error err;
	sp_saved_model model;

	sp_wire_text(&saver, SAVER_FILENAME, "save/Const:0");
	sp_wire_text(&saver, 2, "save/Identity:0");
	sp_wire_text(&saver, SAVER_RESTORE, "save/restore_all");
	sp_wire_message(&meta, SAVER, &saver);
	sp_wire_text(&incr, SAVER_FILENAME, "incr_save/Const:0");
	sp_wire_text(&incr, SAVER_RESTORE, "incr_save/restore_all");
	sp_wire_message(&meta, INCR, &incr);
	assert_ok(parse_meta(&model, &meta, state, &err), &err);
	assert_string_equal(model.saver.filename_tensor, "save/Const:0");
	assert_string_equal(model.saver.restore_op, "save/restore_all");
	assert_string_equal(model.incremental_saver.filename_tensor, "incr_save/Const:0");
	assert_string_equal(model.incremental_saver.restore_op, "incr_save/restore_all");

	sp_wire_text(&half, SAVER_FILENAME, "save/Const:0");
	sp_wire_message(&other, SAVER, &half);
	assert_ok(parse_meta(&model, &other, state, &err), &err);
	assert_null(model.saver.filename_tensor);
	assert_null(model.saver.restore_op);
}

static const char *init_op_of(sp_buffer *meta, void **state)
{
	sp_error err;
	sp_saved_model model;

	assert_ok(parse_meta(&model, meta, state, &err), &err);
	return model.init_op;
}

static void the_init_op_goes_by_preference(void **state)
{
	sp_buffer all = serving(), two = serving(), one = serving();

	add_nodes(&all, "legacy_init_op", 1, "legacy");
	add_nodes(&all, "saved_model_main_op", 1, "main");
	add_init_signature(&all, "__saved_model_init_op", "signature");
	assert_string_equal(init_op_of(&all, state), "signature");
	add_nodes(&two, "legacy_init_op", 1, "legacy");
	add_nodes(&two, "saved_model_main_op", 1, "main");
	assert_string_equal(init_op_of(&two, state), "main");
	add_nodes(&one, "legacy_init_op", 1, "legacy");
	assert_string_equal(init_op_of(&one, state), "legacy");
}

static void an_init_op_collection_holds_one_node(void **state)
{
	for (int count = 0; count <= 2; count++) {
		sp_buffer meta = serving();
		sp_saved_model model;

		add_nodes(&meta, "saved_model_main_op", count, "main");
		assert_int_equal(parse_meta(&model, &meta, state, NULL),
				 count == 1 ? SP_OK : SP_CORRUPT);
	}
}

static void an_init_signature_must_name_its_operation(void **state)
{
	sp_buffer meta = serving();
	sp_saved_model model;

	add_init_signature(&meta, "other", "op");
	assert_int_equal(parse_meta(&model, &meta, state, NULL), SP_CORRUPT);
}

static void the_init_signature_is_not_for_clients(void **state)
{
	sp_buffer meta = serving();
	sp_error err;
	sp_saved_model model;

	add_signature(&meta, "s");
	add_init_signature(&meta, "__saved_model_init_op", "op");
	assert_ok(parse_meta(&model, &meta, state, &err), &err);
	assert_int_equal(model.signature_count, 1);
}

static void add_packed_asset(sp_buffer *meta, const char *type, sp_buffer *value)
{
	sp_buffer any = sp_wire_begin(), list = sp_wire_begin(), collection = sp_wire_begin();

	sp_wire_text(&any, 1, type);
	sp_wire_message(&any, 2, value);
	sp_wire_message(&list, 1, &any);
	sp_wire_message(&collection, ANY_LIST, &list);
	add_entry(meta, COLLECTION, "saved_model_assets", &collection);
}

static void assets_come_from_the_field_or_the_collection(void **state)
{
	static const char type[] = "type.googleapis.com/tensorflow.AssetFileDef";
	sp_buffer meta = serving(), packed = asset("c:0", "collection.txt");
	sp_buffer both = serving(), again = asset("c:0", "collection.txt");
	sp_buffer field = asset("f:0", "sub/field.txt");
	sp_error err;
	sp_saved_model model;

	add_packed_asset(&meta, type, &packed);
	assert_ok(parse_meta(&model, &meta, state, &err), &err);
	assert_int_equal(model.asset_count, 1);
	assert_string_equal(model.assets[0].tensor_name, "c:0");
	assert_string_equal(model.assets[0].filename, "collection.txt");

	add_packed_asset(&both, type, &again);
	sp_wire_message(&both, ASSET, &field);
	assert_ok(parse_meta(&model, &both, state, &err), &err);
	assert_int_equal(model.asset_count, 1);
	assert_string_equal(model.assets[0].filename, "sub/field.txt");
}

static void a_packed_asset_must_be_one(void **state)
{
	sp_buffer meta = serving(), other = asset("c:0", "file"), torn = serving();
	sp_buffer broken = sp_wire_begin();
	sp_saved_model model;

	add_packed_asset(&meta, "type.googleapis.com/tensorflow.SaverDef", &other);
	assert_int_equal(parse_meta(&model, &meta, state, NULL), SP_CORRUPT);
	sp_wire_number(&broken, 0x0a);
	add_packed_asset(&torn, "type.googleapis.com/tensorflow.AssetFileDef", &broken);
	assert_int_equal(parse_meta(&model, &torn, state, NULL), SP_CORRUPT);
}

static void assets_stay_in_their_folder(void **state)
{
	static const char *const wrong[] = {"",     "/etc/passwd", "..",  "../x", "a/../../x",
					    "a//b", "a/",          "./a", ".",    "a/.."};
	static const char *const good[] = {"a", "a/b.txt", "..a", "a..", "...", "a/.b"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		sp_buffer meta = serving(), a = asset("f:0", wrong[i]);
		sp_saved_model model;

		sp_wire_message(&meta, ASSET, &a);
		assert_int_equal(parse_meta(&model, &meta, state, NULL), SP_CORRUPT);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		sp_buffer meta = serving(), a = asset("f:0", good[i]);
		sp_error err;
		sp_saved_model model;

		sp_wire_message(&meta, ASSET, &a);
		assert_ok(parse_meta(&model, &meta, state, &err), &err);
	}
}

static void names_with_a_nul_are_refused(void **state)
{
	sp_buffer meta = serving(), entry = sp_wire_begin();
	sp_saved_model model;

	sp_wire_bytes(&entry, KEY, (sp_bytes){"serving\0default", 15});
	sp_wire_bytes(&entry, VALUE, (sp_bytes){"", 0});
	sp_wire_message(&meta, SIGNATURE, &entry);
	assert_int_equal(parse_meta(&model, &meta, state, NULL), SP_CORRUPT);
}

static void a_metagraph_without_graph_is_refused(void **state)
{
	sp_buffer meta = sp_wire_begin();
	sp_saved_model model;

	sp_wire_bytes(&meta, META_INFO, (sp_bytes){"", 0});
	assert_int_equal(parse_meta(&model, &meta, state, NULL), SP_CORRUPT);
}

static void write_file(const char *directory, const char *name, sp_bytes content)
{
	char path[SP_PATH_SIZE];
	FILE *file;

	assert_true((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) < sizeof(path));
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(content.data, 1, content.size, file), content.size);
	assert_int_equal(fclose(file), 0);
}

static void another_form_is_refused_by_name(void **state)
{
	char directory[SP_PATH_SIZE];
	sp_error err;
	sp_saved_model model;

	sp_temp_make(directory);
	assert_int_equal(sp_saved_model_read(&model, directory, NULL, *state, &err), SP_NOT_FOUND);
	assert_non_null(strstr(err.text, "no saved_model.pb in"));
	write_file(directory, "saved_model.cpb", sp_bytes_of("x"));
	assert_int_equal(sp_saved_model_read(&model, directory, NULL, *state, &err),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "'saved_model.cpb', a SavedModel in chunks"));
	sp_temp_remove(directory);
}

static void text_is_read_where_nothing_binary_is(void **state)
{
	char directory[SP_PATH_SIZE];
	sp_error err;
	sp_saved_model model;

	sp_temp_make(directory);
	write_file(directory, "saved_model.pbtxt",
		   sp_bytes_of("saved_model_schema_version: 1\nmeta_graphs {\n  graph_def { node { "
			       "name: \"n\" op: \"NoOp\" } }\n}\n"));
	assert_ok(sp_saved_model_read(&model, directory, NULL, *state, &err), &err);
	assert_int_equal(model.graph.node_count, 1);
	assert_string_equal(model.graph.nodes[0].name, "n");
	write_file(directory, "saved_model.pb", sp_bytes_of("version https://git-lfs"));
	assert_int_equal(sp_saved_model_read(&model, directory, NULL, *state, &err), SP_CORRUPT);
	sp_temp_remove(directory);
}

static void broken_text_is_named_with_its_line(void **state)
{
	char directory[SP_PATH_SIZE];
	sp_error err;
	sp_saved_model model;

	sp_temp_make(directory);
	write_file(directory, "saved_model.pbtxt",
		   sp_bytes_of("meta_graphs {\n  graph_def: 3\n}\n"));
	assert_int_equal(sp_saved_model_read(&model, directory, NULL, *state, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "saved_model.pbtxt: line 2: a message is missing"));
	sp_temp_remove(directory);
}

static void a_graph_may_be_text(void **state)
{
	static const struct {
		const char *text;
		size_t signature_count;
	} graphs[] = {
		{"node { name: \"n\" op: \"NoOp\" } versions { producer: 21 }", 0},
		{"graph_def { node { name: \"n\" op: \"NoOp\" } } signature_def { key: \"s\" value "
		 "{ method_name: \"m\" } }",
		 1}};

	for (size_t i = 0; i < sizeof(graphs) / sizeof(*graphs); i++) {
		char directory[SP_PATH_SIZE];
		const char *path;
		sp_error err;
		sp_saved_model model;

		sp_temp_make(directory);
		write_file(directory, "graph.pbtxt", sp_bytes_of(graphs[i].text));
		path = sp_arena_printf(*state, "%s/graph.pbtxt", directory);
		assert_ok(sp_saved_model_read_graph(&model, path, *state, &err), &err);
		assert_int_equal(model.graph.node_count, 1);
		assert_int_equal(model.signature_count, graphs[i].signature_count);
		sp_temp_remove(directory);
	}
}

static void a_file_that_is_none_is_named(void **state)
{
	char directory[SP_PATH_SIZE];
	sp_error err;
	sp_saved_model model;

	sp_temp_make(directory);
	write_file(directory, "saved_model.pb", sp_bytes_of("version https://git-lfs"));
	assert_int_equal(sp_saved_model_read(&model, directory, NULL, *state, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "saved_model.pb: this is a pointer of Git LFS"));
	sp_temp_remove(directory);
}

static void a_graph_by_the_name_of_a_saved_model_is_named(void **state)
{
	sp_buffer meta = serving(), graph = sp_wire_begin(), node = sp_wire_begin();
	sp_saved_model model;
	sp_error err;

	assert_int_equal(parse(&model, &meta, state, &err), SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "this is a MetaGraphDef and no SavedModel"));
	assert_non_null(strstr(err.text, "'graph_file' serves it"));
	sp_wire_text(&node, 1, "n");
	sp_wire_text(&node, 2, "NoOp");
	sp_wire_message(&graph, 1, &node);
	assert_int_equal(parse(&model, &graph, state, &err), SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "this is a GraphDef and no SavedModel"));
	/* A string in field 1, as both have there, and nothing else of either. */
	node = sp_wire_begin();
	sp_wire_text(&node, 1, "n");
	assert_int_equal(parse(&model, &node, state, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "not a message of this type"));
}

/* ------------------------------------------- models that TensorFlow exported */

static sp_saved_model read_fixture(const char *relative, void **state)
{
	char path[SP_PATH_SIZE];
	sp_saved_model model;
	sp_error err;

	assert_ok(sp_saved_model_read(&model, sp_source_path(path, relative), NULL, *state, &err),
		  &err);
	return model;
}

static const sp_node_def *find_node(const sp_node_def *nodes, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(nodes[i].name, name) == 0)
			return &nodes[i];
	fail_msg("there is no node %s", name);
	return NULL;
}

/* What scripts/make_saved_model_fixtures.py put into the model. */
static void a_model_of_the_first_generation_is_read(void **state)
{
	sp_saved_model model = read_fixture("tests/golden/saved_models/v1", state);
	const sp_signature *signature = sp_saved_model_signature(&model, "serving_default");
	const sp_node_def *node;
	const sp_attr *attr;

	assert_int_equal(model.signature_count, 2);
	assert_string_equal(model.signatures[0].name, "ids");
	assert_non_null(signature);
	assert_string_equal(signature->method, "tensorflow/serving/predict");
	assert_int_equal(signature->input_count, 1);
	assert_string_equal(signature->inputs[0].alias, "words");
	assert_string_equal(signature->inputs[0].tensor_name, "words:0");
	assert_int_equal(signature->inputs[0].dtype, SP_STRING);
	assert_int_equal(signature->inputs[0].shape.rank, 1);
	assert_int_equal(signature->inputs[0].shape.dims[0], -1);
	assert_string_equal(signature->outputs[0].tensor_name, "scores:0");
	assert_int_equal(signature->outputs[0].dtype, SP_FLOAT);

	assert_non_null(strstr(model.saver.restore_op, "restore_all"));
	find_node(model.graph.nodes, model.graph.node_count, model.saver.restore_op);
	assert_non_null(model.init_op);
	find_node(model.graph.nodes, model.graph.node_count, model.init_op);
	assert_int_equal(model.asset_count, 1);
	assert_string_equal(model.assets[0].filename, "words.txt");

	node = find_node(model.graph.nodes, model.graph.node_count, "weights/part_0");
	assert_string_equal(node->op, "VariableV2");
	attr = sp_attr_find(node->attrs, node->attr_count, "shape");
	assert_int_equal(attr->kind, SP_ATTR_SHAPE);
	assert_int_equal(attr->shape->rank, 1);
	assert_int_equal(attr->shape->dims[0], 4);
	attr = sp_attr_find(node->attrs, node->attr_count, "dtype");
	assert_int_equal(attr->kind, SP_ATTR_TYPE);
	assert_int_equal(attr->type, SP_FLOAT);
}

static bool calls(const sp_function_def *function, const char *op)
{
	for (size_t i = 0; i < function->node_count; i++)
		if (strcmp(function->nodes[i].op, op) == 0)
			return true;
	return false;
}

static void a_model_of_the_second_generation_is_read(void **state)
{
	sp_saved_model model = read_fixture("tests/golden/saved_models/v2", state);
	const sp_signature *signature = sp_saved_model_signature(&model, "serving_default");
	size_t ifs = 0, whiles = 0;

	assert_int_equal(model.signature_count, 1);
	assert_non_null(signature);
	assert_int_equal(signature->input_count, 2);
	assert_string_equal(signature->inputs[0].alias, "small");
	assert_string_equal(signature->inputs[0].tensor_name, "serving_default_small:0");
	assert_int_equal(signature->inputs[0].shape.rank, 0);
	assert_int_equal(signature->inputs[1].dtype, SP_STRING);
	assert_int_equal(signature->output_count, 2);
	assert_string_equal(signature->outputs[0].alias, "count");
	assert_int_equal(signature->outputs[0].dtype, SP_INT32);
	assert_string_equal(model.init_op, "NoOp");
	assert_string_equal(model.saver.filename_tensor, "saver_filename:0");
	assert_int_equal(model.asset_count, 1);

	for (size_t i = 0; i < model.graph.function_count; i++) {
		const sp_function_def *function = &model.graph.functions[i];

		ifs += calls(function, "If") || calls(function, "StatelessIf");
		whiles += calls(function, "While") || calls(function, "StatelessWhile");
		for (size_t k = 0; k < function->output_count; k++)
			assert_string_equal(function->returns[k].name, function->outputs[k].name);
	}
	assert_int_equal(ifs, 1);
	assert_true(whiles >= 1);
}

/* A folder of whole models beside the source tree. */
static void whole_models_are_read(void **state)
{
	char path[SP_PATH_SIZE];
	struct dirent *entry;
	DIR *folder = opendir(sp_source_path(path, "../shared/golden"));

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		char model[SP_PATH_SIZE + 512];
		sp_saved_model out;
		sp_error err;

		snprintf(model, sizeof(model), "%s/%s/model", path, entry->d_name);
		if (entry->d_name[0] != '.' && sp_file_is_directory(model))
			assert_ok(sp_saved_model_read(&out, model, NULL, *state, &err), &err);
	}
	if (folder == NULL)
		skip();
	closedir(folder);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_tag_set_must_be_exactly_serve),
		TEST(the_only_metagraph_needs_no_tag),
		TEST(without_a_metagraph_to_take_nothing_is_found),
		TEST(another_schema_version_is_refused),
		TEST(signatures_and_aliases_are_sorted),
		TEST(what_is_given_twice_is_refused),
		TEST(a_sparse_tensor_is_three),
		TEST(a_composite_tensor_is_its_parts),
		TEST(an_input_may_have_a_default),
		TEST(a_default_fits_an_input),
		TEST(savers_are_read_where_they_are_whole),
		TEST(the_init_op_goes_by_preference),
		TEST(an_init_op_collection_holds_one_node),
		TEST(an_init_signature_must_name_its_operation),
		TEST(the_init_signature_is_not_for_clients),
		TEST(assets_come_from_the_field_or_the_collection),
		TEST(a_packed_asset_must_be_one),
		TEST(assets_stay_in_their_folder),
		TEST(names_with_a_nul_are_refused),
		TEST(a_metagraph_without_graph_is_refused),
		TEST(another_form_is_refused_by_name),
		TEST(text_is_read_where_nothing_binary_is),
		TEST(broken_text_is_named_with_its_line),
		TEST(a_graph_may_be_text),
		TEST(a_file_that_is_none_is_named),
		TEST(a_graph_by_the_name_of_a_saved_model_is_named),
		TEST(a_model_of_the_first_generation_is_read),
		TEST(a_model_of_the_second_generation_is_read),
		TEST(whole_models_are_read),
	};

	return cmocka_run_group_tests_name("saved_model", tests, NULL, NULL);
}
