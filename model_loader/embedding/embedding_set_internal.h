#ifndef SP_MODEL_LOADER_EMBEDDING_EMBEDDING_SET_INTERNAL_H
#define SP_MODEL_LOADER_EMBEDDING_EMBEDDING_SET_INTERNAL_H

#include "model_loader/embedding/embedding_set.h"

/* NULL when no program has declared it. */
sp_embedding_note *sp_embedding_set__find_note(const sp_embedding_set *set,
					       const sp_resource *resource);

/* The fault in the declarations about `resource`, or which one is missing; `note` may be NULL. */
SP_MUST_CHECK sp_status sp_embedding_set__check_note(const sp_embedding_note *note,
						     const sp_resource *resource, sp_error *err);

/* As sp_embedding_find() in set->full, but SP_INVALID if it lacks the variable. */
SP_MUST_CHECK sp_status sp_embedding_set__find(sp_embedding *out, const sp_embedding_set *set,
					       const sp_embedding_spec *spec,
					       const sp_bundle *delta, sp_error *err);

/* Whether the model reads the column of this handle, or of one that may share its table. */
bool sp_embedding_set__wants_column(const sp_embedding_set *set, const sp_embedding_note *note,
				    sp_table_column which);

/* Whether both are loaded parts of the same variable. */
bool sp_embedding_set__are_siblings(const sp_embedding_note *a, const sp_embedding_note *b);

/* Whether tables made by either would have the same rows and answers. */
bool sp_embedding_set__answer_alike(const sp_embedding_spec *a, const sp_embedding_spec *b);

/* The routing that an image tells, which saves reading every key; else unknown. */
sp_routing sp_embedding_set__known_routing(const sp_embedding_set *set,
					   const sp_embedding_note *note);

/* Tables keep their own references. */
void sp_embedding_set__drop_columns(sp_embedding_set *set);

/* Makes room for that many more in set->tables. */
SP_MUST_CHECK sp_status sp_embedding_set__reserve_tables(sp_embedding_set *set, size_t more,
							 sp_error *err);

#endif
