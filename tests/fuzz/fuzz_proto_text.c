#include <stdlib.h>
#include <string.h>

#include "engine/ops/proto_rewrite.h"
#include "engine/ops/proto_text.h"
#include "engine/workspace.h"
#include "tests/support/fuzz.h"

/*
 * Messages as text: two bytes say how long a descriptor set is, then come the set and a text of
 * its type M.  What is made of a text is what a parser of it would write again, unless its
 * messages lie too deep or its texts are no UTF-8.
 */
static void check(const sp_call *call, const sp_proto_layout *layout, sp_bytes text)
{
	sp_bytes wire, again;
	bool good;

	if (sp_proto_text_read(call, layout, text, &wire, &good) != SP_OK || !good)
		return;
	if (sp_proto_rewrite(call, layout, wire, &again, &good) == SP_OK && good &&
	    !sp_bytes_equal(wire, again))
		abort();
}

static void read(sp_bytes set, sp_bytes text)
{
	sp_proto_message message = {.name = {"M", 1}, .set = set};
	sp_workspace *workspace = sp_workspace_create(1 << 24);
	sp_arena *arena = sp_arena_create(4096);
	const sp_proto_layout *layout;
	sp_error err;
	sp_call call = {.workspace = workspace, .err = &err};

	if (workspace == NULL || arena == NULL)
		abort();
	if (sp_proto_layout_read(&message, arena, &layout, &err) == SP_OK)
		check(&call, layout, text);
	sp_arena_destroy(arena);
	sp_workspace_destroy(workspace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t set_size = size >= 2 ? (size_t)data[0] << 8 | data[1] : 0;
	const char *set = (const char *)data + 2;

	if (size < 2 || set_size > size - 2)
		return 0;
	read((sp_bytes){set, set_size}, (sp_bytes){set + set_size, size - 2 - set_size});
	return 0;
}
