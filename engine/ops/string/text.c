#include "engine/ops/string/text.h"

sp_status sp_text_attr(const sp_prepare *prepare, const char *name, sp_bytes *out, sp_error *err)
{
	if (sp_node_attr(prepare->node, name) == NULL)
		return sp_error_set(err, SP_INVALID, "%s lacks its attribute %s",
				    prepare->node->op_name, name);
	return sp_node_attr_bytes(prepare->node, name, "", out, err);
}

sp_status sp_text_attr_unit(const sp_prepare *prepare, bool *characters, sp_error *err)
{
	sp_bytes unit;

	SP_TRY(sp_node_attr_bytes(prepare->node, "unit", "BYTE", &unit, err));
	*characters = sp_bytes_equal_text(unit, "UTF8_CHAR");
	if (!*characters && !sp_bytes_equal_text(unit, "BYTE"))
		return sp_error_set(err, SP_INVALID, "unit must be BYTE or UTF8_CHAR, not %.*s",
				    (int)unit.size, unit.data);
	return SP_OK;
}

/* Large enough to waste little on the last string of a call. */
enum { POOL_BLOCK = 4096 };

char *sp_text_pool_take(sp_text_pool *pool, size_t size)
{
	char *text;

	if (size > pool->left || pool->next == NULL) {
		if (size > POOL_BLOCK / 4)
			return sp_call_bytes(pool->call, 1, size);
		pool->next = sp_call_bytes(pool->call, 1, POOL_BLOCK);
		if (pool->next == NULL) {
			pool->left = 0;
			return NULL;
		}
		pool->left = POOL_BLOCK;
	}
	text = pool->next;
	pool->next += size;
	pool->left -= size;
	return text;
}
