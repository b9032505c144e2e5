#ifndef SERVING_PROCESSOR_H
#define SERVING_PROCESSOR_H

#include <stddef.h>
#include <stdint.h>

/*
 * libserving_processor: online inference for click-through-rate and recommendation models.
 *
 * Part 1 is DeepRec's C ABI: four functions, enough to serve a model.  Part 2 is extras with the
 * prefix serving_processor_: error details, signatures, inference on typed tensors without
 * protobuf, handles on one version, and orders about versions.
 *
 * Threads: every function may be called from any thread, several at once on one model, except that
 * serving_processor_destroy() must be the last call on its model.
 *
 * Nothing here aborts, exits, or prints to standard output.  A NULL where a pointer is needed is an
 * error, not a crash.
 *
 * Signals: while a model has files mapped (an image, rows of DeepRec's SSD tier) the library has a
 * handler for SIGBUS installed, so that a truncated file is an error and does not end the process.
 * The handler deals with faults in these files only and passes all others to the handler installed
 * before it, which is restored when the last such file is closed.  A host that installs its own
 * handler meanwhile must pass faults at addresses that it does not know to the handler it replaced,
 * and must not unload the library.  No other signal is touched.
 */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SERVING_PROCESSOR_API __attribute__((visibility("default")))
#else
#define SERVING_PROCESSOR_API
#endif

/* ------------------------------------------------------ 1. DeepRec's C ABI */

/*
 * Opens a model.
 *
 * model_entry   ignored; may be NULL
 * model_config  JSON text, see docs/configuration.md
 * state         0 on success, -1 on failure; may be NULL
 *
 * Returns the model, or NULL after logging the reason.
 */
SERVING_PROCESSOR_API void *initialize(const char *model_entry, const char *model_config,
				       int *state);

/*
 * Answers one request.
 *
 * input_data   a serialized tensorflow.eas.PredictRequest; with input_size 0
 *              it is not read, and the answer is the signature of the
 *              live version as JSON
 * output_data  a malloc() block that the caller frees, of *output_size bytes followed by a
 *              NUL: a serialized PredictResponse, or an error text
 *
 * Returns 200, or 500 for any failure; with "status_codes": "http" in the configuration 400 for a
 * wrong request, 404 for an unknown signature, 503 for no session or no memory in time, 504 for a
 * deadline, and 500 for the rest.  Failures are logged, within a rate limit
 * (docs/configuration.md).  With output_data or output_size NULL it returns 500 and writes
 * nothing.
 */
SERVING_PROCESSOR_API int process(void *model_buf, const void *input_data, int input_size,
				  void **output_data, int *output_size);

/*
 * As process() for element 0 of each array: input_data[0] of input_size[0] bytes gives
 * output_data[0] of output_size[0] bytes.  DeepRec's prototype has no count, and its implementation
 * also takes exactly one request, so no element but 0 is read or written.  A host that has several
 * requests calls process() from several threads, or serving_processor_submit().
 */
SERVING_PROCESSOR_API int batch_process(void *model_buf, const void *input_data[], int *input_size,
					void *output_data[], int *output_size);

/*
 * Sets *output_data to a serialized tensorflow.eas.ServingModelInfo in a malloc() block: the prefix
 * of the live full checkpoint, the folder of the live numbered SavedModel, or an empty string for a
 * single SavedModel.  Returns 200 or 500.
 */
SERVING_PROCESSOR_API int get_serving_model_info(void *model_buf, void **output_data,
						 int *output_size);

/* --------------------------------------------------------------- 2. Extras */

/* "0.1.0".  Never freed. */
SERVING_PROCESSOR_API const char *serving_processor_version(void);

/* Raised by a change of this header that existing callers must adapt to. */
#define SERVING_PROCESSOR_ABI 1
SERVING_PROCESSOR_API int serving_processor_abi(void);

typedef enum serving_processor_code {
	SERVING_PROCESSOR_OK = 0,
	SERVING_PROCESSOR_NOT_FOUND = 1,   /* no such signature, file, ... */
	SERVING_PROCESSOR_INVALID = 2,     /* the request or the configuration is wrong */
	SERVING_PROCESSOR_UNSUPPORTED = 3, /* well formed, but beyond this version */
	SERVING_PROCESSOR_CORRUPT = 4,     /* a file's bytes break their own format */
	SERVING_PROCESSOR_IO = 5,
	SERVING_PROCESSOR_NO_MEMORY = 6,
	SERVING_PROCESSOR_BUSY = 7,
	SERVING_PROCESSOR_DEADLINE = 8,
	SERVING_PROCESSOR_INTERNAL = 9,
	SERVING_PROCESSOR_CANCELLED = 10, /* by the flag of serving_processor_run_options */
} serving_processor_code;

/* Made by a function that failed; the caller frees it. */
typedef struct serving_processor_error serving_processor_error;

/* For NULL: SERVING_PROCESSOR_OK and "". */
SERVING_PROCESSOR_API serving_processor_code
serving_processor_error_code(const serving_processor_error *error);
SERVING_PROCESSOR_API const char *serving_processor_error_text(
	const serving_processor_error *error);
SERVING_PROCESSOR_API void serving_processor_error_free(serving_processor_error *error);

/*
 * level: 0 debug, 1 info, 2 warning, 3 error.  `line` has neither time nor level; it begins with
 * the name of its model, if any: "[ctr] version 100 is live".  It is valid during the call only.
 */
typedef void serving_processor_log_sink(void *context, int level, const char *line);

/*
 * Sets where log lines go; NULL is standard error, in the format of docs/configuration.md.
 * The sink may be called from any thread and must not call back into the library.
 */
SERVING_PROCESSOR_API void serving_processor_set_log(serving_processor_log_sink *sink,
						     void *context);

/* Lines below `level` are dropped; initially 1. */
SERVING_PROCESSOR_API void serving_processor_set_log_level(int level);
SERVING_PROCESSOR_API int serving_processor_log_level(void);

/*
 * Sets level and format of log lines from a configuration (log_level, log_format), which
 * serving_processor_create() does as well.  Errors in the configuration are ignored here and
 * reported there.
 */
SERVING_PROCESSOR_API void serving_processor_configure_log(const char *model_config);

/* Logs a line of the host; model NULL: without the name of a model. */
SERVING_PROCESSOR_API void serving_processor_log(int level, const char *model, const char *line);

/* As initialize(), with the reason in *error (may be NULL) when it returns NULL. */
SERVING_PROCESSOR_API void *serving_processor_create(const char *model_config,
						     serving_processor_error **error);

/*
 * A copy of a configuration in which the members of the JSON object `overrides`, such as
 * {"model_name": "ctr"}, replace or add to its own.  A model_name that is replaced stays the
 * model's name in Redis and in topics (redis_model, row_stream_model).  The caller frees the copy
 * with serving_processor_free(); NULL on failure, with the reason in *error (may be NULL).
 */
SERVING_PROCESSOR_API char *serving_processor_override_config(const char *model_config,
							      const char *overrides,
							      serving_processor_error **error);

/* Closes a model; joins the threads that it started.  NULL is fine. */
SERVING_PROCESSOR_API void serving_processor_destroy(void *model);

/* Frees a block that a function of this header returned.  NULL is fine. */
SERVING_PROCESSOR_API void serving_processor_free(void *data);

/* Element types: the numbers of TensorFlow's DataType. */
enum {
	SERVING_PROCESSOR_FLOAT = 1,
	SERVING_PROCESSOR_DOUBLE = 2,
	SERVING_PROCESSOR_INT32 = 3,
	SERVING_PROCESSOR_UINT8 = 4,
	SERVING_PROCESSOR_INT16 = 5,
	SERVING_PROCESSOR_INT8 = 6,
	SERVING_PROCESSOR_STRING = 7,
	SERVING_PROCESSOR_COMPLEX64 = 8,
	SERVING_PROCESSOR_INT64 = 9,
	SERVING_PROCESSOR_BOOL = 10,
	SERVING_PROCESSOR_BFLOAT16 = 14,
	SERVING_PROCESSOR_UINT16 = 17,
	SERVING_PROCESSOR_COMPLEX128 = 18,
	SERVING_PROCESSOR_HALF = 19,
	SERVING_PROCESSOR_UINT32 = 22,
	SERVING_PROCESSOR_UINT64 = 23,
};

/* "DT_FLOAT" ...; "DT_INVALID" for an unknown number. */
SERVING_PROCESSOR_API const char *serving_processor_dtype_name(int dtype);

/* The element of a string tensor: a view of any bytes, not terminated. */
typedef struct serving_processor_bytes {
	const char *data;
	size_t size;
} serving_processor_bytes;

/*
 * A dense row-major tensor: a view.
 *
 * data  `count` elements: native floats and integers, one byte (0 or 1) per
 *       bool, 16 bits per half and bfloat16, serving_processor_bytes per string
 */
typedef struct serving_processor_tensor {
	const char *name; /* a signature's alias, or a tensor's name */
	int dtype;
	int rank; /* 0 is a scalar */
	const int64_t *dims;
	size_t count; /* the product of the dims */
	const void *data;
} serving_processor_tensor;

/* The outputs of a run. */
typedef struct serving_processor_result serving_processor_result;

/*
 * Runs a signature of the live version.
 *
 * signature  its key; NULL is the configured one
 * inputs     [input_count]; each name is an alias of the signature or the name of its
 *            tensor; read during the call only
 * outputs    [output_count] names to compute, in that order; 0 means all, in the order of
 *            the signature
 * result     set on success; the caller frees it
 * error      set on failure unless NULL; the caller frees it.  Such failures are not logged
 */
SERVING_PROCESSOR_API serving_processor_code
serving_processor_run(void *model, const char *signature, const serving_processor_tensor *inputs,
		      size_t input_count, const char *const *outputs, size_t output_count,
		      serving_processor_result **result, serving_processor_error **error);

SERVING_PROCESSOR_API size_t serving_processor_result_count(const serving_processor_result *result);

/*
 * Output i, with the name that the caller gave or its alias; owned by `result`.  All outputs are
 * one array: the tensor of output i + 1 follows that of output i.
 */
SERVING_PROCESSOR_API const serving_processor_tensor *serving_processor_result_tensor(
	const serving_processor_result *result, size_t i);

SERVING_PROCESSOR_API void serving_processor_result_free(serving_processor_result *result);

/* As process(), for any signature of the model. */
SERVING_PROCESSOR_API int serving_processor_process(void *model, const char *signature,
						    const void *input_data, int input_size,
						    void **output_data, int *output_size);

/* A tensor as declared by a signature.  rank -1: unknown; a dim of -1: any length. */
typedef struct serving_processor_tensor_info {
	const char *alias;
	const char *tensor_name;
	int dtype;
	int rank;
	const int64_t *dims;
} serving_processor_tensor_info;

/*
 * A handle on one version of the model.
 *
 * A newer version may have other signatures: more inputs, other types, other names.  process() and
 * serving_processor_run() read a request by the signature of the version that answers it.  A caller
 * that builds its request from a signature acquires a handle first, so that the version with this
 * signature runs the request, even if another is live by then.
 *
 * A held version stays in memory with its graph and weights, and is listed as draining once another
 * is live.  Since that costs the memory of a model, acquire a handle per request and release it
 * soon; that takes a few atomic instructions, no lock and no allocation.  Release all handles
 * before the model is destroyed.
 *
 * Threads: a handle may be used by several threads at once, and released by any.
 */
typedef struct serving_processor_handle serving_processor_handle;

/* Acquires the live version; NULL for a NULL model. */
SERVING_PROCESSOR_API serving_processor_handle *serving_processor_acquire(void *model);

/* NULL is fine. */
SERVING_PROCESSOR_API void serving_processor_release(serving_processor_handle *handle);

/* As serving_processor_model_version(), for the held version. */
SERVING_PROCESSOR_API int serving_processor_handle_version(const serving_processor_handle *handle,
							   int64_t *full_step, int64_t *delta_step);

/* A signature and all its tensors. */
typedef struct serving_processor_signature {
	const char *name;
	const char *method; /* "tensorflow/serving/predict" ...; may be "" */
	const serving_processor_tensor_info *const *inputs; /* [input_count] by alias */
	size_t input_count;
	const serving_processor_tensor_info *const *outputs; /* [output_count] by alias */
	size_t output_count;
} serving_processor_signature;

/*
 * All signatures of the version, [*count] sorted by name; valid until the handle is
 * released.  NULL and 0 for a NULL handle.
 */
SERVING_PROCESSOR_API const serving_processor_signature *serving_processor_handle_signatures(
	const serving_processor_handle *handle, size_t *count);

/* The signature of that name, or the configured one for NULL; NULL if the version lacks it. */
SERVING_PROCESSOR_API const serving_processor_signature *serving_processor_handle_signature(
	const serving_processor_handle *handle, const char *name);

/* How a feature of a tf.Example is parsed. */
enum {
	SERVING_PROCESSOR_DENSE = 0,
	SERVING_PROCESSOR_SPARSE = 1,
	SERVING_PROCESSOR_RAGGED = 2,
};

/* A feature that a model takes from serialized tf.Example records. */
typedef struct serving_processor_example_feature {
	serving_processor_bytes name;
	int dtype; /* SERVING_PROCESSOR_FLOAT, _INT64 or _STRING: which list the feature must have
		    */
	int kind;  /* SERVING_PROCESSOR_DENSE ... */
} serving_processor_example_feature;

/*
 * The features that the graph takes from the records of an input, [*count] sorted by name as bytes;
 * valid until the handle is released.  NULL and 0 if there are none: the input is not one of
 * serialized tf.Examples, or something else in the graph reads it as well.  A name that is read by
 * different types is left out.
 *
 * signature  NULL is the configured one
 * input      an alias of the signature
 */
SERVING_PROCESSOR_API const serving_processor_example_feature *
serving_processor_handle_example_features(const serving_processor_handle *handle,
					  const char *signature, const char *input, size_t *count);

/* As serving_processor_run(), by the held version. */
SERVING_PROCESSOR_API serving_processor_code serving_processor_handle_run(
	const serving_processor_handle *handle, const char *signature,
	const serving_processor_tensor *inputs, size_t input_count, const char *const *outputs,
	size_t output_count, serving_processor_result **result, serving_processor_error **error);

/*
 * When a step of a run began and ended, on CLOCK_MONOTONIC.  Steps within a loop or a condition are
 * within the time of its step.  The names are of the version: valid while it is held.
 */
typedef struct serving_processor_step {
	const char *node, *op;
	int64_t start_ns, end_ns;
} serving_processor_step;

typedef struct serving_processor_steps {
	serving_processor_step *items; /* [capacity], the caller's; filled in the order of starts */
	size_t capacity;
	size_t count;    /* set by the run */
	size_t left_out; /* likewise: steps after the first `capacity` ones */
} serving_processor_steps;

/*
 * What ends a run early, and what is told of it.  A program sets `size` to
 * sizeof(serving_processor_run_options) and all that it does not use to zero; a later library reads
 * the shorter struct of an older program.
 *
 * deadline_ns  a time of CLOCK_MONOTONIC; 0: none.  It bounds the wait for a session and the run:
 *              SERVING_PROCESSOR_DEADLINE.  The model's request_timeout_ms holds as well
 * cancelled    a byte that is 0, and that another thread may set to 1 to end the run:
 *              SERVING_PROCESSOR_CANCELLED.  A C `atomic_bool` or a C++ `std::atomic<bool>`;
 *              NULL: none.  It must stay until the call returns
 * steps        where the steps of the run are told; NULL: nowhere.  Two readings of the clock per
 *              step.  None are told of a request that the timeline_* keys trace
 *
 * Deadline and flag are looked at before the run, after each round of a loop and once in a while
 * between operators, so a run ends some time after.  While a caller waits for a session only the
 * deadline ends the wait.
 */
typedef struct serving_processor_run_options {
	size_t size;
	int64_t deadline_ns;
	const void *cancelled;
	serving_processor_steps *steps;
} serving_processor_run_options;

/* As serving_processor_handle_run(); `options` may be NULL. */
SERVING_PROCESSOR_API serving_processor_code serving_processor_handle_run_with(
	const serving_processor_handle *handle, const char *signature,
	const serving_processor_tensor *inputs, size_t input_count, const char *const *outputs,
	size_t output_count, const serving_processor_run_options *options,
	serving_processor_result **result, serving_processor_error **error);

/*
 * Called once for a request that was submitted, on a thread of the library.  On success `result` is
 * set, else `error`; the callee frees either.  It should not wait: it holds up other requests.  It
 * may submit others, and must not destroy the model.
 */
typedef void serving_processor_done(void *context, serving_processor_code code,
				    serving_processor_result *result,
				    serving_processor_error *error);

/*
 * As serving_processor_handle_run_with(), but returns at once: the request is run by one of the
 * model's threads, as many as there are sessions, which the first request starts.
 *
 * handle   on a version of `model`, which the library holds until the request is done; NULL: the
 *          version that is live when it runs
 * inputs   the array and everything that it points to, and so `outputs`, `signature`, the flag
 *          `cancelled` and `steps`, must stay until done() is called; `options` need not
 *
 * On success done() will be called, perhaps before this returns; after a failure it is not.
 * SERVING_PROCESSOR_BUSY at once when `max_waiting` requests, at least one, wait already.
 * The deadline, and the model's request_timeout_ms, count from now.
 *
 * serving_processor_destroy() waits for the requests that run, and ends those that wait:
 * done() is called with SERVING_PROCESSOR_CANCELLED.
 */
SERVING_PROCESSOR_API serving_processor_code serving_processor_submit(
	void *model, const serving_processor_handle *handle, const char *signature,
	const serving_processor_tensor *inputs, size_t input_count, const char *const *outputs,
	size_t output_count, const serving_processor_run_options *options,
	serving_processor_done *done, void *context, serving_processor_error **error);

/*
 * As process() with the held version and any signature (NULL: the configured one), but a failure is
 * told by its code and text, and is not logged.
 *
 * input_data   [input_size] a serialized tensorflow.eas.PredictRequest; with
 *              input_size 0 the answer is the signature as JSON
 * output_data  set on success to a block for serving_processor_free(), of
 *              *output_size bytes followed by a NUL
 * options      may be NULL
 */
SERVING_PROCESSOR_API serving_processor_code serving_processor_handle_process(
	const serving_processor_handle *handle, const char *signature, const void *input_data,
	size_t input_size, const serving_processor_run_options *options, void **output_data,
	size_t *output_size, serving_processor_error **error);

/*
 * Sets the steps of the live version: that of its full checkpoint (or the number of the
 * SavedModel's folder) and that of its delta; -1 if it has none.  Returns 0, or -1 for a NULL
 * model.
 */
SERVING_PROCESSOR_API int serving_processor_model_version(void *model, int64_t *full_step,
							  int64_t *delta_step);

/*
 * All versions known to the process, newest first, as JSON in a block for
 * serving_processor_free(); NULL when out of memory or for a NULL model:
 *
 *   {"versions":[{"full":"/ckpt/v1/model.ckpt-100","delta":"/ckpt/v1/...-120",
 *     "full_step":100,"delta_step":120,"state":"live","for_ms":4711,"known_ms":4900,
 *     "why":""}, ...],
 *    "live":{"full_step":100,"delta_step":120,"for_ms":4711},
 *    "newest":{"full_step":100,"delta_step":130,"lag_ms":250},
 *    "unreadable":{"for_ms":900,"why":"cannot open '/ckpt': No such file or directory"},
 *    "pinned":{"full_step":100,"delta_step":120,"for_ms":4700,"by":"127.0.0.1:4711"},
 *    "counts":{"loads":3,"published":2,"last_load_ms":170,"refusals":{"corrupt":1},
 *     "moves":{"discovered":3,"loading":3,"warming":2,"live":2,"draining":1,"retired":1,
 *     "refused":1},"folds":1,"last_fold_ms":40,"reloads":0,"rollbacks":1,"pins":0},
 *    "memory":1074340000,
 *    "owners":{"tables":990000000,"indexes":10300000,"ssd":74040000,"image":0,"dense":1200000,
 *     "program":900000,"sessions":2100000},
 *    "tables":[{"table":"item_emb","dim":16,"rows":9000,"overlay_rows":120,"memory":640000,
 *     "keys":512,"absent":17},
 *     {"table":"user_emb","dim":16,"rows":80000,"overlay_rows":0,"memory":1073700000,
 *     "keys":512,"absent":3,"tier":"ssd","in_memory":0,"cached":420,"missed":92,
 *     "errors":0,"bytes_read":364544}, ...]}
 *
 * without the line breaks.  A version without a delta has no "delta" and the delta_step -1.
 * state is discovered, loading, warming, live, draining, retired, or refused; why says what
 * is missing or wrong; for_ms is the time in this state, known_ms since discovery.  A version newer
 * than the live one also has "newer":true.  A refused one has "reason": the class of the failure
 * (see refusals), or "rolled_back".
 *
 * newest is the newest version seen on disk, served or not; lag_ms is 0 if it is live, else
 * the time for which a version newer than the live one has been known.  unreadable is present
 * while no version can be found where they come from, for instance because a network share is
 * away.  pinned is present while a pin is in effect; by says who gave the order.
 *
 * counts are totals since the model was created: loads started, versions published, refusals
 * by class (not_found, invalid, unsupported, corrupt, io, no_memory, busy, deadline, internal;
 * zero counts are omitted), and moves into each state; last_load_ms from the start of the last
 * load to its publishing; folds (tables whose delta was merged into the full checkpoint's rows)
 * and the time of the last one; orders carried out.
 *
 * memory is in bytes: of the live version, and of each of its tables.  owners divide it: rows in
 * memory, their indexes, caches and indexes of tables on an SSD, a mapped image, dense weights;
 * program and sessions come on top, which all versions of one graph share.  overlay_rows are the
 * rows that come from the delta.  keys counts those looked up since the full checkpoint was
 * loaded, absent those of them without a row.  A table that is not entirely in memory also has a
 * tier, and counts of where its keys were looked for: in_memory, found in the delta's rows; cached;
 * missed, read from the SSD or asked for at servers; and errors, failed reads.  Where its tier is
 * on servers ("redis"), servers are those known now, servers_up those connected, defaulted the keys
 * that had no answer in time and were answered as absent; round_trips, commands answered for all
 * tables of the version, and round_trip_us, their times added up.  Where rows of servers are kept
 * in a file on an SSD, too, disks is 1, and disks_up 1 while it is in use, else 0; disk_hits are
 * the keys that it has answered, which missed does not count, disk_errors the rows that could not
 * be read, disk_dropped those that were not written because the SSD is too slow.
 *
 * shards and shard_events, objects of numbers, are present where other processors hold rows or are
 * answered (docs/sharding.md): what there is now, and what was counted since the start.
 */
SERVING_PROCESSOR_API char *serving_processor_versions(void *model);

/*
 * Gives an order to a model whose versions come in a folder; a single SavedModel supports reload
 * only.  Returns when it has been carried out, which may take as long as loading a version.
 * Requests are served meanwhile.  After a failure the live version stays live.
 *
 * reload    forgets refusals and the pin, and loads the newest version again, even if it
 *           is live
 * rollback  serves the version that was live before or, if there is none, the next older one
 *           on disk.  The abandoned version is not served again until its files change, a
 *           reload, or a pin on it; versions newer than it are served as usual
 * pin       serves the version with these steps (delta_step -1: no delta) and no other
 *           until another order to pin has full_step -1.  With the configuration key
 *           `pin_file` the pin survives a restart
 *
 * The other orders ignore the steps.  `by` appears in log lines and in the list of versions; NULL:
 * "the host".
 */
typedef enum serving_processor_order {
	SERVING_PROCESSOR_RELOAD = 0,
	SERVING_PROCESSOR_ROLLBACK = 1,
	SERVING_PROCESSOR_PIN = 2,
} serving_processor_order;

SERVING_PROCESSOR_API serving_processor_code
serving_processor_give_order(void *model, serving_processor_order order, int64_t full_step,
			     int64_t delta_step, const char *by, serving_processor_error **error);

/* serving_processor_give_order(), `by` NULL. */
SERVING_PROCESSOR_API serving_processor_code
serving_processor_reload(void *model, serving_processor_error **error);
SERVING_PROCESSOR_API serving_processor_code
serving_processor_rollback(void *model, serving_processor_error **error);
SERVING_PROCESSOR_API serving_processor_code serving_processor_pin_version(
	void *model, int64_t full_step, int64_t delta_step, serving_processor_error **error);

#ifdef __cplusplus
}
#endif

#endif
