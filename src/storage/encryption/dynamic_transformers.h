/* The transformers of an encryption file, by resource, which stay valid while the file is read anew
 * beside the requests that use them.
 * Thread: reload from one thread at a time; the rest from any.  Owner: the server, longer than all
 * stores that use a transformer of it. */
#ifndef COR_STORAGE_ENCRYPTION_DYNAMIC_TRANSFORMERS_H
#define COR_STORAGE_ENCRYPTION_DYNAMIC_TRANSFORMERS_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "meta/status/gvk.h"
#include "meta/status/status.h"
#include "storage/encryption/transform_stats.h"
#include "storage/store/transformer.h"

struct cor_dynamic_transformers;

/* "sha256:" and 64 digits of the bytes of the file that is in force. */
#define COR_ENCRYPTION_HASH_MAX 80

/* Reads the file. -COR_ENOTFOUND or -COR_EIO (it cannot be read), -COR_EINVAL, -COR_ETOOBIG,
 * -COR_ENOMEM; the message names the file and never a secret. */
int cor_dynamic_transformers_new(const char *path, struct cor_dynamic_transformers **ret_dynamic,
                                 struct cor_status *reterr_status);

/* Wipes the keys. Returns NULL; NULL is fine. */
struct cor_dynamic_transformers *
cor_dynamic_transformers_free(struct cor_dynamic_transformers *dynamic);
COR_DEFINE_CLEANUP(struct cor_dynamic_transformers, cor_dynamic_transformers_free)

/* The transformer of a resource, borrowed; `gr` is copied. 0, -COR_ENOMEM. */
int cor_dynamic_transformers_peek(struct cor_dynamic_transformers *dynamic, const struct cor_gr *gr,
                                  const struct cor_transformer **ret_transformer);

/* Reads the file again. When its bytes have changed, the new content is in force from now on; when
 * it is invalid, the old content stays in force. Errors as above. */
int cor_dynamic_transformers_reload(struct cor_dynamic_transformers *dynamic, bool *ret_changed,
                                    struct cor_status *reterr_status);

/* Returns whether users other than the owner may read or write the file, as of the last read. */
bool cor_dynamic_transformers_file_is_open(const struct cor_dynamic_transformers *dynamic);

/* What was done with values of each resource that the file names; `visit` must not call back here.
 */
void cor_dynamic_transformers_counts(struct cor_dynamic_transformers *dynamic,
                                     void (*visit)(void *arg, const struct cor_gr *gr,
                                                   const struct cor_transform_counts *counts),
                                     void *arg);
const struct cor_transform_times *
cor_dynamic_transformers_times(const struct cor_dynamic_transformers *dynamic);

/* Into `ret_hash`. */
void cor_dynamic_transformers_hash(struct cor_dynamic_transformers *dynamic,
                                   char ret_hash[COR_ENCRYPTION_HASH_MAX]);

#endif
