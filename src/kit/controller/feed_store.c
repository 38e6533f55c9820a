/* clang-format off */
/* From the calls of a reflector to the events of a source:
 *
 *   add, update   an unknown key: CREATED; a known one: UPDATED
 *   del           DELETED, with the object of the watch's event
 *   a list        each object is an event as it arrives, unless its version is known. At the commit each key that the
 *                 list did not have is DELETED with final_state_unknown; then the source has synced
 *   resync        UPDATED for each object that is kept
 *
 * A list is not staged, which a store of objects would do: a reconcile reads the state itself, so an event that comes
 * too early, or twice because the list was broken off, costs one reconcile and is never wrong.
 *
 * Each step calls the loop first and changes the table when the loop has taken the event; a new entry is allocated
 * before. So after a failure the table shows the state before the event, and the next list finds the difference again.
 * Thread: the control loop's. */
/* clang-format on */
#include "kit/controller/feed_store.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "cache/store/object_key.h"
#include "json/write/writer.h"

#define KEY_MAX  COR_OBJECT_KEY_MAX
#define HEAD_MAX (8 * KEY_MAX)

struct feed_entry {
    struct cor_object *object; /* NULL: objects are not kept */
    cor_rev rev;               /* 0: its resourceVersion is not a number, so it is always new */
    uint32_t list;             /* the last list that had it */
    uint32_t len;              /* of `key` */
    char key[];
};

static struct cor_feed_store *feed_of(struct cor_reflector_store *store)
{
    return COR_CONTAINER_OF(store, struct cor_feed_store, store);
}

static int feed_failed(int r, struct cor_status *reterr)
{
    return cor_status_set(reterr, r, "an event was not queued: %s", cor_err_text(r));
}

/* ---- the table ---- */

static struct feed_entry *feed_entry_new(struct cor_str key)
{
    struct feed_entry *e = cor_calloc(1, sizeof(*e) + key.n);

    if (!e)
        return NULL;
    e->len = (uint32_t)key.n;
    memcpy(e->key, key.p, key.n);
    return e;
}

static void feed_entry_free(struct feed_entry *e)
{
    if (e)
        cor_object_unref(e->object);
    cor_free(e);
}

static void feed_entry_set(struct cor_feed_store *s, struct feed_entry *e,
                           struct cor_object *object)
{
    e->rev = object->rev;
    e->list = s->list;
    if (s->keeps_objects) {
        struct cor_object *old = e->object;

        e->object = cor_object_ref(object);
        cor_object_unref(old);
    }
}

static int feed_write_key(struct cor_feed_store *s, const struct cor_object *object)
{
    cor_buf_reset(&s->key);
    return cor_object_key(object, &s->key);
}

/* ---- events ---- */

/* A loop that has stopped takes no events, and needs none. */
static int feed_send(struct cor_feed_store *s, const struct cor_control_event *event)
{
    int r = cor_control_loop_event(s->loop, s->source, event);

    return r == -COR_ECANCELED ? 0 : r;
}

static int feed_create(struct cor_feed_store *s, struct cor_object *object)
{
    const struct cor_control_event event = {
        .kind = COR_CONTROL_CREATED, .object = object, .in_initial_list = !s->is_synced};
    struct feed_entry *e = feed_entry_new(cor_buf_str(&s->key));
    int r;

    if (!e)
        return -COR_ENOMEM;
    r = cor_map_put(&s->map, cor_str(e->key, e->len), e, NULL);
    if (r < 0) {
        feed_entry_free(e);
        return r;
    }
    r = feed_send(s, &event);
    if (r < 0) {
        cor_map_remove(&s->map, cor_str(e->key, e->len));
        feed_entry_free(e);
        return r;
    }
    feed_entry_set(s, e, object);
    return 0;
}

/* An object of a list or of a watch's event. */
static int feed_put(struct cor_feed_store *s, struct cor_object *object, bool is_listed)
{
    struct cor_control_event event = {.kind = COR_CONTROL_UPDATED, .object = object};
    struct feed_entry *e;
    int r = feed_write_key(s, object);

    if (r < 0)
        return r;
    e = cor_map_peek(&s->map, cor_buf_str(&s->key));
    if (!e)
        return feed_create(s, object);
    if (is_listed && e->rev > 0 && e->rev == object->rev) {
        e->list = s->list;
        return 0;
    }
    event.old = e->object;
    r = feed_send(s, &event);
    if (r == 0)
        feed_entry_set(s, e, object);
    return r;
}

static void feed_remove(struct cor_feed_store *s, struct feed_entry *e)
{
    cor_map_remove(&s->map, cor_str(e->key, e->len));
    feed_entry_free(e);
}

/* Namespace and name of a key. */
static void feed_split(const struct feed_entry *e, struct cor_str *ret_ns, struct cor_str *ret_name)
{
    const char *slash = memchr(e->key, '/', e->len);
    size_t n = slash ? (size_t)(slash - e->key) : 0;

    *ret_ns = cor_str(e->key, n);
    *ret_name = slash ? cor_str(slash + 1, e->len - n - 1) : cor_str(e->key, e->len);
}

/* All that is known of an object that is not kept: its namespace and name. */
static int feed_make_head(const struct feed_entry *e, struct cor_object **ret_object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    struct cor_json_writer w;
    struct cor_str ns, name;
    int r;

    feed_split(e, &ns, &name);
    cor_buf_init(&json, HEAD_MAX);
    cor_json_writer_init(&w, &json);
    cor_json_begin_object(&w);
    cor_json_key(&w, COR_STR("metadata"));
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("name"), name);
    if (ns.n > 0)
        cor_json_member(&w, COR_STR("namespace"), ns);
    cor_json_end_object(&w);
    cor_json_end_object(&w);
    r = cor_json_writer_finish(&w);
    return r < 0 ? r : cor_object_from_json(cor_buf_str(&json), ret_object, NULL);
}

/* The deletion was missed: a list does not have the object any more. */
static int feed_send_missed(struct cor_feed_store *s, const struct feed_entry *e)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *head = NULL;
    struct cor_control_event event = {
        .kind = COR_CONTROL_DELETED, .object = e->object, .final_state_unknown = true};

    if (!e->object) {
        int r = feed_make_head(e, &head);

        if (r < 0)
            return r;
        event.object = head;
    }
    return feed_send(s, &event);
}

/* ---- the reflector's calls ---- */

static int feed_store_put(struct cor_reflector_store *store, struct cor_str key,
                          struct cor_object *object, struct cor_reflector_at at,
                          struct cor_status *reterr)
{
    int r = feed_put(feed_of(store), object, false);

    return r < 0 ? feed_failed(r, reterr) : 0;
}

static int feed_store_del(struct cor_reflector_store *store, struct cor_str key,
                          struct cor_object *object, struct cor_reflector_at at,
                          struct cor_status *reterr)
{
    struct cor_feed_store *s = feed_of(store);
    const struct cor_control_event event = {.kind = COR_CONTROL_DELETED, .object = object};
    struct feed_entry *e;
    int r;

    assert(object); /* a port delivers deletions with their objects */
    r = feed_write_key(s, object);
    e = r == 0 ? cor_map_peek(&s->map, cor_buf_str(&s->key)) : NULL;
    if (e) {
        r = feed_send(s, &event);
        if (r == 0)
            feed_remove(s, e);
    }
    return r < 0 ? feed_failed(r, reterr) : 0;
}

static int feed_store_replace_begin(struct cor_reflector_store *store, struct cor_status *reterr)
{
    feed_of(store)->list++;
    return 0;
}

static int feed_store_replace_add(struct cor_reflector_store *store, struct cor_str key,
                                  struct cor_object *object, struct cor_status *reterr)
{
    int r = feed_put(feed_of(store), object, true);

    return r < 0 ? feed_failed(r, reterr) : 0;
}

static int feed_store_replace_commit(struct cor_reflector_store *store, struct cor_reflector_at at,
                                     struct cor_status *reterr)
{
    struct cor_feed_store *s = feed_of(store);

    COR_MAP_FOREACH(it, &s->map) {
        struct feed_entry *e = it.value;
        int r = 0;

        if (e->list == s->list)
            continue;
        r = feed_send_missed(s, e);
        if (r < 0)
            return feed_failed(r, reterr);
        feed_remove(s, e);
    }
    s->is_synced = true;
    cor_control_loop_source_synced(s->loop, s->source);
    return 0;
}

static int feed_store_resync(struct cor_reflector_store *store, struct cor_status *reterr)
{
    struct cor_feed_store *s = feed_of(store);

    assert(s->keeps_objects);
    COR_MAP_FOREACH(it, &s->map) {
        const struct feed_entry *e = it.value;
        const struct cor_control_event event = {
            .kind = COR_CONTROL_UPDATED, .object = e->object, .old = e->object};
        int r = feed_send(s, &event);

        if (r < 0)
            return feed_failed(r, reterr);
    }
    return 0;
}

static const struct cor_reflector_store_ops feed_store_ops = {
    .add = feed_store_put,
    .update = feed_store_put,
    .del = feed_store_del,
    .replace_begin = feed_store_replace_begin,
    .replace_add = feed_store_replace_add,
    .replace_commit = feed_store_replace_commit,
    .resync = feed_store_resync,
};

void cor_feed_store_init(struct cor_feed_store *s, struct cor_control_loop *loop,
                         struct cor_control_source *source, bool keeps_objects)
{
    assert(loop && source);
    *s = (struct cor_feed_store){
        .store = {&feed_store_ops}, .loop = loop, .source = source, .keeps_objects = keeps_objects};
    cor_map_init(&s->map, COR_FEED_OBJECTS_MAX);
    cor_buf_init(&s->key, KEY_MAX);
}

void cor_feed_store_deinit(struct cor_feed_store *s)
{
    COR_MAP_FOREACH(it, &s->map)
        feed_entry_free(it.value);
    cor_map_deinit(&s->map);
    cor_buf_deinit(&s->key);
}

/* ---- reading ---- */

static const struct feed_entry *feed_find(const struct cor_feed_store *s, struct cor_str ns,
                                          struct cor_str name)
{
    char key[KEY_MAX];
    size_t n = 0;

    if (ns.n + 1 + name.n > sizeof(key))
        return NULL; /* no object has such a key */
    if (ns.n > 0) {
        memcpy(key, ns.p, ns.n);
        key[ns.n] = '/';
        n = ns.n + 1;
    }
    memcpy(key + n, name.p, name.n);
    return cor_map_peek(&s->map, cor_str(key, n + name.n));
}

bool cor_feed_store_has(const struct cor_feed_store *s, struct cor_str ns, struct cor_str name)
{
    return feed_find(s, ns, name) != NULL;
}

struct cor_object *cor_feed_store_peek(const struct cor_feed_store *s, struct cor_str ns,
                                       struct cor_str name)
{
    const struct feed_entry *e = feed_find(s, ns, name);

    assert(s->keeps_objects);
    return e ? e->object : NULL;
}
