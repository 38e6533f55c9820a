/* Inside the store: the handle, what all operations begin with, and how bytes become objects. */
#ifndef COR_STORAGE_STORE_INT_H
#define COR_STORAGE_STORE_INT_H

#include <assert.h>

#include "base/buf.h"
#include "loop/loop.h"
#include "meta/status/storage_error.h"
#include "storage/engine/engine.h"
#include "storage/store/store.h"
#include "storage/store/store_pages.h"
#include "storage/store/store_turn.h"

struct cor_store {
    struct cor_engine *engine;
    struct cor_loop *loop;
    const struct cor_transformer *transformer;
    struct cor_value_codec *codec;
    struct cor_lease_manager leases;
    struct cor_buf path_prefix;      /* begins and ends with a slash */
    char *resource_prefix;           /* begins with one */
    char *api_version, *kind;        /* empty: not known */
    _Atomic uint64_t *decode_errors; /* NULL: not counted */
    size_t busy;                     /* operations and watches that are open */
};

/* A physical key. For a prefix also the first key after all keys that begin with it. */
struct store_key {
    struct cor_buf text; /* key, and for a prefix NUL and end */
    size_t n;            /* of the key */
};

/* The physical key of `key`; with `prefix`, a slash is put at its end when it has none. 0,
 * -COR_EINVAL, -COR_ENOMEM. Deinit is safe on a zeroed struct. */
int cor_store_key_init(struct store_key *ret_key, const struct cor_store *store, struct cor_str key,
                       bool prefix, struct cor_status *reterr_status);

static inline void store_key_deinit(struct store_key *key)
{
    cor_buf_deinit(&key->text);
}

static inline struct cor_str store_key_str(const struct store_key *key)
{
    return cor_str(key->text.p, key->n);
}

/* The end of the range of a prefix. */
static inline struct cor_str store_key_end(const struct store_key *key)
{
    return cor_str(key->text.p + key->n + 1, key->n);
}

/* Decodes a stored value into the object at `rev` (0: the kv's own). `ret_rewrite` (NULL: not
 * wanted): an update must write even when the object stays the same, because it would store other
 * bytes. 0, -COR_ENOMEM, -COR_EINTERNAL (unreadable, which is counted; the message names the key).
 */
int cor_store_decode(const struct cor_store *store, const struct cor_kv *kv, cor_rev rev,
                     struct cor_object **ret_object, bool *ret_rewrite,
                     struct cor_status *reterr_status);

/* As cor_store_decode(), but a value that cannot be decoded is not counted: for callers that try a
 * value that may have been counted before. */
int cor_store_try_decode(const struct cor_store *store, const struct cor_kv *kv, cor_rev rev,
                         struct cor_object **ret_object, bool *ret_rewrite,
                         struct cor_status *reterr_status);

/* Does decoding this value take so long that it belongs on another thread than the loop's? */
static inline bool cor_store_decodes_slowly(const struct cor_store *store, const struct cor_kv *kv)
{
    return cor_value_is_slow(store->codec, cor_kv_value(kv), kv->mod_rev);
}
/* The same of one of the values that an event has. */
bool cor_store_decodes_event_slowly(const struct cor_store *store,
                                    const struct cor_feed_event *event);

/* Counts one value that cannot be decoded. */
void cor_store_count_unreadable(const struct cor_store *store);

/* Where the bytes of a value are made. They stay until the write is answered. */
struct store_scratch {
    struct cor_buf encoded, sealed;
};

static inline void store_scratch_init(struct store_scratch *scratch)
{
    cor_buf_init(&scratch->encoded, COR_STORED_VALUE_MAX);
    cor_buf_init(&scratch->sealed, COR_STORED_VALUE_MAX);
}

static inline void store_scratch_deinit(struct store_scratch *scratch)
{
    cor_buf_deinit(&scratch->encoded);
    cor_buf_deinit(&scratch->sealed);
}

/* The bytes to store for `object` (stored form): in the object itself or in `scratch`. 0,
 * -COR_ENOMEM, -COR_EINTERNAL (the message names the key). */
int cor_store_encode(const struct cor_store *store, const struct store_key *key,
                     const struct cor_object *object, struct store_scratch *scratch,
                     struct cor_str *ret_value, struct cor_status *reterr_status);

/* Turns an engine's failure into the store's error. Returns its code. */
int cor_store_engine_failure(const struct store_key *key, struct cor_engine_req *req,
                             struct cor_status *reterr_status);

int cor_store_no_memory(struct cor_status *reterr_status);
int cor_store_timed_out(const struct store_key *key, struct cor_status *reterr_status);

#endif
