#ifndef SERVING_PROCESSOR_H
#define SERVING_PROCESSOR_H

#include <stddef.h>
#include <stdint.h>

/*
 * libserving_processor: online inference for click-through-rate and
 * recommendation models.
 *
 * Part 1 is DeepRec's C ABI: a host that knows only these four functions needs
 * nothing else.  Part 2 is extras, all with the prefix serving_processor_: to
 * close a model, to learn why one did not open, to see its signatures, to
 * run any of them on typed tensors without protobuf, and to hold one version
 * while others come.
 *
 * Threads: every function may be called from any thread, also on one model at
 * once, except that serving_processor_destroy() must be the last call on its model.
 *
 * Nothing here aborts, exits, or prints to standard output.  A NULL where a
 * pointer is needed is an error, not a crash.
 *
 * Signals: while a model has files mapped (an image, rows of DeepRec's SSD tier)
 * a handler for SIGBUS is installed: a file that somebody cuts short is then an
 * error instead of the end of the process.  It takes faults in these files only and passes on all
 * others to the handler that was there before; closing the last such file puts that
 * one back.  A host that installs a handler of its own meanwhile must call the
 * one it replaced for addresses that it does not know, and must not unload the
 * library.  No other signal is touched.
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
 * Returns the model, or NULL; then a log line says why.
 */
SERVING_PROCESSOR_API void *initialize(const char *model_entry, const char *model_config,
				       int *state);

/*
 * Answers one request.
 *
 * input_data   a serialized tensorflow.eas.PredictRequest; with input_size 0
 *              it is not read, and the answer is the signature of the
 *              version that is live, as JSON
 * output_data  a malloc() block that the caller frees, with a NUL behind its
 *              *output_size bytes: a serialized PredictResponse, or a text
 *              that says what was wrong
 *
 * Returns 200, or 500 for any failure; then a log line says why, too, unless there are
 * too many (docs/configuration.md).  With output_data or output_size NULL it
 * returns 500 and writes nothing.
 */
SERVING_PROCESSOR_API int process(void *model_buf, const void *input_data, int input_size,
				  void **output_data, int *output_size);

/*
 * DeepRec's signature carries no count; its own code takes exactly one
 * request, and so does this: the element 0 of each array, as by process().
 */
SERVING_PROCESSOR_API int batch_process(void *model_buf, const void *input_data[], int *input_size,
					void *output_data[], int *output_size);

/*
 * A serialized tensorflow.eas.ServingModelInfo in a malloc() block: the prefix
 * of the full checkpoint that is being served, the folder of the numbered
 * SavedModel, or empty for one SavedModel alone.  Returns 200 or 500.
 */
SERVING_PROCESSOR_API int get_serving_model_info(void *model_buf, void **output_data,
						 int *output_size);

/* --------------------------------------------------------------- 2. Extras */

/* "0.1.0".  Never freed. */
SERVING_PROCESSOR_API const char *serving_processor_version(void);

/* Raised when something in this header changes that a caller must know. */
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
} serving_processor_code;

/* Short lower-case name ("not_found"); "unknown" for any other number. */
SERVING_PROCESSOR_API const char *serving_processor_code_name(serving_processor_code code);

/* What went wrong.  From a function that failed; the caller frees it. */
typedef struct serving_processor_error serving_processor_error;

/* NULL gives SERVING_PROCESSOR_OK and "". */
SERVING_PROCESSOR_API serving_processor_code
serving_processor_error_code(const serving_processor_error *error);
SERVING_PROCESSOR_API const char *serving_processor_error_text(
	const serving_processor_error *error);
SERVING_PROCESSOR_API void serving_processor_error_free(serving_processor_error *error);

/*
 * level: 0 debug, 1 info, 2 warning, 3 error.  `line` is a text without time and level, such
 * as "[ctr] version 100 is live"; "[ctr] ", the name of the model that it is about, is left
 * out when it is about none.  It lives during the call only.
 */
typedef void serving_processor_log_sink(void *context, int level, const char *line);

/*
 * Where log lines of the process go; NULL is standard error, in the form that
 * docs/configuration.md tells.  The sink is called from any thread and must not
 * call back into the library.
 */
SERVING_PROCESSOR_API void serving_processor_set_log(serving_processor_log_sink *sink,
						     void *context);

/* Lines below `level` are dropped; 1 at first. */
SERVING_PROCESSOR_API void serving_processor_set_log_level(int level);
SERVING_PROCESSOR_API int serving_processor_log_level(void);

/*
 * Sets level and form of log lines as a configuration says them (log_level, log_format), as
 * serving_processor_create() does, before any line is written.  What is wrong in the
 * configuration is left for that to say.
 */
SERVING_PROCESSOR_API void serving_processor_configure_log(const char *model_config);

/* A line of the host's own among those of the library; model NULL: it is about none. */
SERVING_PROCESSOR_API void serving_processor_log(int level, const char *model, const char *line);

/* As initialize(), with the reason in *error (may be NULL) when it returns NULL. */
SERVING_PROCESSOR_API void *serving_processor_create(const char *model_config,
						     serving_processor_error **error);

/*
 * A configuration with the members of another JSON object in the place of its own, such as
 * {"model_name": "ctr"}: a block for serving_processor_free(), or NULL with the reason in
 * *error (may be NULL).
 */
SERVING_PROCESSOR_API char *serving_processor_override_config(const char *model_config,
							      const char *overrides,
							      serving_processor_error **error);

/* Closes a model; joins the threads that it started.  NULL is fine. */
SERVING_PROCESSOR_API void serving_processor_destroy(void *model);

/* Frees a block that process() and its like handed out.  NULL is fine. */
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

/* The element of a string tensor: a view, any byte, not terminated. */
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
 * Runs a signature of the version that is live.
 *
 * signature  its key; NULL is the configured one
 * inputs     [input_count]; each name an alias of the signature or the name of the tensor
 *            behind it; they are read during the call only
 * outputs    [output_count] names to compute, in that order; none means all,
 *            in the order of serving_processor_output()
 * result     on success: the caller frees it
 * error      on failure, unless NULL: the caller frees it; no log line repeats it
 */
SERVING_PROCESSOR_API serving_processor_code
serving_processor_run(void *model, const char *signature, const serving_processor_tensor *inputs,
		      size_t input_count, const char *const *outputs, size_t output_count,
		      serving_processor_result **result, serving_processor_error **error);

SERVING_PROCESSOR_API size_t serving_processor_result_count(const serving_processor_result *result);

/* Output i, named as the caller named it (by alias when it named none); owned by `result`. */
SERVING_PROCESSOR_API const serving_processor_tensor *serving_processor_result_tensor(
	const serving_processor_result *result, size_t i);

SERVING_PROCESSOR_API void serving_processor_result_free(serving_processor_result *result);

/* As process(), for any signature of the model. */
SERVING_PROCESSOR_API int serving_processor_process(void *model, const char *signature,
						    const void *input_data, int input_size,
						    void **output_data, int *output_size);

/*
 * The signatures of the version that is live at this moment, in the order of
 * their names.  A newer version may have other signatures, and may become live between
 * two calls.  A caller that needs several answers about one version, or that runs a
 * request made from them, acquires a handle (below).
 *
 * What is returned is a copy that belongs to the model and stays as it is until
 * the model is destroyed.  There is one for each set of signatures that was asked
 * for, so versions with the same ones share it.  An index past the end gives NULL
 * or 0.
 */
SERVING_PROCESSOR_API size_t serving_processor_signature_count(void *model);
SERVING_PROCESSOR_API const char *serving_processor_signature_name(void *model, size_t i);

/* The configured one. */
SERVING_PROCESSOR_API const char *serving_processor_default_signature(void *model);

/* "tensorflow/serving/predict" ...; NULL when there is no such signature. */
SERVING_PROCESSOR_API const char *serving_processor_signature_method(void *model,
								     const char *signature);

/* A tensor as a signature declares it.  rank -1: unknown; a dim -1: any length. */
typedef struct serving_processor_tensor_info {
	const char *alias;
	const char *tensor_name;
	int dtype;
	int rank;
	const int64_t *dims;
} serving_processor_tensor_info;

/* In the order of the aliases.  NULL past the last one, or without such a signature. */
SERVING_PROCESSOR_API const serving_processor_tensor_info *serving_processor_input(
	void *model, const char *signature, size_t i);
SERVING_PROCESSOR_API const serving_processor_tensor_info *serving_processor_output(
	void *model, const char *signature, size_t i);

/*
 * A handle on one version of the model.
 *
 * Signatures belong to a version: a newer one may have more inputs, other types,
 * or none of that name.  process() and serving_processor_run() read a request by
 * the signature of the version that answers it.  A caller that makes its request
 * from a signature acquires a handle: its signatures are those of the version that
 * runs the request, whichever version is live meanwhile.
 *
 * As long as it is held its version stays in memory, with its graph and its
 * weights, and is listed as draining once another is live; it costs the memory
 * of a model.  So it is released soon, and acquired again for the next request:
 * that is a few atomic instructions, without a lock or an allocation.  All are
 * released before the model is destroyed.
 *
 * Threads: a handle may be used by several threads at once, and released by any.
 */
typedef struct serving_processor_handle serving_processor_handle;

/* On the version that is live; NULL for a NULL model. */
SERVING_PROCESSOR_API serving_processor_handle *serving_processor_acquire(void *model);

/* NULL is fine. */
SERVING_PROCESSOR_API void serving_processor_release(serving_processor_handle *handle);

/* Its steps, as of serving_processor_model_version(). */
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
 * All signatures of the version, [*count] in the order of their names; they are
 * valid until the handle is released.  NULL and 0 for a NULL handle.
 */
SERVING_PROCESSOR_API const serving_processor_signature *serving_processor_handle_signatures(
	const serving_processor_handle *handle, size_t *count);

/* The signature of that name, or the configured one for NULL; NULL if the version lacks it. */
SERVING_PROCESSOR_API const serving_processor_signature *serving_processor_handle_signature(
	const serving_processor_handle *handle, const char *name);

/* As serving_processor_run() and serving_processor_process(), by that version. */
SERVING_PROCESSOR_API serving_processor_code serving_processor_handle_run(
	const serving_processor_handle *handle, const char *signature,
	const serving_processor_tensor *inputs, size_t input_count, const char *const *outputs,
	size_t output_count, serving_processor_result **result, serving_processor_error **error);
SERVING_PROCESSOR_API int serving_processor_handle_process(const serving_processor_handle *handle,
							   const char *signature,
							   const void *input_data, int input_size,
							   void **output_data, int *output_size);

/*
 * The version being served: steps of the full checkpoint (or the number of the
 * SavedModel's folder) and of the delta on it, -1 where there is none.  Returns 0, or -1 for a NULL
 * model.
 */
SERVING_PROCESSOR_API int serving_processor_model_version(void *model, int64_t *full_step,
							  int64_t *delta_step);

/*
 * The versions there are and were, newest first, as JSON in a block for
 * serving_processor_free(); NULL when out of memory or for a NULL model:
 *
 *   {"versions":[{"full":"/ckpt/v1/model.ckpt-100","delta":"/ckpt/v1/...-120",
 *     "full_step":100,"delta_step":120,"state":"live","for_ms":4711,"known_ms":4900,
 *     "why":""}, ...],
 *    "live":{"full_step":100,"delta_step":120,"for_ms":4711},
 *    "newest":{"full_step":100,"delta_step":130,"lag_ms":250},
 *    "pinned":{"full_step":100,"delta_step":120,"for_ms":4700,"by":"127.0.0.1:4711"},
 *    "counts":{"loads":3,"published":2,"last_load_ms":170,"refusals":{"corrupt":1},
 *     "moves":{"discovered":3,"loading":3,"warming":2,"live":2,"draining":1,"retired":1,
 *     "refused":1},"folds":1,"last_fold_ms":40,"reloads":0,"rollbacks":1,"pins":0},
 *    "memory":1074340000,
 *    "tables":[{"table":"item_emb","dim":16,"rows":9000,"overlay_rows":120,"memory":640000},
 *     {"table":"user_emb","dim":16,"rows":80000,"overlay_rows":0,"memory":1073700000,
 *     "tier":"ssd","keys":512,"in_memory":0,"cached":420,"missed":92,"absent":3,
 *     "errors":0,"bytes_read":364544}, ...]}
 *
 * without the line breaks.  "delta" is left out where there is none, steps are
 * then -1.  state: discovered, loading, warming, live, draining, retired,
 * refused; `why` says what is missing or was wrong; for_ms is how long it has this
 * state, known_ms how long it has been known.  A version that is newer than the live one has
 * "newer":true as well, and a refused one "reason": the class of what was wrong (see refusals),
 * or "rolled_back".
 *
 * newest is the newest version that was seen on the disk, served or not; lag_ms is 0 when it is
 * live, else for how long newer ones have been known that are not served.  pinned is there
 * while a pin holds, with who has given the order.
 *
 * Counts are since the model was created: how often a version began to be loaded,
 * was published, was refused (by class: not_found, invalid, unsupported, corrupt,
 * io, no_memory, busy, deadline, internal; those that never happened are left out),
 * and came into each state; how long the last one took from its loading to its
 * publishing; how often a table's delta was folded into its full checkpoint, and how
 * long that took the last time; and orders that were carried out.
 *
 * Memory is in bytes: what the live version takes, all of it.  Tables are those of
 * the live version: rows that it holds, those of them that a delta has put over the
 * others, and memory.  One that is not all in memory has a tier, and the keys it was
 * asked for: held by a delta's rows in memory, cached, or missed and read from the SSD;
 * of the latter two, how many are absent; and how many reads failed.
 */
SERVING_PROCESSOR_API char *serving_processor_versions(void *model);

/*
 * Orders for a model whose versions come in a folder; for one SavedModel alone
 * there is reload only.  Each returns when it is carried out, which may take as
 * long as loading a version; requests go on meanwhile, and when it fails the
 * version that is live stays.
 *
 * reload       forgets what was refused or pinned, and reads the newest version
 *              again, even if it is the one that is live
 * rollback     serves the version before this one again, and this one no more
 *              until its files change, a reload, or a pin on it; newer ones are taken.  Again
 *              and again: when those that were live are used up, the next older on the disk
 * pin_version  serves the version of these steps (delta_step -1: none) and no
 *              other from now on; full_step -1 ends that.  With the configuration key
 *              `pin_file` it holds for the next start, too
 */
SERVING_PROCESSOR_API serving_processor_code
serving_processor_reload(void *model, serving_processor_error **error);
SERVING_PROCESSOR_API serving_processor_code
serving_processor_rollback(void *model, serving_processor_error **error);
SERVING_PROCESSOR_API serving_processor_code serving_processor_pin_version(
	void *model, int64_t full_step, int64_t delta_step, serving_processor_error **error);

/* The same orders, told who gives them. */
typedef enum serving_processor_order {
	SERVING_PROCESSOR_RELOAD = 0,
	SERVING_PROCESSOR_ROLLBACK = 1,
	SERVING_PROCESSOR_PIN = 2, /* the steps are those of pin_version; others need none */
} serving_processor_order;

/* `by` is a name or an address for log lines and for the list of versions; NULL: "the host". */
SERVING_PROCESSOR_API serving_processor_code
serving_processor_give_order(void *model, serving_processor_order order, int64_t full_step,
			     int64_t delta_step, const char *by, serving_processor_error **error);

#ifdef __cplusplus
}
#endif

#endif
