#include "bench/host/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_answer(const answers *of, const char *name, const char *body, size_t size)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", of->folder, name);
	file = fopen(path, "wb");
	if (file == NULL || fwrite(body, 1, size, file) != size || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

static bool is(const kept_answer *kept, const char *body, size_t size)
{
	return kept->size == size && memcmp(kept->body, body, size) == 0;
}

static void keep(answers *of, const char *body, size_t size)
{
	kept_answer *kept = &of->kept[of->kept_count];
	char name[32];

	if (of->kept_count == MOST_ANSWERS) {
		of->unkept++;
		return;
	}
	*kept = (kept_answer){malloc(size + 1), size, 1};
	if (kept->body == NULL)
		abort();
	memcpy(kept->body, body, size);
	snprintf(name, sizeof(name), "%zu", of->kept_count);
	write_answer(of, name, body, size);
	of->latest = of->kept_count++;
}

void answers_note(answers *of, bool good, const char *body, size_t size)
{
	if (of->folder == NULL)
		return;
	if (!good) {
		if (!of->refused)
			write_answer(of, "refused", body, size);
		of->refused = true;
		return;
	}
	if (of->kept_count != 0 && is(&of->kept[of->latest], body, size)) {
		of->kept[of->latest].count++;
		return;
	}
	for (size_t i = 0; i < of->kept_count; i++)
		if (is(&of->kept[i], body, size)) {
			of->kept[i].count++;
			of->latest = i;
			return;
		}
	keep(of, body, size);
}

void answers_report(const answers *of)
{
	if (of->folder == NULL)
		return;
	printf(",\"kept\":[");
	for (size_t i = 0; i < of->kept_count; i++)
		printf("%s%zu", i != 0 ? "," : "", of->kept[i].count);
	printf("],\"unkept\":%zu", of->unkept);
}
