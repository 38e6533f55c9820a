/* The informers of a factory, found by the printed form of their scope. The making of one: copy the
 * scope, make its driver, make the informer, connect the driver to the informer's reflector, put it
 * into the map; when a step fails, the steps before it are undone and the factory is as before.
 *
 * The factory's thread makes, starts, steps and stops informers. Other threads wait for the first
 * lists and for the end; they read the array of entries under `lock`. An entry is never removed, so
 * that a pointer to one stays valid without the lock. */
#include "cache/informers/informer_factory.h"

#include "base/array.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"

#define KEY_MAX (64u * 1024)

struct entry {
    struct cor_informer_factory *factory;
    struct cor_informer_scope scope;
    char *strings; /* of the scope */
    char *key;
    struct cor_reflector_driver *driver;
    struct cor_shared_informer *informer;
    bool started;
    struct cor_status sync_error; /* the last failure before the first list; under the lock */
};

struct cor_informer_factory {
    struct cor_informer_factory_opts opts;
    struct cor_map by_key;
    struct cor_lock lock; /* of what other threads look at: */
    struct entry **entries;
    size_t n, cap;
    size_t next; /* to be stepped; the factory's thread only */
};

int cor_informer_factory_new(const struct cor_informer_factory_opts *opts,
                             struct cor_informer_factory **ret_factory)
{
    struct cor_informer_factory *f = cor_calloc(1, sizeof(*f));

    if (!f)
        return -COR_ENOMEM;
    f->opts = *opts;
    if (!f->opts.clock)
        f->opts.clock = cor_clock_real();
    cor_map_init(&f->by_key, COR_INFORMERS_MAX);
    cor_lock_init(&f->lock, COR_LOCK_INFORMER_FACTORY);
    *ret_factory = f;
    return 0;
}

static void entry_free(struct entry *e)
{
    const struct cor_driver_maker *maker = &e->factory->opts.maker;

    cor_shared_informer_free(e->informer);
    if (e->driver)
        maker->free_driver(maker->arg, e->driver);
    cor_status_deinit(&e->sync_error);
    cor_free(e->strings);
    cor_free(e->key);
    cor_free(e);
}

static void entry_freep(struct entry **e)
{
    if (*e)
        entry_free(*e);
}

struct cor_informer_factory *cor_informer_factory_free(struct cor_informer_factory *f)
{
    if (!f)
        return NULL;
    for (size_t i = 0; i < f->n; i++)
        entry_free(f->entries[i]);
    cor_free(f->entries);
    cor_map_deinit(&f->by_key);
    cor_lock_deinit(&f->lock);
    return cor_free(f);
}

static int factory_transform(void *arg, struct cor_object **object, struct cor_status *reterr)
{
    const struct entry *e = arg;
    const struct cor_informer_factory *f = e->factory;
    int r = 0;

    if (e->scope.transform)
        r = e->scope.transform(e->scope.transform_arg, object, reterr);
    if (r == 0 && f->opts.set.transform)
        r = f->opts.set.transform(f->opts.set.arg, object, reterr);
    return r;
}

static void factory_on_work(void *arg)
{
    const struct cor_informer_factory *f = ((struct entry *)arg)->factory;

    if (f->opts.on_work)
        f->opts.on_work(f->opts.arg);
}

/* A caller that asks why there is no first list yet gets the last failure. */
static void factory_note_failure(struct entry *e, const struct cor_status *error)
{
    if (cor_shared_informer_has_synced(e->informer))
        return;
    cor_lock_acquire(&e->factory->lock);
    cor_status_deinit(&e->sync_error);
    cor_status_copy(&e->sync_error, error);
    cor_lock_release(&e->factory->lock);
}

static void factory_on_watch_error(void *arg, const struct cor_status *error)
{
    struct entry *e = arg;
    const struct cor_informer_factory *f = e->factory;

    factory_note_failure(e, error);
    if (f->opts.on_watch_error)
        f->opts.on_watch_error(f->opts.arg, &e->scope, error);
    if (f->opts.set.on_watch_error)
        f->opts.set.on_watch_error(f->opts.set.arg, e->scope.resource.resource, error);
}

static void factory_on_report(void *arg, enum cor_reflector_report what,
                              const struct cor_status *status)
{
    struct entry *e = arg;
    const struct cor_informer_factory *f = e->factory;

    if (what == COR_REFLECTOR_STREAM_FAILED || what == COR_REFLECTOR_STREAM_RETRY ||
        what == COR_REFLECTOR_STREAM_LATE)
        factory_note_failure(e, status);
    if (f->opts.on_report)
        f->opts.on_report(f->opts.arg, &e->scope, what, status);
    if (f->opts.set.on_report)
        f->opts.set.on_report(f->opts.set.arg, e->scope.resource.resource, what, status);
}

static void factory_on_mutation(void *arg, const struct cor_object *object)
{
    const struct cor_informer_factory *f = ((struct entry *)arg)->factory;

    f->opts.set.on_mutation(f->opts.set.arg, object);
}

/* A server may answer a metadata-only informer in either form. */
static struct cor_gvk factory_expected(const struct cor_informer_scope *scope)
{
    if (scope->metadata_only)
        return (struct cor_gvk){0};
    return (struct cor_gvk){scope->resource.group, scope->resource.version, scope->kind};
}

static int factory_make_informer(struct entry *e)
{
    const struct cor_informer_factory *f = e->factory;
    const struct cor_cache_controller_opts opts = {
        .reflector = {.name = e->scope.resource.resource,
                      .type_description = e->scope.resource.resource,
                      .expected = factory_expected(&e->scope),
                      .learns_expected = e->scope.kind.n == 0 && !e->scope.metadata_only,
                      .resync_ms =
                          e->scope.resync_ms > 0 ? e->scope.resync_ms : f->opts.set.resync_ms,
                      .stream_initial = f->opts.set.stream_initial,
                      .watch_silence_ms = f->opts.set.watch_silence_ms,
                      .on_watch_error = factory_on_watch_error,
                      .on_report = factory_on_report,
                      .arg = e},
        .driver = e->driver,
        .clock = f->opts.clock,
        .transform = f->opts.set.transform || e->scope.transform ? factory_transform : NULL,
        .by_key = f->opts.set.fifo == COR_INFORMER_FIFO_DELTA,
        .retry_on_error = f->opts.set.retry_on_error,
        .on_work = factory_on_work,
        .on_mutation = f->opts.set.on_mutation ? factory_on_mutation : NULL,
        .arg = e,
    };

    return cor_shared_informer_new(&opts, &e->informer);
}

static int entry_new(struct cor_informer_factory *f, const struct cor_informer_scope *scope,
                     char *take_key, struct entry **ret)
{
    const struct cor_driver_maker *maker = &f->opts.maker;
    COR_CLEANUP(entry_freep) struct entry *e = cor_calloc(1, sizeof(*e));
    int r;

    if (!e) {
        cor_free(take_key);
        return -COR_ENOMEM;
    }
    e->factory = f;
    e->key = take_key;
    r = cor_informer_scope_copy(scope, &e->scope, &e->strings);
    if (r == 0)
        r = maker->make_driver(maker->arg, &e->scope, &e->driver);
    if (r == 0)
        r = factory_make_informer(e);
    if (r < 0)
        return r;
    maker->set_reflector(maker->arg, e->driver, cor_shared_informer_reflector(e->informer));
    *ret = COR_STEAL(e);
    return 0;
}

static int factory_reserve(struct cor_informer_factory *f)
{
    return COR_ARRAY_RESERVE(&f->entries, f->n, &f->cap, COR_INFORMERS_MAX);
}

/* Takes it, also when it fails. */
static int factory_add_entry(struct cor_informer_factory *f, struct entry *take, struct cor_str key)
{
    int r;

    cor_lock_acquire(&f->lock);
    r = factory_reserve(f);
    if (r == 0)
        r = cor_map_put(&f->by_key, cor_str(take->key, key.n), take, NULL);
    if (r == 0)
        f->entries[f->n++] = take;
    cor_lock_release(&f->lock);
    if (r < 0)
        entry_free(take);
    return r;
}

int cor_informer_factory_informer_for(struct cor_informer_factory *f,
                                      const struct cor_informer_scope *scope,
                                      struct cor_shared_informer **ret_informer)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key;
    struct entry *e;
    size_t n;
    char *text;
    int r;

    cor_buf_init(&key, KEY_MAX);
    r = cor_informer_scope_print(scope, &key);
    if (r < 0)
        return r;
    e = cor_map_peek(&f->by_key, cor_buf_str(&key));
    if (!e) {
        text = cor_buf_steal(&key, &n);
        r = entry_new(f, scope, text, &e);
        if (r == 0)
            r = factory_add_entry(f, e, cor_str(text, n));
    }
    if (r == 0)
        *ret_informer = e->informer;
    return r;
}

/* The `i`-th that is started; NULL at the end. */
static struct entry *factory_started(struct cor_informer_factory *f, size_t *i)
{
    struct entry *e = NULL;

    cor_lock_acquire(&f->lock);
    while (!e && *i < f->n) {
        e = f->entries[(*i)++];
        if (!e->started)
            e = NULL;
    }
    cor_lock_release(&f->lock);
    return e;
}

void cor_informer_factory_start(struct cor_informer_factory *f)
{
    for (size_t i = 0; i < f->n; i++) {
        struct entry *e = f->entries[i];
        bool is_stopped = cor_shared_informer_is_stopped(e->informer);
        bool now;

        cor_lock_acquire(&f->lock);
        now = !e->started && !is_stopped;
        e->started |= now;
        cor_lock_release(&f->lock);
        if (now)
            cor_shared_informer_start(e->informer);
    }
}

/* Once around, beginning after the informer that was stepped last. Time that a handler took is up
 * for all of them: the next step goes on with the next informer. */
bool cor_informer_factory_step(struct cor_informer_factory *f, size_t max)
{
    uint64_t began_ms = cor_clock_coarse_ms(f->opts.clock);
    bool more = false;

    for (size_t left = f->n; left > 0; left--) {
        struct entry *e = f->entries[f->next];

        f->next = (f->next + 1) % f->n;
        if (!e->started)
            continue;
        more |= cor_shared_informer_step(e->informer, max);
        if (left > 1 && cor_clock_coarse_ms(f->opts.clock) - began_ms >= COR_TURN_MS)
            return true;
    }
    return more;
}

bool cor_informer_factory_has_retries(struct cor_informer_factory *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (cor_shared_informer_has_retries(f->entries[i]->informer))
            return true;
    return false;
}

void cor_informer_factory_check_mutations(struct cor_informer_factory *f)
{
    struct entry *e;

    for (size_t i = 0; (e = factory_started(f, &i));)
        cor_shared_informer_check_mutations(e->informer);
}

void cor_informer_factory_stop(struct cor_informer_factory *f)
{
    for (size_t i = 0; i < f->n; i++)
        cor_shared_informer_stop(f->entries[i]->informer);
}

bool cor_informer_factory_wait_for_sync(
    struct cor_informer_factory *f, uint64_t timeout_ms,
    void (*fn)(void *arg, const struct cor_informer_scope *scope, bool synced), void *arg)
{
    uint64_t begin = cor_clock_mono_ms(cor_clock_real());
    bool all = true;
    struct entry *e;

    for (size_t i = 0; (e = factory_started(f, &i));) {
        uint64_t spent = cor_clock_mono_ms(cor_clock_real()) - begin;
        uint64_t left = spent < timeout_ms ? timeout_ms - spent : 0;
        bool synced = cor_shared_informer_wait_synced(e->informer, left) == 0;

        if (fn)
            fn(arg, &e->scope, synced);
        all &= synced;
    }
    return all;
}

static int factory_sync_error_locked(const struct entry *e, struct cor_status *reterr)
{
    if (!e->started)
        return cor_status_set(reterr, -COR_EINVAL, "the informer is not started");
    if (e->sync_error.err == 0)
        return cor_status_set(reterr, -COR_EBUSY, "the first list is under way");
    if (reterr)
        cor_status_copy(reterr, &e->sync_error);
    return e->sync_error.err;
}

int cor_informer_factory_sync_error(struct cor_informer_factory *f, struct cor_shared_informer *inf,
                                    struct cor_status *reterr)
{
    int r = -COR_ENOTFOUND;

    if (cor_shared_informer_has_synced(inf))
        return 0;
    if (cor_shared_informer_is_stopped(inf))
        return cor_status_set(reterr, -COR_ECANCELED, "the informer was stopped");
    cor_lock_acquire(&f->lock);
    for (size_t i = 0; i < f->n; i++)
        if (f->entries[i]->informer == inf)
            r = factory_sync_error_locked(f->entries[i], reterr);
    cor_lock_release(&f->lock);
    return r;
}
