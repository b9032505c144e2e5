#ifndef SP_API_HOST_HOST_H
#define SP_API_HOST_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "api/host/flags.h"
#include "api/host/http/http_server.h"
#include "api/host/http/http_tls.h"
#include "api/host/model/server_configs.h"
#include "api/host/observe/observer.h"
#include "api/host/request_log.h"
#include "api/host/routes/admin_token.h"
#include "api/host/routes/serving.h"
#include "api/host/upkeep.h"
#include "base/arena.h"
#include "base/status.h"

/*
 * A running serving_host.  The I/O threads of the server call the routes (routes/route.h), which
 * answer quick requests at once and queue the others for the threads of `workers`.
 *
 * Threads: all functions except sp_host_load() are for the main thread.
 */
typedef struct sp_host {
	sp_serving serving;
	struct sp_workers *workers;    /* workers.h */
	struct sp_shadow *shadow;      /* infer/shadow.h */
	struct sp_sample_log *samples; /* samples/sample_log.h */
	struct sp_batcher *batcher;    /* infer/batcher.h; NULL: requests are not batched */
	sp_batching_config batching;
	sp_request_log request_log;
	sp_observer observer;
	sp_upkeep upkeep;
	sp_arena *arena;       /* of configuration files */
	sp_http_server *admin; /* for operators; NULL: none */
	sp_admin_token admin_token;
	/* [address_count], and behind them that of `admin`, if there is one. */
	sp_http_address addresses[SP_MAX_ADDRESSES];
	size_t address_count;
	int sockets[SP_MAX_ADDRESSES]; /* of the service manager; 0: none */
	const char *socket_address;    /* "unix:PATH", of --grpc_socket_path; NULL: none */
	sp_http_tls *tls;              /* NULL: plain */
} sp_host;

/*
 * Finds the model, listens, and starts all threads.  Probes are answered; the model is not open
 * yet.
 */
SP_MUST_CHECK sp_status sp_host_start(sp_host *host, const sp_flags *flags, sp_error *err);

/* Opens the models, which may take minutes.  Afterwards predictions are computed. */
SP_MUST_CHECK sp_status sp_host_load(sp_host *host, sp_error *err);

/*
 * What SIGHUP asks for: reads --model_config_file, --ssl_config_file and --admin_token_file again,
 * and opens the logs of requests again.
 */
void sp_host_reload(sp_host *host);

/* Whether a model is being loaded, which cannot be interrupted. */
bool sp_host_is_loading(const sp_host *host);

/* Makes the host report that it is not ready; requests are still served. */
void sp_host_drain(sp_host *host);

/* Call it every SP_UPKEEP_MS. */
void sp_host_upkeep(sp_host *host);

/* Whether any request has begun to arrive and has not been answered. */
bool sp_host_is_busy(const sp_host *host);

/* Drains, then stops as sp_http_server_stop() does. */
bool sp_host_stop(sp_host *host, int64_t timeout_ms);

/* Joins all threads and closes the model; after a stop that returned true. */
void sp_host_finish(sp_host *host);

#endif
