#ifndef SP_API_HOST_STICKY_STICKY_INTERNAL_H
#define SP_API_HOST_STICKY_STICKY_INTERNAL_H

#include "api/host/sticky/sticky.h"

/* Keys of values; their digits are in body->number. */
sp_bytes sp_sticky__signed(sp_sticky_body *body, int64_t value);
sp_bytes sp_sticky__unsigned(sp_sticky_body *body, uint64_t value);
sp_bytes sp_sticky__real(sp_sticky_body *body, double value);

/* Of an element of a tensor, which need not be aligned. */
sp_bytes sp_sticky__element(sp_sticky_body *body, int dtype, const void *element);

/* Each finds the value in one kind of body. */
sp_bytes sp_sticky__predict_json(sp_sticky_body *body, const char *name);
sp_bytes sp_sticky__examples_json(sp_sticky_body *body, const char *name);
sp_bytes sp_sticky__v2_json(sp_sticky_body *body, const char *name);
sp_bytes sp_sticky__predict(sp_sticky_body *body, const char *name);
sp_bytes sp_sticky__infer(sp_sticky_body *body, const char *name);
sp_bytes sp_sticky__examples(sp_sticky_body *body, const char *name);
sp_bytes sp_sticky__eas(sp_sticky_body *body, const char *name);

#define SP_STICKY_NONE ((sp_bytes){NULL, 0})

#endif
