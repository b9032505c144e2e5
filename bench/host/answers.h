#ifndef SP_BENCH_HOST_ANSWERS_H
#define SP_BENCH_HOST_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

/* The different bodies among the answers of a run, for another program to look at. */
enum { MOST_ANSWERS = 1024 };

typedef struct kept_answer {
	char *body;
	size_t size, count;
} kept_answer;

typedef struct answers {
	const char *folder; /* NULL: keeps none */
	kept_answer kept[MOST_ANSWERS];
	size_t kept_count, unkept, latest;
	bool refused; /* whether the first that is not good is written */
} answers;

/* Writes the body to the folder when it is a new one.  Ends the program when it cannot. */
void answers_note(answers *of, bool good, const char *body, size_t size);

/* Two members of an object of JSON, a comma before each; nothing without a folder. */
void answers_report(const answers *of);

#endif
