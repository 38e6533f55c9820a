/* The fixture of the store's conformance suite: one engine, one loop that the test's own thread
 * runs, one store of pods, and every operation as a plain call that returns when its answer is
 * there.
 *
 * The suite is the same for every engine; $COR_CONFORMANCE_ENGINE says which: `memory`, `disk` or
 * `etcd`. With $COR_CONFORMANCE_CACHER set, get, list and watch go through a watch cache over the
 * store, as upstream runs the same suite through its cacher; conf_open_store() is for what only a
 * store does. Tests are named after upstream's RunTest* functions, which stand in a comment above
 * them. */
#ifndef COR_CONFORMANCE_H
#define COR_CONFORMANCE_H

#include "loop/loop.h"
#include "meta/select/field_selector.h"
#include "storage/cacher/cacher.h"
#include "storage/encryption/encryption.h"
#include "storage/engine/engine.h"
#include "storage/store/store.h"
#include "storage/store/store_list.h"
#include "storage/store/store_watch.h"
#include "test.h"

#define CONF_TIMEOUT_MS 60000

/* Identity, but a test can break it, make it stale, and count its reads. */
struct conf_transformer {
    struct cor_transformer transformer;
    struct cor_encryption *encryption; /* COR_CONFORMANCE_ENCRYPTED: what values go through */
    bool stale;
    bool broken;
    const char *broken_key; /* only values of keys that end so cannot be read */
    _Atomic size_t reads;   /* a cache reads on the engine's thread */
};

struct conf {
    struct cor_engine *engine;
    struct cor_loop *loop;
    struct cor_store *store;
    struct conf_transformer transformer;
    struct cor_reader *reader; /* NULL: get, list and watch are the store's own */
    struct cor_cachers *cachers;
    struct cor_cacher *cacher;
    struct cor_store *cacher_store;
    size_t cacher_bytes;            /* budget of the next cacher's history; 0: the default */
    _Atomic uint64_t decode_errors; /* values that cacher_store could not decode */
};

void conf_open(struct conf *c);
void conf_open_store(struct conf *c);
/* The two halves that conf_open() and conf_close() add. */
void conf_open_cacher(struct conf *c);
void conf_close_cacher(struct conf *c);
void conf_close(struct conf *c);

/* Another store over the same engine and loop. */
struct cor_store *conf_store(struct conf *c, const char *path_prefix, const char *resource_prefix);

/* An engine as the suite's variant has it; the folder is the test's. */
struct cor_engine *conf_engine_open(void);
bool conf_is_etcd(void);

/* Runs the loop until `*done`, and fails the test when that takes too long. */
void conf_wait(struct conf *c, const bool *done);

/* Objects in stored form. */
struct cor_object *conf_object(const char *json);
struct cor_object *conf_objectf(const char *fmt, ...) COR_PRINTF(1, 2);
/* A pod; `node` NULL: not assigned. */
struct cor_object *conf_pod(const char *ns, const char *name, const char *node);

struct conf_reply {
    bool done;
    bool was_stopped;
    int err;
    struct cor_status status;
    struct cor_object *object;
};
void conf_reply_deinit(struct conf_reply *reply);
/* A cor_store_cb; `arg` is the reply. */
void conf_on_reply(void *arg, const struct cor_store_reply *reply);
#define CONF_REPLY COR_CLEANUP(conf_reply_deinit) struct conf_reply

struct conf_reply conf_create(struct conf *c, const char *key, struct cor_object *take_object,
                              int64_t ttl_s);
struct conf_reply conf_get(struct conf *c, const char *key, const char *rv, bool ignore_not_found);
struct conf_reply conf_update(struct conf *c, const char *key,
                              const struct cor_store_update_opts *opts);
struct conf_reply conf_delete(struct conf *c, const char *key,
                              const struct cor_store_delete_opts *opts);

/* Creates or replaces whatever is there, must succeed, and returns the new state. */
struct cor_object *conf_put(struct conf *c, const char *key, struct cor_object *take_object);
/* Must succeed; returns the last state. */
struct cor_object *conf_remove(struct conf *c, const char *key);
/* conf_put() of a pod at its usual key. */
struct cor_object *conf_put_pod(struct conf *c, const char *ns, const char *name, const char *node);

/* Creates pods p0000 … in `ns`, many at a time, and returns the last one's revision. */
cor_rev conf_fill(struct conf *c, const char *ns, size_t n);

struct conf_list {
    bool done;
    int err;
    struct cor_status status;
    struct cor_object **items;
    size_t nitems;
    cor_rev rev;
    char *token;
    int64_t remaining;
};
void conf_list_deinit(struct conf_list *list);
#define CONF_LIST COR_CLEANUP(conf_list_deinit) struct conf_list
struct conf_list conf_list(struct conf *c, const char *key, const struct cor_store_list_opts *opts);
/* Names of the items, joined by commas; a static buffer. */
const char *conf_list_names(const struct conf_list *list);

/* The key of a watch event as `TYPE name@rv`, joined by spaces as they come. */
struct conf_event {
    enum cor_watch_type type;
    struct cor_object *object;
    struct cor_status status;
    cor_rev rev;
};
struct conf_watch {
    struct conf *c;
    struct cor_store_watch *watch;
    struct cor_watch *reader_watch; /* in place of it, when it goes through a cache */
    struct conf_event events[512];
    size_t n, at;
    bool has_progress; /* bookmarks come by time: of those in a row the last is kept */
    bool ended;        /* plainly */
    bool closed;
};
void conf_watch_open(struct conf *c, struct conf_watch *w, const char *key,
                     const struct cor_store_watch_opts *opts);
/* Waits for the next event; its content belongs to `w` until it is closed. */
const struct conf_event *conf_watch_next(struct conf_watch *w);
/* Asserts type and, when given, name and revision. */
const struct conf_event *conf_watch_expect(struct conf_watch *w, enum cor_watch_type type,
                                           const char *name, cor_rev rev);
/* Nothing is on its way: the answer to a progress request comes next. (Through a cache: nothing
 * comes although the cache has got further.) */
void conf_watch_expect_idle(struct conf_watch *w);
void conf_watch_pause(struct conf_watch *w);
void conf_watch_resume(struct conf_watch *w);
void conf_watch_close(struct conf_watch *w);

/* A revision as text, in one of some static buffers. */
const char *conf_rv(cor_rev rev);
cor_rev conf_revision(struct conf *c);
/* A write outside of the store's prefix. */
cor_rev conf_bump(struct conf *c);
/* As the compactor does it: also writes compact_rev_key. */
void conf_compact(struct conf *c, cor_rev rev);
/* Writes bytes past the store. */
cor_rev conf_write_raw(struct conf *c, const char *physical_key, const char *value);

struct cor_predicate conf_predicate(const char *labels, const char *fields);

#define assert_object_rv(object, expected) assert_int_equal((object)->rev, (cor_rev)(expected))

#endif
