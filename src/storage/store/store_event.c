#include "storage/store/store_event.h"

#include "json/write/writer.h"

#define BOOKMARK_MAX 4096

static bool matches(const struct cor_predicate *predicate, const struct cor_object *object)
{
    return object && (!predicate || cor_predicate_matches(predicate, object));
}

static bool is_creation(const struct cor_feed_event *change)
{
    return !change->deleted && change->kv->create_rev == change->kv->mod_rev;
}

/* Decodes the previous version, at the revision of the change. When it cannot be decoded and the
 * change is its deletion, the error has a reason of its own: deleting is how such an object is
 * removed. */
static int read_old(const struct cor_store *store, const struct cor_feed_event *change,
                    struct cor_object **ret_object, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why;
    int r;

    cor_status_init(&why);
    r = cor_store_decode(store, change->prev, change->kv->mod_rev, ret_object, NULL, &why);
    if (r == -COR_EINTERNAL && change->deleted) {
        cor_status_set(
            reterr_status, r,
            "saw a DELETED event, but object data is corrupt - key=%s, revision=%llu: %s",
            change->kv->bytes, (unsigned long long)change->kv->mod_rev, cor_status_message(&why));
        reterr_status->reason = "StorageReadError";
    } else if (r < 0) {
        cor_status_move(reterr_status, &why);
    }
    return r;
}

static void event_set(struct cor_reader_event *ret_event, enum cor_watch_type type, cor_rev rev,
                      struct cor_object **object)
{
    *ret_event = (struct cor_reader_event){.type = type, .object = COR_STEAL(*object), .rev = rev};
}

int cor_store_event_read(const struct cor_store *store, const struct cor_predicate *predicate,
                         const struct cor_feed_event *change, bool *ret_seen,
                         struct cor_reader_event *ret_event, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *now = NULL;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *old = NULL;
    cor_rev rev = change->kv->mod_rev;
    bool was, is;
    int r = 0;

    if (!is_creation(change) && !change->prev)
        return cor_status_internal(
            reterr_status,
            "etcd event received with PrevKv=nil (key=\"%s\", modRevision=%llu, "
            "type=%s)",
            change->kv->bytes, (unsigned long long)rev, change->deleted ? "DELETE" : "PUT");
    if (!change->deleted)
        r = cor_store_decode(store, change->kv, 0, &now, NULL, reterr_status);
    if (r == 0 && change->prev && (change->deleted || predicate))
        r = read_old(store, change, &old, reterr_status);
    if (r < 0)
        return r;

    is = matches(predicate, now);
    was = predicate || change->deleted ? matches(predicate, old) : change->prev != NULL;
    *ret_seen = is || was;
    if (is)
        event_set(ret_event, was ? COR_WATCH_MODIFIED : COR_WATCH_ADDED, rev, &now);
    else if (was)
        event_set(ret_event, COR_WATCH_DELETED, rev, &old);
    return 0;
}

int cor_store_event_initial(const struct cor_store *store, const struct cor_predicate *predicate,
                            const struct cor_kv *kv, bool *ret_seen,
                            struct cor_reader_event *ret_event, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    int r = cor_store_decode(store, kv, 0, &object, NULL, reterr_status);

    if (r < 0)
        return r;
    *ret_seen = matches(predicate, object);
    if (*ret_seen)
        event_set(ret_event, COR_WATCH_ADDED, kv->mod_rev, &object);
    return 0;
}

static int write_bookmark(const struct cor_store *store, bool initial_end, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), cor_strz(store->kind));
    cor_json_member(&w, COR_STR("apiVersion"), cor_strz(store->api_version));
    cor_json_key(&w, COR_STR("metadata"));
    cor_json_begin_object(&w);
    if (initial_end) {
        cor_json_key(&w, COR_STR("annotations"));
        cor_json_begin_object(&w);
        cor_json_member(&w, COR_STR(COR_INITIAL_EVENTS_END), COR_STR("true"));
        cor_json_end_object(&w);
    }
    cor_json_end_object(&w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

int cor_store_event_bookmark(const struct cor_store *store, cor_rev rev, bool initial_end,
                             struct cor_reader_event *ret_event, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    int r;

    cor_buf_init(&json, BOOKMARK_MAX);
    r = write_bookmark(store, initial_end, &json);
    if (r == 0)
        r = cor_value_complete(store->codec, &json);
    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    r = cor_object_from_stored(cor_buf_str(&json), rev, &object, NULL, reterr_status);
    if (r < 0)
        return r;
    event_set(ret_event, COR_WATCH_BOOKMARK, rev, &object);
    return 0;
}

int cor_store_event_deliver_bookmark(const struct cor_store *store, cor_rev rev, bool initial_end,
                                     cor_watch_cb on_event, void *arg,
                                     struct cor_status *reterr_status)
{
    struct cor_reader_event event;
    int r = cor_store_event_bookmark(store, rev, initial_end, &event, reterr_status);

    if (r < 0)
        return r;
    on_event(arg, &event);
    cor_object_unref(event.object);
    return 0;
}
