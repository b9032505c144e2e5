#ifndef SP_TESTS_SUPPORT_TEXT_MODELS_H
#define SP_TESTS_SUPPORT_TEXT_MODELS_H

/*
 * Small SavedModels without variables, written as text.  A folder is made when
 * it is not there; a file appears in it at once, with all its bytes.
 */

/*
 * A signature that adds `inputs` float vectors, "x0", "x1" and so on, and
 * multiplies the sum by `times`: `output` [-1].
 */
typedef struct sp_sum_model {
	const char *signature; /* "serving_default" */
	const char *output;    /* "sum" */
	int inputs;
	int times;
} sp_sum_model;

void sp_text_models_write_sum(const char *folder, const sp_sum_model *model);

/*
 * serving_default: "word", a text vector, to "id", the number of its line in
 * assets/words.txt, from 0 on; -1 for a word that is not there.
 */
void sp_text_models_write_words(const char *folder);

/* That asset, or what FOLDER/`name` is to hold; its folder is made when it is not there. */
void sp_text_models_write_file(const char *folder, const char *name, const char *text);

#endif
