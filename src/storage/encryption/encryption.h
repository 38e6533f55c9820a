/* What an encryption configuration makes of each resource's values: transformers by group and
 * resource. A set is made once and shared; the last reference wipes its keys.
 * Thread: any (immutable).  Owner: its references. */
#ifndef COR_STORAGE_ENCRYPTION_ENCRYPTION_H
#define COR_STORAGE_ENCRYPTION_ENCRYPTION_H

#include "base/cleanup.h"
#include "base/str.h"
#include "meta/status/gvk.h"
#include "meta/status/status.h"
#include "storage/store/transformer.h"

struct cor_encryption;
struct cor_rand;

/* Reads a file's bytes. `rand` (NULL: the kernel, asked for each write) gives the nonces; a seeded
 * one repeats them, serves one thread, and must stay. -COR_EINVAL with upstream's words,
 * -COR_ETOOBIG, -COR_ENOMEM. */
int cor_encryption_new(struct cor_str file, struct cor_rand *rand,
                       struct cor_encryption **ret_encryption, struct cor_status *reterr_status);
struct cor_encryption *cor_encryption_ref(struct cor_encryption *encryption);
struct cor_encryption *cor_encryption_unref(struct cor_encryption *encryption); /* NULL is fine */
COR_DEFINE_CLEANUP(struct cor_encryption, cor_encryption_unref)

/* By the resource itself, then `*.group`, then `*.*`; identity when no rule names it. Events of
 * events.k8s.io are those of the core group. Borrowed from the set. */
const struct cor_transformer *cor_encryption_peek(const struct cor_encryption *encryption,
                                                  const struct cor_gr *gr);

#endif
