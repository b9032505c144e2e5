#include "processor/updater/attempts.h"

#include <string.h>

/* After a failure that may pass, 1, 2, 4 ... 60 seconds; after another one, a single time. */
static const int64_t FIRST_PAUSE_NS = 1000000000, LONGEST_PAUSE_NS = 60000000000;
static const int64_t ONLY_PAUSE_NS = 3000000000;

static const sp_attempt *find(const sp_attempts *attempts, uint64_t name)
{
	for (size_t i = 0; i < SP_ATTEMPTS_KEPT; i++)
		if (attempts->kept[i].age != 0 && attempts->kept[i].name == name)
			return &attempts->kept[i];
	return NULL;
}

bool sp_attempts_is_due(const sp_attempts *attempts, uint64_t name, uint64_t files, int64_t now_ns)
{
	const sp_attempt *a = find(attempts, name);

	return a == NULL || a->files != files || now_ns >= a->due_ns;
}

/* The entry of that name, or else the least recently used one, cleared. */
static sp_attempt *place_for(sp_attempts *attempts, uint64_t name)
{
	sp_attempt *a = (sp_attempt *)find(attempts, name);

	if (a != NULL)
		return a;
	a = &attempts->kept[0];
	for (size_t i = 1; i < SP_ATTEMPTS_KEPT; i++)
		if (attempts->kept[i].age < a->age)
			a = &attempts->kept[i];
	*a = (sp_attempt){.name = name, .files = 0};
	return a;
}

void sp_attempts_note(sp_attempts *attempts, uint64_t name, uint64_t files, sp_status status,
		      int64_t now_ns)
{
	sp_attempt *a = place_for(attempts, name);
	bool first = a->age == 0 || a->files != files;
	bool may_pass = status == SP_IO || status == SP_NO_MEMORY || status == SP_DEADLINE;

	a->files = files;
	a->age = ++attempts->age;
	if (first)
		a->pause_ns = may_pass ? FIRST_PAUSE_NS : ONLY_PAUSE_NS;
	else
		a->pause_ns = a->pause_ns < LONGEST_PAUSE_NS / 2 ? 2 * a->pause_ns
								 : LONGEST_PAUSE_NS;
	a->due_ns = (first || may_pass) && status != SP_BUSY ? now_ns + a->pause_ns : INT64_MAX;
}

void sp_attempts_allow(sp_attempts *attempts, uint64_t name)
{
	sp_attempt *a = (sp_attempt *)find(attempts, name);

	if (a != NULL)
		*a = (sp_attempt){.name = 0};
}

void sp_attempts_forget(sp_attempts *attempts)
{
	memset(attempts, 0, sizeof(*attempts));
}
