#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "object_store/object_store.h"
#include "tools/tool.h"

/*
 * The command line of serving_tool.
 *
 * Exit status: 0 if no problem was found, 1 if something is damaged or cannot be read, 2 for a
 * wrong command line.
 */
static const char help[] =
	"usage: serving_tool COMMAND [--FLAG[=VALUE] ...] PATH [...]\n"
	"\n"
	"  inspect PATH             tables, rows, norms, most frequent keys, variables, "
	"signatures\n"
	"  get PATH TABLE KEY...    rows of a table\n"
	"  verify PATH              reads all of it and says what is wrong\n"
	"  size PATH                what the model takes in memory; PATH may be the configuration\n"
	"  image PATH               makes the image that a start maps; PATH may be the "
	"configuration\n"
	"  publish PATH [REDIS]     copies the embeddings to Redis: HOST:PORT, unix:PATH or "
	"redis://...;\n"
	"                           PATH may be the configuration, which may say which Redis\n"
	"  publish --rollback [PATH] [REDIS], or --current=FULL instead: an earlier version "
	"becomes\n"
	"                           the current one; PATH is the configuration\n"
	"\n"
	"PATH is a SavedModel, a checkpoint's prefix, a folder of checkpoint versions, or an "
	"image.\n"
	"\n"
	"  --json         one JSON value instead of text\n"
	"  --quick        inspect: nothing but what the index says; no row is read\n"
	"  --top=N        inspect: how many of the most frequent keys of a table (10)\n"
	"  --model=DIR    the SavedModel that a checkpoint belongs to\n"
	"  --row_format=F size, publish: store rows as fp32, fp16, bf16, int8 or int4\n"
	"  --sessions=N   size: that many sessions, 1 to 1024\n"
	"  --out=FOLDER   image: where to, unless the configuration says ev_image_path\n"
	"  --name=NAME    publish: the model's name in Redis, unless the configuration says "
	"model_name\n"
	"  --layout=L     publish: versioned, or deeprec for its processors\n"
	"  --cluster      publish: it is a Redis Cluster\n"
	"  --user=USER, --password_file=FILE    publish: else REDISCLI_AUTH has the password\n"
	"  --rows_per_second=N, --partitions=N, --keep_seconds=N, --lock_seconds=N,\n"
	"  --patience_seconds=N    publish\n"
	"  --help, -h, --version\n"
	"\n"
	"Exit status: 0 all is in order, 1 something is broken or cannot be read, 2 wrong usage.\n";

typedef struct command {
	const char *name;
	sp_status (*run)(sp_tool *tool, sp_error *err);
	size_t most_arguments;    /* after PATH */
	bool takes_configuration; /* or an address */
} command;

static const command commands[] = {
	{"inspect", sp_tool_inspect, 0, false}, {"get", sp_tool_get, SIZE_MAX, false},
	{"verify", sp_tool_verify, 0, false},   {"size", sp_tool_size, 0, true},
	{"image", sp_tool_image, 0, true},      {"publish", sp_tool_publish, 1, true},
};

/* Of a flag only its name is shown: what it is given may be a secret. */
static int usage(const char *what, const char *word)
{
	fprintf(stderr, "serving_tool: %s%s%.*s\nserving_tool --help says more\n", what,
		word != NULL ? " " : "", word != NULL ? (int)strcspn(word, "=") : 0,
		word != NULL ? word : "");
	return SP_TOOL_USAGE;
}

/* The value of "--name=VALUE"; NULL when `word` is another flag. */
static const char *value_of(const char *word, const char *name)
{
	size_t size = strlen(name);

	return strncmp(word, name, size) == 0 && word[size] == '=' ? word + size + 1 : NULL;
}

/* A number from `least` on. */
static bool parse_number(int64_t *out, const char *value, int64_t least)
{
	char *end;

	errno = 0;
	*out = strtoll(value, &end, 10);
	return *value >= '0' && *value <= '9' && *end == '\0' && errno == 0 && *out >= least;
}

/* Flags of `publish`; *known is set if the word is one of them. */
static bool parse_publish_flag(sp_publish_flags *flags, const char *word, bool *known)
{
	const struct {
		const char *name;
		const char **text; /* or */
		int64_t *number, least;
	} all[] = {
		{"--name", &flags->name, NULL, 0},
		{"--layout", &flags->layout, NULL, 0},
		{"--user", &flags->user, NULL, 0},
		{"--password_file", &flags->password_file, NULL, 0},
		{"--partitions", NULL, &flags->partitions, 1},
		{"--rows_per_second", NULL, &flags->rows_per_second, 1},
		{"--keep_seconds", NULL, &flags->keep_seconds, 1},
		{"--lock_seconds", NULL, &flags->lock_seconds, 1},
		{"--patience_seconds", NULL, &flags->patience_seconds, 1},
		{"--current", NULL, &flags->current, 0},
	};
	const char *value;

	*known = true;
	if (strcmp(word, "--rollback") == 0)
		return flags->is_rollback = true;
	if (strcmp(word, "--cluster") == 0)
		return flags->is_cluster = true;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if ((value = value_of(word, all[i].name)) == NULL)
			continue;
		if (all[i].text == NULL)
			return parse_number(all[i].number, value, all[i].least) &&
			       flags->partitions <= 16384;
		*all[i].text = value;
		return *value != '\0';
	}
	*known = false;
	return false;
}

static bool parse_flag(sp_tool *tool, const char *word)
{
	const char *value;
	bool known, good = parse_publish_flag(&tool->publish, word, &known);
	char *end;

	if (known)
		return good;
	if (strcmp(word, "--json") == 0)
		return tool->json = true;
	if (strcmp(word, "--quick") == 0)
		return tool->quick = true;
	if ((value = value_of(word, "--model")) != NULL)
		return (tool->model = value) != NULL;
	if ((value = value_of(word, "--out")) != NULL)
		return (tool->out = value) != NULL;
	if ((value = value_of(word, "--row_format")) != NULL)
		return (tool->row_format = value) != NULL;
	if ((value = value_of(word, "--sessions")) != NULL) {
		tool->sessions = strtoul(value, &end, 10);
		return *value >= '1' && *value <= '9' && *end == '\0' && tool->sessions <= 1024;
	}
	if ((value = value_of(word, "--top")) != NULL) {
		tool->top = strtoul(value, &end, 10);
		return *value >= '0' && *value <= '9' && *end == '\0' && tool->top <= 1000000;
	}
	return false;
}

/* A word like -5 is not a flag, because keys may be negative. */
static bool is_flag(const char *word)
{
	return word[0] == '-' && word[1] != '\0' && !(word[1] >= '0' && word[1] <= '9');
}

static bool asks_for_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Parses the flags and moves the other words to the front.  Returns the wrong flag, or NULL. */
static const char *parse_flags(sp_tool *tool, char **words, size_t *count)
{
	size_t used = 0;

	for (size_t i = 0; i < *count; i++)
		if (!is_flag(words[i]))
			words[used++] = words[i];
		else if (!parse_flag(tool, words[i]))
			return words[i];
	*count = used;
	return NULL;
}

/* The prefix of a checkpoint, or its index, for commands that also take configurations. */
static bool is_checkpoint(const char *path)
{
	char index[4096];

	return snprintf(index, sizeof(index), "%s.index", path) < (int)sizeof(index) &&
	       (access(index, F_OK) == 0 || sp_bytes_ends_with(sp_bytes_of(path), ".index"));
}

static int run(sp_tool *tool, const command *c, const char *path)
{
	sp_error err;
	sp_status status = SP_OK;

	tool->path = path;
	if (!c->takes_configuration || sp_file_is_directory(path) || is_checkpoint(path))
		status = sp_location_find(&tool->location, path, tool->arena, &err);
	if (status == SP_OK)
		status = c->run(tool, &err);
	if (status != SP_OK) {
		sp_report_fail(&tool->report, err.text);
		fprintf(stderr, "serving_tool: %s\n", err.text);
	}
	if (!sp_report_finish(&tool->report)) {
		fprintf(stderr, "serving_tool: cannot write the output\n");
		return SP_TOOL_BROKEN;
	}
	if (tool->wrong_usage)
		return SP_TOOL_USAGE;
	return status == SP_OK && !tool->broken ? SP_TOOL_FINE : SP_TOOL_BROKEN;
}

static const command *find_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static int parse_and_run(sp_tool *tool, char **words, size_t count)
{
	const char *bad = parse_flags(tool, words, &count);
	const command *c;

	if (bad != NULL)
		return usage("no such flag, or no good value for it:", bad);
	if (count == 0)
		return usage("which command?", NULL);
	c = find_command(words[0]);
	if (c == NULL)
		return usage("no such command:", words[0]);
	if (count < 2)
		return usage("which PATH?", NULL);
	if (count - 2 > c->most_arguments)
		return usage("one word too many:",
			     strstr(words[2 + c->most_arguments], "://") != NULL
				     ? NULL
				     : words[2 + c->most_arguments]);
	tool->arguments = words + 2;
	tool->argument_count = count - 2;
	sp_report_init(&tool->report, stdout, tool->json);
	return run(tool, c, words[1]);
}

int main(int argc, char **argv)
{
	sp_tool tool = {.top = 10, .publish = {.current = -1}};
	int code;

	if (argc > 1 && strcmp(argv[1], "help") == 0)
		return fputs(help, stdout) < 0;
	for (int i = 1; i < argc; i++)
		if (asks_for_help(argv[i]))
			return fputs(help, stdout) < 0;
		else if (strcmp(argv[i], "--version") == 0)
			return puts("serving_tool " PACKAGE_VERSION) < 0;
	sp_log_set_level(SP_LOG_WARNING);
	sp_object_store_open();
	tool.arena = sp_arena_create(64 << 10);
	if (tool.arena == NULL)
		return SP_TOOL_BROKEN;
	code = parse_and_run(&tool, argv + 1, argc > 0 ? (size_t)argc - 1 : 0);
	sp_arena_destroy(tool.arena);
	sp_object_store_close();
	return code;
}
