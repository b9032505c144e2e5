#ifndef SP_MODEL_LOADER_SAVED_MODEL_MODEL_FOLDER_H
#define SP_MODEL_LOADER_SAVED_MODEL_MODEL_FOLDER_H

#include "base/status.h"

/*
 * What is in the folder of a model, by the names of its files alone.
 *
 * Models of other kinds are put there, too: the error then names the file, its kind and
 * what to do, not only that saved_model.pb is missing.
 */

/*
 * SP_OK where `directory` holds a saved_model.pb or a saved_model.pbtxt, else
 * SP_UNSUPPORTED, naming another model that it holds, or SP_NOT_FOUND.
 */
SP_MUST_CHECK sp_status sp_model_folder_check(const char *directory, sp_error *err);

#endif
