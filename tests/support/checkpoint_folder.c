#include "tests/support/checkpoint_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/support/paths.h"

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static const char *path_of(char out[2 * SP_PATH_SIZE], const char *checkpoints, const char *name)
{
	snprintf(out, 2 * SP_PATH_SIZE, "%s/%s", checkpoints, name);
	return out;
}

void sp_checkpoint_folder_add_folder(const char *checkpoints, const char *name)
{
	char path[2 * SP_PATH_SIZE];

	if (mkdir(path_of(path, checkpoints, name), 0700) != 0)
		die(path);
}

void sp_checkpoint_folder_add_file(const char *checkpoints, const char *name, const char *text)
{
	char path[2 * SP_PATH_SIZE];
	FILE *file = fopen(path_of(path, checkpoints, name), "w");

	if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
		die(path);
}

void sp_checkpoint_folder_set_time(const char *checkpoints, const char *name, long seconds)
{
	const struct timespec times[] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
	char path[2 * SP_PATH_SIZE];

	if (utimensat(AT_FDCWD, path_of(path, checkpoints, name), times, 0) != 0)
		die(path);
}

void sp_checkpoint_folder_add_delta(const char *checkpoints, int step)
{
	char name[100];

	snprintf(name, sizeof(name), "v1/.incremental_checkpoint/incremental_model.ckpt-%d.index",
		 step);
	sp_checkpoint_folder_add_file(checkpoints, name, "");
}

void sp_checkpoint_folder_make(const char *checkpoints)
{
	sp_checkpoint_folder_add_folder(checkpoints, "");
	sp_checkpoint_folder_add_folder(checkpoints, "v1");
	sp_checkpoint_folder_add_folder(checkpoints, "v1/.incremental_checkpoint");
	sp_checkpoint_folder_add_file(checkpoints, "v1/checkpoint", "");
}

const char *sp_checkpoint_folder_config(char *out, size_t room, const char *checkpoints,
					const char *golden, const char *more)
{
	char relative[256], saved[SP_PATH_SIZE];

	snprintf(relative, sizeof(relative), "tests/golden/%s/model", golden);
	snprintf(out, room,
		 "{\"savedmodel_dir\": \"%s\", \"checkpoint_dir\": \"%s\","
		 "\"signature_name\": \"serving_default\", \"model_store_type\": \"local\","
		 "\"feature_store_type\": \"memory\", \"serialize_protocol\": \"protobuf\","
		 "\"init_timeout_minutes\": 0 %s}",
		 sp_source_path(saved, relative), checkpoints, more);
	return out;
}
