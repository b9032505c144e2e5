#include "api/host/request_log.h"

/* Longer ones are cut. */
enum { MAX_PATH = 200, MAX_METHOD = 20 };

static bool is_clients(int status)
{
	return status < 500 || status == 501 || status == 505;
}

static void log_failure(sp_log_limit *limit, sp_log_level level, const sp_http_outcome *outcome)
{
	bool known = outcome->path.data != NULL;
	sp_bytes method = known ? outcome->method : sp_bytes_of("a");
	sp_bytes path = known ? outcome->path : sp_bytes_of("request");
	char peer[SP_HTTP_PEER_SIZE];

	if (!sp_log_limit_begin(limit, level))
		return;
	sp_http_peer_print(peer, outcome->socket);
	sp_log(level, "%.*s %.*s from %s is answered %d: %s", sp_bytes_shown(method, MAX_METHOD),
	       method.data, sp_bytes_shown(path, MAX_PATH), path.data, peer, outcome->status,
	       outcome->reason);
}

void sp_request_log_outcome(sp_request_log *log, sp_request_kind kind, const char *model,
			    const sp_http_outcome *outcome)
{
	bool wrong = is_clients(outcome->status), others = model == NULL;
	const char *outer;

	if (outcome->status < 400 || kind == SP_REQUEST_HEALTH)
		return;
	outer = sp_log_set_subject(model);
	if (wrong)
		log_failure(others ? &log->others_wrong : &log->wrong, SP_LOG_WARNING, outcome);
	else
		log_failure(others ? &log->others_failed : &log->failed, SP_LOG_ERROR, outcome);
	sp_log_set_subject(outer);
}
