#include "processor/updater/load.h"
#include "processor/updater/updater_internal.h"
#include "processor/updater/warm.h"

static void publish(sp_update_state *u, sp_version *version)
{
	sp_versions_publish(&u->versions, version);
	sp_fold_schedule(&u->fold, u->source.config, &u->versions);
}

static void refuse(sp_update_state *u, uint64_t number, const sp_error *err)
{
	bool is_closing = atomic_load(u->versions.closing);

	sp_catalog_move(u->versions.catalog, number,
			is_closing ? SP_VERSION_DISCOVERED : SP_VERSION_REFUSED, err);
}

/* Takes ownership of `version`, which becomes live or is closed. */
static sp_status warm_and_publish(sp_update_state *u, sp_version *version, uint64_t number,
				  sp_error *err)
{
	sp_status status;

	version->number = number;
	sp_catalog_move(u->versions.catalog, number, SP_VERSION_WARMING, NULL);
	status = sp_warm_version(&u->source, &u->versions, version, err);
	if (status != SP_OK) {
		refuse(u, number, err);
		sp_version_close(version);
		return status;
	}
	publish(u, version);
	return SP_OK;
}

static uint64_t begin_loading(sp_update_state *u, const sp_found_version *found)
{
	uint64_t number = sp_catalog_number(u->versions.catalog, found);

	sp_catalog_move(u->versions.catalog, number, SP_VERSION_LOADING, NULL);
	return number;
}

sp_status sp_update__bring_up(sp_update_state *u, const sp_action *action, sp_error *err)
{
	const sp_found_version *found = &action->target->version;
	sp_found_version alone = *found;
	uint64_t number = begin_loading(u, found);
	sp_loaded loaded;
	sp_status status, stand_in;
	sp_error why;

	sp_fold_stop(&u->fold);
	status = sp_load_version(&loaded, action->kind, &u->source, &u->versions, found, err);
	if (status == SP_OK)
		status = warm_and_publish(u, loaded.version, number, err);
	else
		refuse(u, number, err);
	if (loaded.full == NULL)
		return status;
	if (status == SP_OK || action->exact) {
		sp_version_close(loaded.full);
		return status;
	}
	alone.delta_prefix = NULL;
	alone.delta_step = -1;
	number = begin_loading(u, &alone);
	stand_in = warm_and_publish(u, loaded.full, number, &why);
	return stand_in == SP_OK ? status : stand_in;
}

void sp_update__republish(sp_update_state *u, const sp_found_version *name)
{
	sp_version *version = sp_versions_take_previous(&u->versions);

	/* In the catalog it gets a new number. */
	sp_catalog_move(u->versions.catalog, version->number, SP_VERSION_RETIRED, NULL);
	version->number = begin_loading(u, name);
	sp_catalog_move(u->versions.catalog, version->number, SP_VERSION_WARMING, NULL);
	publish(u, version);
}
