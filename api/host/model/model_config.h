#ifndef SP_API_HOST_MODEL_MODEL_CONFIG_H
#define SP_API_HOST_MODEL_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/model/server_configs.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * Which models are to be served: --model_config_file, in either of two forms.
 *
 *	model_config_list { config { name: "ctr" base_path: "/models/ctr" } }
 *
 * is TensorFlow Serving's ModelServerConfig in protobuf's text format;
 *
 *	{"models": [{"name": "ctr", "base_path": "/models/ctr"}]}
 *
 * is JSON, and can say more of a model.  docs/models.md describes both.
 *
 * Threads: pure.
 */

typedef enum sp_policy_kind { SP_POLICY_LATEST, SP_POLICY_ALL, SP_POLICY_SPECIFIC } sp_policy_kind;

/* A version that is to be served, or is not to be, whatever the rest of the policy says. */
typedef struct sp_ordered_version {
	int64_t version;
	bool wanted;
} sp_ordered_version;

typedef struct sp_version_policy {
	sp_policy_kind kind;
	int64_t latest;          /* how many, at least 1 */
	const int64_t *specific; /* [specific_count] */
	size_t specific_count;
	const sp_ordered_version *ordered; /* [ordered_count], by orders */
	size_t ordered_count;
} sp_version_policy;

typedef struct sp_configured_label {
	const char *label;
	int64_t version; /* -1: whichever is served */
} sp_configured_label;

/* A share of the requests that name no version. */
typedef struct sp_configured_share {
	const char *label; /* NULL: `version` */
	int64_t version;
	double percent;
} sp_configured_share;

/* How requests are spread over versions. */
typedef struct sp_configured_traffic {
	sp_configured_share shares[8];
	size_t share_count; /* what they leave goes to the newest version */
	/* Requests with equal values of an input, or else of a header, go to the same version. */
	const char *field;          /* NULL: none */
	const char *header;         /* NULL: none */
	sp_configured_share shadow; /* percent 0: none */
	double tolerance;           /* of the comparison, relative */
} sp_configured_traffic;

/* The sampled log of predictions (samples/sample_log.h). */
typedef struct sp_configured_samples {
	const char *type;   /* NULL: not given */
	const char *prefix; /* of the files' names; NULL: not given */
	double rate;        /* 0 to 1; 0: nothing is logged */
	bool stays;         /* as it is: the rest was not given */
} sp_configured_samples;

typedef struct sp_model_config {
	const char *name;
	const char *base_path;        /* NULL: the processor's configuration says where */
	const char *processor_config; /* JSON; NULL: made from the rest */
	const char *platform;         /* "": not given */
	sp_version_policy policy;
	const sp_configured_label *labels; /* [label_count] */
	size_t label_count;
	sp_configured_traffic traffic;
	sp_configured_traffic own_traffic; /* without what flags add to it, once they have */
	const char *signature_name;        /* NULL: not given */
	const char *saved_model_tags;      /* NULL: not given */
	int64_t session_num;               /* 0: not given */
	int64_t max_requests; /* queued and computed at a time; 0: no limit of its own */
	const sp_batching_config *batching; /* NULL: not given */
	sp_configured_samples samples;
	bool by_order;    /* an order has changed it since it was configured */
	bool is_unloaded; /* by an order: as though it was not in the configuration */
} sp_model_config;

typedef struct sp_model_configs {
	sp_arena *arena; /* of all of it */
	sp_model_config *items;
	size_t count;
} sp_model_configs;

/*
 * Reads either form; JSON is recognised by its first characters.  A NUL follows `text`.
 *
 * Errors: SP_INVALID "Error parsing text-format tensorflow.serving.ModelServerConfig: ..." or
 * "Error parsing the JSON configuration of models: ...", with the place; SP_INVALID for models that
 *         contradict each other; SP_NOT_FOUND or SP_IO for a file that it names; SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_model_configs_parse(sp_model_configs **out, sp_bytes text,
					       sp_error *err);

/*
 * The same for a tensorflow.serving.ReloadConfigRequest (proto/serving.proto).  SP_UNSUPPORTED for
 * a configuration that is no list of models.
 */
SP_MUST_CHECK sp_status sp_model_configs_decode(sp_model_configs **out, sp_bytes request,
						sp_error *err);

/* Reads a file of that kind; *text is what is in it, for sp_free(). */
SP_MUST_CHECK sp_status sp_model_configs_read(sp_model_configs **out, char **text, const char *path,
					      sp_error *err);

/* Reads the file of a processor's configuration into the arena. */
SP_MUST_CHECK sp_status sp_model_config_read_processor(const char **out, const char *path,
						       sp_arena *arena, sp_error *err);

/* `count` models with the defaults, for a caller that fills them in; NULL: no memory. */
sp_model_configs *sp_model_configs_create(size_t count);

/* Adds a model with the defaults.  SP_INVALID: there are too many; SP_NO_MEMORY. */
SP_MUST_CHECK sp_status sp_model_configs_add(sp_model_config **out, sp_model_configs *configs,
					     sp_error *err);

/* NULL: there is none of that name. */
sp_model_config *sp_model_configs_find(const sp_model_configs *configs, sp_bytes name);

/* A configuration for itself, without what flags have added to it. */
SP_MUST_CHECK sp_status sp_model_configs_copy(sp_model_configs **out, const sp_model_configs *from,
					      sp_error *err);

/*
 * Reads one model in JSON: what stands between its braces in a list of models.  The name may be
 * left out.  SP_INVALID for the configuration of a log: who sends a model does not say where files
 * are written.
 */
SP_MUST_CHECK sp_status sp_model_config_parse(sp_model_config *out, const char *name, sp_bytes text,
					      sp_arena *arena, sp_error *err);

/* Adds a label, or moves the one of that name. */
SP_MUST_CHECK sp_status sp_model_config_set_label(sp_model_config *config,
						  const sp_configured_label *label, sp_arena *arena,
						  sp_error *err);

/*
 * Applies the flags about traffic: `split` and `shadow` are comma-separated lists of LABEL=PERCENT.
 * An entry applies to each model that has the label, unless the model's own configuration has
 * shares, or a shadow.  NULL: not given.
 */
SP_MUST_CHECK sp_status sp_model_configs_add_traffic(sp_model_configs *configs, const char *split,
						     const char *field, const char *header,
						     const char *shadow, sp_error *err);

/* Checks each model, and that they do not contradict each other, whatever form they came in. */
SP_MUST_CHECK sp_status sp_model_configs_check(const sp_model_configs *configs, sp_error *err);

/* NULL is fine. */
void sp_model_configs_destroy(sp_model_configs *configs);

#endif
