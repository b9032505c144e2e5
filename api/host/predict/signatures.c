#include "api/host/predict/signature.h"

sp_host_signatures sp_host_signatures_of(const serving_processor_handle *version,
					 const char *fallback)
{
	sp_host_signatures set = {
		.fallback = serving_processor_handle_signature(version, fallback)};

	set.signatures = serving_processor_handle_signatures(version, &set.count);
	return set;
}
