#include "processor/updater/pin.h"

#include <inttypes.h>
#include <stdio.h>

#include "processor/updater/pin_file.h"

sp_pin sp_pin_of(int64_t full_step, int64_t delta_step, const char *by)
{
	sp_pin pin = {.holds = true, .full_step = full_step, .delta_step = delta_step};

	snprintf(pin.by, sizeof(pin.by), "%s", by);
	return pin;
}

void sp_pin_set(sp_pin *out, const sp_pin *pin, sp_catalog *catalog)
{
	sp_found_version named = {.full_step = pin->full_step, .delta_step = pin->delta_step};

	*out = *pin;
	sp_catalog_pin(catalog, pin->holds ? &named : NULL, pin->by);
}

sp_status sp_pin_store(const sp_pin *pin, const char *path, sp_error *err)
{
	if (path == NULL)
		return SP_OK;
	return pin->holds ? sp_pin_file_write(path, pin->full_step, pin->delta_step, err)
			  : sp_pin_file_remove(path, err);
}

sp_status sp_pin_load(sp_pin *pin, const char *path, sp_error *err)
{
	sp_status status;

	*pin = (sp_pin){.holds = false};
	if (path == NULL)
		return SP_OK;
	status = sp_pin_file_read(path, &pin->full_step, &pin->delta_step, err);
	if (status == SP_NOT_FOUND)
		return SP_OK;
	if (status != SP_OK)
		return status;
	pin->holds = true;
	snprintf(pin->by, sizeof(pin->by), "the pin_file '%.200s'", path);
	return SP_OK;
}

const char *sp_pin_name(char out[SP_PIN_NAME_SIZE], int64_t full_step, int64_t delta_step)
{
	if (delta_step < 0)
		snprintf(out, SP_PIN_NAME_SIZE, "%" PRId64, full_step);
	else
		snprintf(out, SP_PIN_NAME_SIZE, "%" PRId64 "+%" PRId64, full_step, delta_step);
	return out;
}
