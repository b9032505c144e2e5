#include <stdlib.h>
#include <string.h>

#include "engine/kernels/example_reader.h"
#include "tests/support/fuzz.h"

/* What was counted is read into a block of exactly that size, with every element looked at. */
static void read_list(sp_bytes list, sp_dtype dtype)
{
	size_t count, size = sp_dtype_size(dtype);
	volatile char seen = 0;
	char *elements;

	if (!sp_example_list_count(list, dtype, &count))
		return;
	elements = malloc(count * size + 1);
	if (elements == NULL)
		abort();
	memset(elements, 0, count * size + 1);
	sp_example_list_read(list, dtype, elements);
	for (size_t i = 0; i < count && dtype == SP_STRING; i++) {
		sp_bytes text = ((const sp_bytes *)(const void *)elements)[i];

		for (size_t k = 0; k < text.size; k++)
			seen ^= text.data[k];
	}
	(void)seen;
	if (elements[count * size] != 0)
		abort();
	free(elements);
}

/* Any bytes as an Example, and as a list of each type. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sp_bytes all = {(const char *)data, size}, name, feature, list;
	sp_example_reader reader = sp_example_open(all);
	sp_dtype dtype;

	while (sp_example_next(&reader, &name, &feature) == SP_EXAMPLE_ENTRY) {
		volatile char last = name.size > 0 ? name.data[name.size - 1] : 0;

		(void)last;
		if (sp_example_feature(feature, &dtype, &list))
			read_list(list, dtype);
	}
	read_list(all, SP_STRING);
	read_list(all, SP_FLOAT);
	read_list(all, SP_INT64);
	return 0;
}
