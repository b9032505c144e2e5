#ifndef SP_STORAGE_ROCKS_LINK_H
#define SP_STORAGE_ROCKS_LINK_H

#include "base/status.h"

/*
 * A RocksDB folder that nobody writes once more, as `to`, which is made: its
 * files of rows, which never change, are hard links, and the few small ones that
 * say which they are, copies.  So it takes next to no space, and whatever is done in
 * one of the two folders leaves the other as it is.
 *
 * SP_IO when a file cannot be linked or written: not every file system has links.
 * What there is of `to` then is the caller's to delete.
 */
SP_MUST_CHECK sp_status sp_rocks_link(const char *from, const char *to, sp_error *err);

#endif
