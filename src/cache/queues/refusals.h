/* The changes that a cache did not take, because an index function or a transform refused them or
 * their kind was not the expected one: whoever waits for such a write must not be told that it is
 * there. A key has a refusal from its first refused change until one of its changes is accepted, or
 * the object is gone.
 *
 * The newest COR_REFUSAL_VERSIONS_MAX refused resourceVersions of a key are remembered, of
 * COR_REFUSALS_MAX keys at most; they are compared byte by byte.
 * Thread: one at a time (the queue's lock).  Owner: whoever embeds it. */
#ifndef COR_CACHE_REFUSALS_H
#define COR_CACHE_REFUSALS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "base/str.h"

#define COR_REFUSALS_MAX         (1u << 20)
#define COR_REFUSAL_VERSIONS_MAX 16

struct cor_refusal;

struct cor_refusals {
    struct cor_map by_key;     /* -> struct cor_refusal */
    struct cor_map by_version; /* -> a version of one */
};

void cor_refusals_init(struct cor_refusals *r);
void cor_refusals_deinit(struct cor_refusals *r);

/* A change was refused with `err`, and will be tried again or not. 0; -COR_ENOMEM, and then nothing
 * has changed. Beyond the maximum of keys nothing is remembered, and 0 is returned. */
int cor_refusals_add(struct cor_refusals *r, struct cor_str key, struct cor_str version, int err,
                     bool is_retried);

/* The refusal of this resourceVersion or key; NULL: there is none. Borrowed until its key is
 * removed. */
const struct cor_refusal *cor_refusals_of_version(const struct cor_refusals *r,
                                                  struct cor_str version);
const struct cor_refusal *cor_refusals_of_key(const struct cor_refusals *r, struct cor_str key);

/* Harmless when there is none. */
void cor_refusals_remove(struct cor_refusals *r, struct cor_str key);

int cor_refusal_err(const struct cor_refusal *refusal);
bool cor_refusal_is_retried(const struct cor_refusal *refusal);

/* Marks of a list: those without a mark are of objects that are gone. */
void cor_refusals_unmark(struct cor_refusals *r);
void cor_refusals_mark(struct cor_refusals *r, struct cor_str key);
bool cor_refusal_is_marked(const struct cor_refusal *refusal);

static inline size_t cor_refusals_len(const struct cor_refusals *r)
{
    return cor_map_len(&r->by_key);
}

#endif
