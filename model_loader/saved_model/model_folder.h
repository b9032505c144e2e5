#ifndef SP_MODEL_LOADER_SAVED_MODEL_MODEL_FOLDER_H
#define SP_MODEL_LOADER_SAVED_MODEL_MODEL_FOLDER_H

#include "base/status.h"

/*
 * Finds out by file names what kind of model a folder has.
 *
 * If it has a model of another kind, the error names the file, its kind and what to do, and not
 * only that saved_model.pb is missing.
 */

/*
 * SP_OK if `directory` has a saved_model.pb or saved_model.pbtxt; SP_UNSUPPORTED if it has a model
 * of another kind, which the error names; else SP_NOT_FOUND.
 */
SP_MUST_CHECK sp_status sp_model_folder_check(const char *directory, sp_error *err);

#endif
