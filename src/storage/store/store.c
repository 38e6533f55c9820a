/* The store's handle, physical keys, and the way of a value between the engine and an object:
 *
 *   read:  stored bytes, transformer, codec, served object at its revision
 *   write: object in stored form, codec, transformer, stored bytes
 *
 * A value that cannot be decoded is an error that names its key, never an absent object. Messages
 * are upstream's. Thread: the loop's; cor_store_decode() and its kin from any, because it changes
 * nothing. */
#include "base/limits.h"
#include "storage/store/store_int.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/mem.h"
#include "meta/names/key.h"

int cor_store_timed_out(const struct store_key *key, struct cor_status *reterr_status)
{
    return cor_storage_error(reterr_status, COR_STORAGE_TIMEOUT, store_key_str(key), 0,
                             "request did not complete within requested timeout");
}

int cor_store_no_memory(struct cor_status *reterr_status)
{
    return cor_status_no_memory(reterr_status);
}

static char *store_dup(struct cor_str s)
{
    return cor_strndup(s.p ? s.p : "", s.n);
}

static int store_check_resource_prefix(const char *prefix, struct cor_status *reterr_status)
{
    if (!prefix || !*prefix)
        return cor_status_set(reterr_status, -COR_EINVAL, "resourcePrefix cannot be empty");
    if (strcmp(prefix, "/") == 0)
        return cor_status_set(reterr_status, -COR_EINVAL, "resourcePrefix cannot be /");
    if (*prefix != '/')
        return cor_status_set(reterr_status, -COR_EINVAL, "resourcePrefix needs to start from /");
    return 0;
}

int cor_store_new(const struct cor_store_opts *opts, struct cor_store **ret_store,
                  struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_value_codec_freep)
    struct cor_value_codec *codec = opts->take_codec ? opts->take_codec : cor_json_codec();
    struct cor_store *store;
    int r;

    r = store_check_resource_prefix(opts->resource_prefix, reterr_status);
    if (r < 0)
        return r;
    store = cor_calloc(1, sizeof(*store));
    if (!store)
        return cor_store_no_memory(reterr_status);
    store->engine = opts->engine;
    store->loop = opts->loop;
    store->transformer = opts->transformer ? opts->transformer : cor_transformer_identity();
    store->decode_errors = opts->decode_errors;
    store->codec = COR_STEAL(codec);
    cor_lease_manager_init(&store->leases, opts->engine, opts->loop,
                           opts->clock ? opts->clock : cor_clock_real(), &opts->lease_limits);
    cor_buf_init(&store->path_prefix, COR_KEY_BYTES_MAX);
    r = cor_key_path_prefix(
        cor_strz(opts->path_prefix ? opts->path_prefix : COR_STORE_PATH_PREFIX_DEFAULT),
        &store->path_prefix);
    store->resource_prefix = cor_strdup(opts->resource_prefix);
    store->api_version = store_dup(opts->api_version);
    store->kind = store_dup(opts->kind);
    if (!store->resource_prefix || !store->api_version || !store->kind)
        r = -COR_ENOMEM;
    if (r < 0) {
        cor_store_free(store);
        return cor_status_set_err(reterr_status, r);
    }
    *ret_store = store;
    return 0;
}

struct cor_store *cor_store_free(struct cor_store *store)
{
    if (!store)
        return NULL;
    assert(store->busy == 0);
    cor_lease_manager_deinit(&store->leases);
    cor_buf_deinit(&store->path_prefix);
    cor_value_codec_free(store->codec);
    cor_free(store->resource_prefix);
    cor_free(store->api_version);
    cor_free(store->kind);
    return cor_free(store);
}

int cor_store_add_key(const struct cor_store *store, struct cor_str key, struct cor_buf *out)
{
    return cor_key_prepare(cor_buf_str(&store->path_prefix), key, false, out, NULL);
}

int cor_store_key_init(struct store_key *ret_key, const struct cor_store *store, struct cor_str key,
                       bool prefix, struct cor_status *reterr_status)
{
    COR_CLEANUP(store_key_deinit) struct store_key made = {0};
    int r;

    cor_buf_init(&made.text, 2 * COR_KEY_BYTES_MAX);
    r = cor_buf_reserve(&made.text, 2 * (store->path_prefix.n + key.n + 1) + 1);
    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    r = cor_key_prepare(cor_buf_str(&store->path_prefix), key, prefix, &made.text, reterr_status);
    if (r < 0)
        return r;
    made.n = made.text.n;
    if (prefix)
        r = cor_buf_addc(&made.text, 0);
    if (prefix && r == 0)
        r = cor_key_range_end(cor_str(made.text.p, made.n), &made.text);
    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    *ret_key = made;
    made.text = (struct cor_buf){0};
    return 0;
}

void cor_store_count_unreadable(const struct cor_store *store)
{
    if (store->decode_errors)
        atomic_fetch_add_explicit(store->decode_errors, 1, memory_order_relaxed);
}

static int store_unreadable(const struct cor_kv *kv, const char *what, const struct cor_status *why,
                            struct cor_status *reterr_status)
{
    return cor_storage_internal(reterr_status, "unable to %s key \"%s\": %s", what, kv->bytes,
                                cor_status_message(why));
}

bool cor_store_decodes_event_slowly(const struct cor_store *store,
                                    const struct cor_feed_event *event)
{
    return (!event->deleted && cor_store_decodes_slowly(store, event->kv)) ||
           (event->prev && cor_store_decodes_slowly(store, event->prev));
}

int cor_store_try_decode(const struct cor_store *store, const struct cor_kv *kv, cor_rev rev,
                         struct cor_object **ret_object, bool *ret_rewrite,
                         struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch;
    COR_CLEANUP(cor_status_deinit) struct cor_status why;
    bool stale = false, rewrite;
    struct cor_str data;
    int r;

    cor_buf_init(&scratch, COR_STORED_VALUE_MAX);
    cor_status_init(&why);
    r = store->transformer->from_storage(store->transformer, cor_kv_key(kv), cor_kv_value(kv),
                                         &scratch, &data, &stale, &why);
    if (r == -COR_ENOMEM)
        return cor_store_no_memory(reterr_status);
    if (r < 0)
        return store_unreadable(kv, "transform", &why, reterr_status);
    r = cor_value_decode(store->codec, data, kv->mod_rev, rev ? rev : kv->mod_rev, ret_object,
                         &rewrite, &why);
    if (r == -COR_ENOMEM)
        return cor_store_no_memory(reterr_status);
    if (r < 0)
        return store_unreadable(kv, "decode", &why, reterr_status);
    if (ret_rewrite)
        *ret_rewrite = stale || rewrite;
    return 0;
}

int cor_store_decode(const struct cor_store *store, const struct cor_kv *kv, cor_rev rev,
                     struct cor_object **ret_object, bool *ret_rewrite,
                     struct cor_status *reterr_status)
{
    int r = cor_store_try_decode(store, kv, rev, ret_object, ret_rewrite, reterr_status);

    if (r == -COR_EINTERNAL)
        cor_store_count_unreadable(store);
    return r;
}

int cor_store_encode(const struct cor_store *store, const struct store_key *key,
                     const struct cor_object *object, struct store_scratch *scratch,
                     struct cor_str *ret_value, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why;
    const char *what = "encode";
    struct cor_str value;
    int r;

    assert(object->rev == 0);
    cor_status_init(&why);
    cor_buf_reset(&scratch->encoded);
    cor_buf_reset(&scratch->sealed);
    r = cor_value_encode(store->codec, object, &scratch->encoded, &value, &why);
    if (r == 0) {
        what = "transform";
        r = store->transformer->to_storage(store->transformer, store_key_str(key), value,
                                           &scratch->sealed, ret_value, &why);
    }
    if (r == -COR_ENOMEM)
        return cor_store_no_memory(reterr_status);
    if (r < 0)
        return cor_storage_internal(reterr_status, "unable to %s key \"%s\": %s", what, key->text.p,
                                    cor_status_message(&why));
    return 0;
}

int cor_store_engine_failure(const struct store_key *key, struct cor_engine_req *req,
                             struct cor_status *reterr_status)
{
    if (req->result == -COR_EUNREACHABLE)
        return cor_storage_error(reterr_status, COR_STORAGE_UNREACHABLE, store_key_str(key), 0,
                                 cor_status_message(&req->status));
    if (req->result ==
        -COR_ENOTFOUND) /* The lease was not found; an absent key is not a failure. */
        return cor_storage_internal(reterr_status, "%s", cor_status_message(&req->status));
    cor_status_move(reterr_status, &req->status);
    return req->result;
}
