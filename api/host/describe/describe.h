#ifndef SP_API_HOST_DESCRIBE_DESCRIBE_H
#define SP_API_HOST_DESCRIBE_DESCRIBE_H

#include "api/host/describe/document.h"
#include "api/host/model/models.h"
#include "api/serving_processor.h"
#include "base/arena.h"
#include "base/status.h"

/*
 * What the host tells about itself, its models and their versions: the members of the answers of
 * TensorFlow Serving and of the Open Inference Protocol, version 2.
 *
 * Threads: one thread at a time per document.
 */

/* --------------------------------------------------------- TensorFlow Serving */

/* SignatureDefMap of a held version. */
void sp_describe_signatures(sp_document *d, const serving_processor_handle *handle);

/* GetModelStatusResponse. */
void sp_describe_statuses(sp_document *d, const sp_version_statuses *list);

/* The same, of the selected versions; a failure of sp_models_statuses() writes nothing. */
SP_MUST_CHECK sp_status sp_describe_selected(sp_document *d, sp_models *models,
					     const sp_model_selector *selector, sp_error *err);

/* ------------------------------------------------------------------------- V2 */

/* ServerMetadataResponse. */
void sp_describe_server(sp_document *d);

/*
 * Of a held version: ModelMetadataResponse, with all versions that are available, and Triton's
 * ModelConfigResponse, as far as it follows from the signature.  SP_NOT_FOUND if there is no
 * default signature.
 */
SP_MUST_CHECK sp_status sp_describe_metadata(sp_document *d, sp_models *models,
					     const sp_servable *servable, sp_arena *arena,
					     sp_error *err);
SP_MUST_CHECK sp_status sp_describe_config(sp_document *d, const sp_servable *servable,
					   sp_error *err);

/* RepositoryIndexResponse: all versions, or those that are ready.  In JSON it is a list. */
SP_MUST_CHECK sp_status sp_describe_index(sp_document *d, sp_models *models, bool only_ready,
					  sp_arena *arena, sp_error *err);

/*
 * ModelStatisticsResponse of one model, or of all for an empty name: counts of all versions of a
 * model together.  SP_NOT_FOUND if there is no such model.
 */
SP_MUST_CHECK sp_status sp_describe_statistics(sp_document *d, sp_models *models, sp_bytes name,
					       sp_arena *arena, sp_error *err);

#endif
