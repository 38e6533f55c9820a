/* One version of one key, as an engine gives it out.
 * Thread: any (immutable).  Owner: its references. */
#ifndef COR_STORAGE_KV_H
#define COR_STORAGE_KV_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/ref.h"
#include "base/str.h"
#include "meta/object/object.h"
#include "meta/status/revision.h"

struct cor_kv {
    struct cor_ref ref;
    uint32_t key_len;
    uint32_t value_len;
    cor_rev create_rev; /* of the key's present life */
    cor_rev mod_rev;    /* of this version; of the deletion in a tombstone */
    int64_t lease;      /* 0: none */
    /* The content of the value in stored form, when it was written in this process; a reference.
     * NULL: the value is to be decoded. */
    struct cor_object *object;
    char bytes[]; /* key, NUL, value */
};

/* NULL: out of memory. */
struct cor_kv *cor_kv_new(struct cor_str key, struct cor_str value, cor_rev create_rev,
                          cor_rev mod_rev, int64_t lease);
/* The same with `n` bytes of room at `*ret_value` instead of a value: the caller fills it before
 * anybody else sees the result. */
struct cor_kv *cor_kv_new_room(struct cor_str key, size_t n, cor_rev create_rev, cor_rev mod_rev,
                               int64_t lease, char **ret_value);
struct cor_kv *cor_kv_ref(struct cor_kv *kv);
struct cor_kv *cor_kv_unref(struct cor_kv *kv); /* NULL is fine; returns NULL */
COR_DEFINE_CLEANUP(struct cor_kv, cor_kv_unref)

static inline struct cor_str cor_kv_key(const struct cor_kv *kv)
{
    return cor_str(kv->bytes, kv->key_len);
}

static inline struct cor_str cor_kv_value(const struct cor_kv *kv)
{
    return cor_str(kv->bytes + kv->key_len + 1, kv->value_len);
}

#endif
