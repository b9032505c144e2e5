#ifndef SP_API_HOST_MODEL_MODELS_INTERNAL_H
#define SP_API_HOST_MODEL_MODELS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/host/model/model_config.h"
#include "api/host/model/model_table.h"
#include "api/host/model/models.h"
#include "api/host/model/served_model.h"
#include "api/host/model/version_status.h"
#include "base/thread.h"

/*
 * What the registry knows beside the table that requests read.
 *
 * models.c answers questions, models_publish.c makes the tables, models_apply.c takes over
 * configurations, models_orders.c changes the one in effect, models_labels.c has the labels,
 * models_poll.c looks at the folders, models_threads.c loads and unloads.
 */

/* A version, or a folder that the library follows: from its discovery to its end. */
typedef struct sp_unit {
	struct sp_unit *next;
	char *path;       /* NULL: the model's processor_config says where */
	bool follows;     /* the library looks for newer versions itself */
	int64_t version;  /* of a unit that follows: the newest seen on disk, -1 before */
	bool wanted;      /* by the configuration, as the folder was at the last poll */
	bool is_outdated; /* a newer configuration loads the same with other settings */
	sp_version_state state;
	int64_t attempts;        /* loads that failed */
	int64_t due_ns;          /* when the next one may begin */
	sp_error error;          /* of the last one that failed */
	sp_served_model *served; /* while it loads, is available, or unloads */
} sp_unit;

/* The state that clients see: END also while a version that failed waits for another attempt. */
static inline sp_version_state sp_unit_state(const sp_unit *unit)
{
	return unit->state == SP_VERSION_START && unit->attempts != 0 ? SP_VERSION_END
								      : unit->state;
}

/* A version that was unloaded, or that has failed and is not wanted any more. */
typedef struct sp_past_version {
	int64_t version;
	int code;
	char why[500];
} sp_past_version;

enum { SP_PAST_VERSIONS = 16 };

typedef struct sp_managed_model {
	sp_model public; /* its name belongs to this struct */
	struct sp_managed_model *next;
	const sp_model_config *config; /* NULL: not configured any more */
	uint64_t changes;    /* counts configurations: a poll by a former one is dropped */
	bool polled;         /* the folder has been looked at since the last change */
	int64_t poll_ns;     /* when to do it next */
	sp_error poll_error; /* of the last time; SP_OK: there was none */
	sp_unit *units;
	sp_configured_label *labels; /* [label_count] in effect; their texts are owned, too */
	size_t label_count;
	sp_sampling *samplings; /* all there ever were; the names are owned, too */
	sp_past_version past[SP_PAST_VERSIONS];
	size_t past_count; /* ever; the newest are kept */
} sp_managed_model;

enum { SP_MAX_MODELS = 4096 };

struct sp_models {
	const sp_flags *flags;
	int64_t session_num;
	bool strict; /* one model, given by flags, that must open at the first attempt */
	sp_table_readers *readers;
	const sp_shadow_sink *shadow;                 /* constant once loaded; NULL: none */
	const sp_sample_sink *samples;                /* likewise */
	struct sp_batcher *batcher;                   /* likewise */
	const sp_batching_config *batching;           /* likewise; of models without their own */
	_Atomic(sp_model *) by_number[SP_MAX_MODELS]; /* number - 1 */
	atomic_bool closing;
	atomic_size_t loading; /* loads in progress */

	pthread_mutex_t applying; /* one configuration, or order to change it, at a time */

	pthread_mutex_t lock; /* protects all below, and what it points at */
	pthread_cond_t changed;
	sp_model_configs *configs; /* in effect */
	sp_managed_model *first;
	uint32_t count;

	sp_thread_group *loaders, *manager, *watcher;
	bool reload_file; /* by order */
	char *file_text;  /* of the configuration file, as read last; for the watcher */
};

/* All with the lock held. */

/* Publishes a table of what is available now.  False, logged, when out of memory: the old one
 * stays. */
bool sp_models__publish(sp_models *models);

/* The model of that name, configured or not; NULL: there never was one. */
sp_managed_model *sp_models__find(const sp_models *models, sp_bytes name);

/* Whether the model is configured, and is `only` unless that is NULL. */
static inline bool sp_models__is_selected(const sp_managed_model *model,
					  const sp_managed_model *only)
{
	return model->config != NULL && (only == NULL || model == only);
}

/* The version of a label, which may be SP_ANY_VERSION; false if there is no such label. */
bool sp_models__find_label(const sp_managed_model *model, sp_bytes label, int64_t *version);

/* SP_NOT_FOUND unless the version is available, or the label is new and a flag allows it. */
sp_status sp_models__check_label(const sp_models *models, const sp_managed_model *model,
				 const sp_configured_label *label, sp_error *err);

/* The same for the configured labels. */
sp_status sp_models__check_labels(const sp_models *models, const sp_managed_model *only,
				  sp_error *err);

/* Puts the configured labels into effect. */
sp_status sp_models__set_labels(sp_models *models, const sp_managed_model *only, sp_error *err);

void sp_models__clear_labels(sp_managed_model *model);

/* Removes and closes a unit that no thread works on, and keeps how it ended. */
void sp_models__drop_unit(sp_managed_model *model, sp_unit *unit);

/*
 * Whether the first look since the model was configured, and the first loads, are over, whatever
 * came of them.
 */
bool sp_models__is_settled(const sp_managed_model *model);

/* What a model without a version waits for; "": it has one, loads one, or has failed to. */
void sp_models__tell_missing(const sp_managed_model *model, char out[SP_UNREADY_SIZE]);

/* Whether a version of the model is available; -1: any. */
bool sp_models__is_available(const sp_managed_model *model, int64_t version);

/* Brings the units of a model in line with its folder and its configuration. */
void sp_models__poll(sp_models *models, sp_managed_model *model);

/* Forgets what is neither wanted nor served. */
void sp_models__drop_unwanted(sp_managed_model *model);

/* Lets a unit be loaded again at once, with all its attempts. */
void sp_models__retry(sp_unit *unit);

/* Adds the flags about traffic, and checks the whole. */
sp_status sp_models__complete(const sp_models *models, sp_model_configs *configs, sp_error *err);

/*
 * Puts a configuration into effect: models->configs.  The caller destroys the one that is not.
 *
 * only  the name of the model that may differ from the configuration before; NULL: any may
 */
sp_status sp_models__take_over(sp_models *models, sp_model_configs *configs, const char *only,
			       sp_error *err);

/* Waits until the models are settled.  SP_BUSY: the host ends. */
sp_status sp_models__wait_settled(sp_models *models, const sp_managed_model *only, sp_error *err);

/* SP_IO: a model did not become available, because of the unit; NULL: it has none. */
sp_status sp_models__fail_available(const sp_managed_model *model, const sp_unit *failed,
				    sp_error *err);

/* Starts and joins the threads. */
sp_status sp_models__start_threads(sp_models *models, sp_error *err);
void sp_models__join_threads(sp_models *models);

#endif
