/* The folder that holds a store: made on first use, held by one process at a time.
 * Thread: one at a time.  Owner: the engine. */
#ifndef COR_STORAGE_DATA_DIR_H
#define COR_STORAGE_DATA_DIR_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "meta/status/status.h"

struct cor_data_dir;

/* Makes the folder (0700) when it is missing and takes DIR/lock, which names this process. With
 * `read_only` nothing is made and no lock is taken. -COR_ELOCKED (`… is held by process <pid>`),
 * -COR_ENOTFOUND (read_only), -COR_EREADONLY, -COR_ENOSPC, -COR_EIO, -COR_ENOMEM. */
int cor_data_dir_open(const char *path, bool read_only, struct cor_data_dir **ret_dir,
                      struct cor_status *reterr_status);

/* Is there a store in the folder? Nothing is made. */
bool cor_data_dir_has_store(const char *path);

/* Gives the lock back. */
struct cor_data_dir *cor_data_dir_free(struct cor_data_dir *dir);
COR_DEFINE_CLEANUP(struct cor_data_dir, cor_data_dir_free)

/* DIR/store.db. */
const char *cor_data_dir_store(const struct cor_data_dir *dir);

/* Makes `path` as an empty file with mode 0600 whatever the umask, and makes its name durable; a
 * file that is there stays as it is, or is -COR_EEXIST with `exclusive`. -COR_EREADONLY,
 * -COR_ENOSPC, -COR_EIO. */
int cor_data_dir_create_file(const char *path, bool exclusive, struct cor_status *reterr_status);

#endif
