#ifndef SP_API_HOST_MODEL_MODELS_H
#define SP_API_HOST_MODEL_MODELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/flags.h"
#include "api/host/metrics/counters.h"
#include "api/host/model/served_model.h"
#include "api/host/model/version_status.h"
#include "api/serving_processor.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * The models that the host serves, and which version of a model answers a request.
 *
 * Threads: thread-safe, except create, load and destroy.
 */
typedef struct sp_models sp_models;

/* How many of a model's requests are logged, and where to. */
typedef struct sp_sampling {
	struct sp_sampling *next; /* an earlier one of the model */
	char *prefix;             /* of the files' names */
	double rate;
	uint64_t below; /* rate * 2^32: a request is logged if a random uint32_t is less */
} sp_sampling;

struct sp_http_request; /* http/http_request.h */

/* A model known by name.  It lives as long as `sp_models`, even if it is not served any more. */
typedef struct sp_model {
	const char *name;
	uint32_t number; /* from 1 on; never reused */
	atomic_uint_least64_t
		max_requests; /* queued and computed at a time; 0: no limit of its own */
	_Atomic(const sp_sampling *) sampling; /* NULL: none; lives as long as the model */
	/* A request that waits for the steps of the model's next run; NULL: none. */
	_Atomic(struct sp_http_request *) profile;
	sp_model_counters counters;
} sp_model;

/* Which version of which model a request is for; neither version nor label: the newest. */
typedef struct sp_model_selector {
	sp_bytes name;
	bool has_version;
	int64_t version;
	sp_bytes label; /* empty: none */
	/* The value of a header of the request, {NULL, 0} if it has none; NULL: there are none. */
	sp_bytes (*header)(const void *context, const char *name);
	const void *context;
} sp_model_selector;

struct sp_servable;
struct sp_infer_request; /* infer/infer_call.h */
struct sp_infer_result;
struct sp_examples_result; /* infer/examples.h */

/* Receives the requests that a second version runs as well (infer/shadow.h). */
typedef struct sp_shadow_sink {
	/* Takes a copy of a request that `servable` has run with this result. */
	void (*offer)(void *context, const struct sp_servable *servable,
		      const struct sp_infer_request *request, const struct sp_infer_result *result);
	void *context;
} sp_shadow_sink;

/* Receives the requests that are to be logged (samples/sample_log.h). */
typedef struct sp_sample_sink {
	/*
	 * Takes a copy of a request that `servable` has run with this result.  `examples` is what a
	 * classification or regression made of the result; NULL: it is a prediction.
	 */
	void (*offer)(void *context, const struct sp_servable *servable,
		      const struct sp_infer_request *request, const struct sp_infer_result *result,
		      const struct sp_examples_result *examples);
	void *context;
} sp_sample_sink;

/* A version that the caller holds until sp_servable_release(). */
typedef struct sp_servable {
	sp_model *model; /* also set by an acquire that fails, if the model is known */
	serving_processor_handle *handle;
	int64_t version;
	sp_served_model *served;
	bool follows_field;     /* an input of the request may decide: sp_models_follow_field() */
	int64_t shadow_version; /* will run the request as well, later; -1: none */
	double shadow_tolerance;
	const sp_shadow_sink *shadow;  /* gets the request for shadow_version; else NULL */
	const sp_sampling *sampling;   /* by which the request is logged; NULL: it is not */
	const sp_sample_sink *samples; /* gets the request to log it */
	struct sp_batcher *batcher;    /* by which requests run; NULL: they are not batched */
} sp_servable;

/*
 * Finds the version and holds it: a few atomic instructions, no lock, no allocation.
 *
 * Errors: SP_NOT_FOUND, with TensorFlow Serving's text, "Servable not found for request: ...", and
 *         what the model waits for if it has no version yet;
 *         SP_INVALID "Unrecognized servable version label: ...";
 *         SP_BUSY, with the text of SP_NOT_FOUND, while the model loads its first version.
 */
SP_MUST_CHECK sp_status sp_models_acquire(sp_models *models, const sp_model_selector *selector,
					  sp_servable *out, sp_error *err);

/*
 * As sp_models_acquire() for the newest version, but `handle` is NULL and `version` 0: for orders
 * and questions to the processor, servable->served->processor, which do not wait for the version.
 */
SP_MUST_CHECK sp_status sp_models_acquire_processor(sp_models *models, sp_bytes name,
						    sp_servable *out, sp_error *err);

/* The key of a request: the value of the input with that name; {NULL, 0}: it has none. */
typedef sp_bytes sp_field_finder(void *context, const char *name);

/*
 * Holds the version that an input of the request decides on instead, where the model's split is
 * sticky by one and the request named neither a version nor a label.  Without the input the version
 * stays.  `find` is called at most once, and must not wait.
 */
void sp_models_follow_field(sp_models *models, sp_servable *servable, sp_field_finder *find,
			    void *context);

/* Call it before sp_models_load(); the sink must outlive the registry. */
void sp_models_set_shadow(sp_models *models, const sp_shadow_sink *shadow);

/* The same for the sink of requests that are to be logged. */
void sp_models_set_samples(sp_models *models, const sp_sample_sink *samples);

/*
 * Batches requests (infer/batcher.h), by `config` unless a model has parameters of its own; before
 * sp_models_load().  Both must outlive the models.
 */
void sp_models_set_batcher(sp_models *models, struct sp_batcher *batcher,
			   const sp_batching_config *config);

/* All zero is fine. */
void sp_servable_release(sp_servable *servable);

/* The model of that name, if it is configured; else NULL. */
sp_model *sp_models_find(sp_models *models, sp_bytes name);

/* The model with that number; NULL if there is none. */
sp_model *sp_models_at(sp_models *models, uint32_t number);

enum { SP_UNREADY_SIZE = 2560 };

/*
 * Whether every configured model has a version that is available.  If not, `why`, unless it is
 * NULL, names a model that has failed to load and the reason, or one that waits for its first
 * version and where that is looked for, or says that one is loading.
 */
bool sp_models_are_ready(sp_models *models, char why[SP_UNREADY_SIZE]);

/* A model in the answers and metrics about all models. */
typedef struct sp_model_summary {
	sp_model *model;
	bool ready;                     /* a version is available */
	bool by_order;                  /* an order has changed its configuration */
	const sp_version_label *labels; /* [label_count] */
	size_t label_count;
	const int64_t *versions; /* [version_count] that do not change, newest first */
	const uint64_t *runs;    /* [version_count] how often each was asked */
	size_t version_count;
} sp_model_summary;

/* All configured models by name, in the arena. */
SP_MUST_CHECK sp_status sp_models_list(sp_models *models, const sp_model_summary **out,
				       size_t *count, sp_arena *arena, sp_error *err);

/*
 * The states of the versions of a model, or of the one that is selected.
 *
 * Errors: SP_NOT_FOUND with TensorFlow Serving's texts, "Could not find ..."; SP_INVALID for an
 *         unknown label.
 */
SP_MUST_CHECK sp_status sp_models_statuses(sp_models *models, const sp_model_selector *selector,
					   sp_version_statuses *out, sp_arena *arena,
					   sp_error *err);

/* ------------------------------------------------------------ life of the registry */

/*
 * Configures the models that the flags name; nothing is loaded yet.  Without --wait_for_models,
 * --model_base_path must have a version.
 */
SP_MUST_CHECK sp_status sp_models_create(sp_models **out, const sp_flags *flags,
					 int64_t session_num, sp_error *err);

/*
 * Starts the threads and waits until each model has a version, or its first attempts have failed,
 * or there is nothing to load yet.  A failure of the only model, given by flags, is an error; other
 * models' failures are logged and told by sp_models_statuses().
 */
SP_MUST_CHECK sp_status sp_models_load(sp_models *models, sp_error *err);

/*
 * Replaces the whole configuration (model_config.h), as TensorFlow Serving does: models that are
 * not listed are unloaded.  Returns once each listed model has a version or its loads have failed,
 * and then sets the labels.
 *
 * Errors: SP_INVALID, and nothing has changed, for a malformed configuration; SP_NOT_FOUND for a
 * label of a version that is not available, and no label has changed; SP_IO if a model did not
 * become available; SP_BUSY if the host ends meanwhile.
 */
SP_MUST_CHECK sp_status sp_models_reload(sp_models *models, sp_bytes text, sp_error *err);

struct sp_model_configs; /* model_config.h */

/* The same for a parsed configuration, which belongs to the registry afterwards. */
SP_MUST_CHECK sp_status sp_models_apply(sp_models *models, struct sp_model_configs *configs,
					sp_error *err);

typedef enum sp_model_order_kind {
	SP_MODEL_ORDER_LOAD,   /* a model, or one more of its versions */
	SP_MODEL_ORDER_UNLOAD, /* the same */
	SP_MODEL_ORDER_ASSIGN, /* a label, to a version or to whichever is served */
	SP_MODEL_ORDER_REMOVE, /* a label */
} sp_model_order_kind;

/* An order that changes the configuration in effect. */
typedef struct sp_model_order {
	sp_model_order_kind kind;
	sp_bytes model;
	int64_t version; /* -1: none */
	sp_bytes label;  /* to assign or remove */
	sp_bytes config; /* of a model to load (sp_model_config_parse()); empty: as it is known */
	const char *by;  /* whose order it is, for the log */
} sp_model_order;

/*
 * Changes one model of the configuration in effect, and returns once that is done: the model or the
 * version is available, or answers no request any more, or the label is set.  An order that fails
 * changes nothing.  The next configuration replaces what orders have changed.
 *
 * Errors: SP_NOT_FOUND for a model, version or label that is not there; SP_INVALID for an order
 * that the model's configuration, its labels or its versions forbid; SP_IO if what is to be loaded
 * did not become available; SP_BUSY if the host ends meanwhile.
 */
SP_MUST_CHECK sp_status sp_models_order(sp_models *models, const sp_model_order *order,
					sp_error *err);

/* The names of the models that orders have unloaded, in the arena. */
SP_MUST_CHECK sp_status sp_models_list_unloaded(sp_models *models, const char *const **out,
						size_t *count, sp_arena *arena, sp_error *err);

/* Reads --model_config_file again, on a thread of the registry.  False without that flag. */
bool sp_models_reload_file(sp_models *models);

/* Whether a thread is loading a version, which cannot be interrupted. */
bool sp_models_are_loading(const sp_models *models);

/* No servable may be held.  NULL is fine. */
void sp_models_destroy(sp_models *models);

#endif
