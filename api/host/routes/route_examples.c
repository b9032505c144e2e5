#include "api/host/routes/route.h"

/* :classify and :regress take tf.Example records, which this host does not make. */
void sp_route_examples(sp_host *host, sp_http_request *request, const sp_model_path *path)
{
	if (!sp_route__find_model(host, request, path))
		return;
	sp_http_request_fail(request, 501,
			     path->verb == SP_MODEL_CLASSIFY
				     ? ":classify is not supported; :predict takes serialized "
				       "tf.Example records for the same signature"
				     : ":regress is not supported; :predict takes serialized "
				       "tf.Example records for the same signature");
}
