#include "sim_handler.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cache/store/object_key.h"
#include "drain.h"
#include "sim_check.h"
#include "test.h"

static int key_of_object(const struct cor_object *o)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key;

    cor_buf_init(&key, COR_OBJECT_KEY_MAX);
    sim_check(cor_object_key(o, &key) == 0, "key");
    return sim_key_of(cor_buf_str(&key));
}

/* An object with this revision must be what the server had for the key then. */
static cor_rev true_rev(const struct sim_handler *h, int key, const struct cor_object *o,
                        bool deleted)
{
    uint64_t rev = 0;
    const struct sim_version *v;

    sim_check(cor_str_to_u64(cor_object_resource_version(o), &rev) == 0 && rev > 0 &&
                  rev <= h->server->head,
              "revision %llu", (unsigned long long)rev);
    v = &h->server->log[rev - 1];
    sim_check(v->key == key && cor_str_eq(cor_object_json(v->object), cor_object_json(o)),
              "key %d was never that at %llu", key, (unsigned long long)rev);
    sim_check((v->type == COR_WATCH_DELETED) == deleted, "key %d is %s at %llu", key,
              deleted ? "not deleted" : "deleted", (unsigned long long)rev);
    return rev;
}

static struct sim_handler *told(void *arg)
{
    struct sim_handler *h = arg;

    /* The checks allocate; only the informer may find no memory. */
    test_fail_alloc(0, false);
    sim_check(h->reg, "told after its removal");
    h->calls++;
    return h;
}

static void on_add(void *arg, struct cor_object *o, bool in_initial_list)
{
    struct sim_handler *h = told(arg);
    int key = key_of_object(o);

    sim_check(h->has[key] == 0, "key %d added twice", key);
    sim_check(!in_initial_list || !cor_registration_has_synced(h->reg),
              "key %d of the initial list after it", key);
    h->has[key] = true_rev(h, key, o, false);
}

static void on_update(void *arg, struct cor_object *old, struct cor_object *o)
{
    struct sim_handler *h = told(arg);
    int key = key_of_object(o);
    cor_rev was = true_rev(h, key, old, false), is = true_rev(h, key, o, false);

    sim_check(h->has[key] == was, "key %d updated from %llu, but %llu was told", key,
              (unsigned long long)was, (unsigned long long)h->has[key]);
    sim_check(is >= was, "key %d goes back from %llu to %llu", key, (unsigned long long)was,
              (unsigned long long)is);
    h->repeats[key] += is == was;
    h->has[key] = is;
}

static void on_delete(void *arg, struct cor_str name, struct cor_object *o, bool unknown)
{
    struct sim_handler *h = told(arg);
    int key = sim_key_of(name);
    cor_rev rev;

    sim_check(key >= 0 && o, "a deletion without an object");
    sim_check(h->has[key] > 0, "key %d deleted, but there was none", key);
    rev = true_rev(h, key, o, !unknown);
    sim_check(rev >= h->has[key], "key %d deleted at %llu after %llu", key, (unsigned long long)rev,
              (unsigned long long)h->has[key]);
    h->has[key] = 0;
}

static void drain_later(struct sim_handler *h)
{
    sim_in(h->time, &h->drain, 0, *h->slow ? 4000 : 10);
}

static void on_drain(struct sim_event *e)
{
    struct sim_handler *h = COR_CONTAINER_OF(e, struct sim_handler, drain);
    size_t max = *h->slow ? sim_between(h->time, 1, 5) : 1000;

    if (h->reg && drain_registration(h->reg, max) > 0)
        drain_later(h);
}

static void on_ready(void *arg)
{
    struct sim_handler *h = arg;

    test_fail_alloc(0, false);
    if (!cor_due_is_set(&h->drain.due))
        drain_later(h);
}

void sim_handler_init(struct sim_handler *h, const struct sim_server *server, struct sim_time *time,
                      struct cor_shared_informer *inf, const bool *slow)
{
    *h = (struct sim_handler){.server = server, .time = time, .inf = inf, .slow = slow};
    sim_event_init(&h->drain, on_drain);
}

void sim_handler_add(struct sim_handler *h)
{
    struct cor_registration_opts opts = cor_registration_defaults();

    opts.handler = (struct cor_handler_fns){on_add, on_update, on_delete, NULL, h};
    if (sim_chance(h->time, 30))
        opts.bytes_max = sim_chance(h->time, 50) ? 1 : 0;
    if (sim_chance(h->time, 50))
        opts.resync_ms = sim_between(h->time, 0, 3) * 1000;
    if (sim_chance(h->time, 40)) {
        opts.on_ready = on_ready;
        opts.arg = h;
    }
    for (int key = 0; key < SIM_KEYS; key++)
        h->has[key] = 0;
    h->added_ms = sim_now(h->time);
    h->resync_ms = opts.resync_ms == COR_RESYNC_DEFAULT ? h->informer_resync_ms : opts.resync_ms;
    sim_check(cor_shared_informer_add_handler(h->inf, &opts, &h->reg) == 0, "memory");
}

/* No period is shorter than the one that was asked for. */
uint64_t sim_handler_resyncs_max(const struct sim_handler *h)
{
    if (!h->reg || h->informer_resync_ms == 0 || h->resync_ms == 0)
        return h->resyncs_max;
    return h->resyncs_max + (sim_now(h->time) - h->added_ms) / h->resync_ms + 1;
}

void sim_handler_remove(struct sim_handler *h)
{
    h->resyncs_max = sim_handler_resyncs_max(h);
    sim_cancel(h->time, &h->drain);
    cor_shared_informer_remove_handler(h->inf, COR_STEAL(h->reg));
}

static cor_rev cached_rev(const struct sim_handler *h, int key)
{
    struct cor_object *o;
    uint64_t rev = 0;

    if (cor_indexer_get(cor_shared_informer_indexer(h->inf), sim_key_name(key), &o) < 0)
        return 0;
    sim_check(cor_str_to_u64(cor_object_resource_version(o), &rev) == 0, "revision");
    cor_object_unref(o);
    return rev;
}

bool sim_handler_is_even(const struct sim_handler *h)
{
    if (!cor_registration_has_synced(h->reg))
        return false;
    for (int key = 0; key < SIM_KEYS; key++)
        if (h->has[key] != cached_rev(h, key))
            return false;
    return true;
}
