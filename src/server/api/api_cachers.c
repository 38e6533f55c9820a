/* The watch caches of the API: one cacher per stored resource, over a store of its own on the first
 * loop, all in one set of cachers that share the engine's feed and a byte budget.
 *
 * Open: every resource of the table that is stored and wanted. When one cannot be opened, the ones
 * before it stay open, and the caller has to close. Close: all cachers at once; when the last one
 * has closed, the set closes, and then on_closed is called.
 *
 * The cache of a custom resource is opened before its row is published, and released by the end of
 * the row's life, on whatever thread that is; the first loop closes it then. A close of all caches
 * waits for the releases that are still in its mailbox: by then every row has been released.
 * Thread: open before the loops start; add and close on the first loop; the rest from any. */
#include "server/api/api_cachers.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "meta/names/key.h"
#include "server/api/api_int.h"

/* One resource's cacher, with the store that it is filled from. */
struct resource_cacher {
    const struct cor_resource_row *row;
    struct cor_cacher *cacher;
    struct cor_store *store;
    struct cor_buf prefix;
};

/* The cache of a custom resource. It is freed when its cacher is closed, and its row does not refer
 * to it any more. */
struct cor_custom_cache {
    struct cor_api_cachers *cachers;
    struct resource_cacher of; /* its `row` is not used: the row owns the cache */
    struct cor_dlist link;
    struct cor_mail mail; /* of the release, to the first loop */
    bool is_closing, is_closed, is_released;
};

struct cor_api_cachers {
    struct cor_api *api;
    struct cor_cachers *cachers;
    size_t open; /* cachers that have not closed yet, and custom caches that are not freed */
    struct cor_dlist custom; /* the first loop's */
    void (*on_closed)(void *arg);
    void *arg;
    size_t nresources;
    struct resource_cacher resources[]; /* by cor_row_place(): the built-in resources */
};

/* Looks for the resource ("pods", "deployments.apps") among `resource[.group]#size` settings.
 * `size` becomes that of the resource's last setting; without a setting it stays. 0, -COR_EINVAL.
 */
static int read_size(const char *sizes, const struct cor_resource_row *resource, uint64_t *size,
                     struct cor_status *st)
{
    struct cor_str rest = cor_strz(sizes);

    while (sizes && rest.p && rest.n > 0) {
        struct cor_str setting = cor_str_cut(&rest, ','), number = setting;
        struct cor_str name = cor_str_cut(&number, '#'), group = name;
        struct cor_str plural = cor_str_cut(&group, '.');
        uint64_t n;

        if (!number.p || cor_str_to_u64(number, &n) < 0)
            return cor_status_set(st, -COR_EINVAL,
                                  "--watch-cache-sizes: \"%.*s\" is not resource[.group]#size",
                                  COR_STR_ARG(setting));
        if (!cor_str_eq(plural, resource->plural) ||
            !cor_str_eq(group.p ? group : COR_STR(""), resource->group))
            continue;
        *size = n;
    }
    return 0;
}

static int wants_cache(const struct cor_resource_row *res, const char *sizes, struct cor_status *st)
{
    uint64_t size = res->flags & COR_API_NO_CACHE ? 0 : 1;
    int r = read_size(sizes, res, &size, st);

    if (r < 0 || (res->flags & COR_API_VIRTUAL) || res->conversion)
        return r;
    return size > 0;
}

static int cachers_open_resource(struct cor_api_cachers *c, struct resource_cacher *rc,
                                 const struct cor_resource_row *res, void (*on_filled)(void *arg),
                                 void *arg, struct cor_status *st)
{
    struct cor_cacher_opts opts = {.cachers = c->cachers,
                                   .namespaced = cor_api_is_namespaced(res),
                                   .trigger_fields = res->trigger_fields,
                                   .on_filled = on_filled,
                                   .arg = arg};
    int r = cor_api_store_new(c->api, res, cor_api_home(c->api)->loop, &rc->prefix, &rc->store, st);

    if (r < 0)
        return r;
    opts.store = rc->store;
    r = cor_cacher_open(&opts, &rc->cacher, st);
    c->open += r == 0;
    return r;
}

static void cacher_deinit(struct resource_cacher *rc)
{
    cor_store_free(rc->store);
    cor_buf_deinit(&rc->prefix);
}

static void cachers_free(struct cor_api_cachers *c)
{
    assert(cor_dlist_empty(&c->custom));
    for (size_t i = 0; i < c->nresources; i++)
        cacher_deinit(&c->resources[i]);
    cor_free(c);
}

int cor_api_cachers_open(struct cor_api *api, const struct cor_api_cachers_opts *opts,
                         struct cor_api_cachers **ret_cachers, struct cor_status *reterr_status)
{
    struct cor_loop *loops[COR_API_LOOPS_MAX];
    const struct cor_cachers_opts cachers_opts = {.engine = api->settings.engine,
                                                  .loops = loops,
                                                  .nloops = api->nloops,
                                                  .bytes_max = opts->bytes_max,
                                                  .clock = api->settings.clock,
                                                  .offload = api->settings.offload};
    size_t nrows;
    const struct cor_resource_row *const *rows = cor_served_rows(cor_api_home(api)->served, &nrows);
    struct cor_api_cachers *c = cor_calloc(1, sizeof(*c) + nrows * sizeof(c->resources[0]));
    int r;

    assert(api->nloops > 0 && api->nloops <= COR_API_LOOPS_MAX);
    if (!c)
        return cor_status_set(reterr_status, -COR_ENOMEM, "out of memory");
    c->api = api;
    c->nresources = nrows;
    cor_dlist_init(&c->custom);
    for (size_t i = 0; i < api->nloops; i++)
        loops[i] = api->parts[i].loop.loop;
    r = cor_cachers_open(&cachers_opts, &c->cachers);
    if (r < 0) {
        cachers_free(c);
        return cor_status_set(reterr_status, r, "watch caches: %s", cor_err_text(r));
    }
    /* From here on there is something to close: the caller gets the caches even when this fails. */
    *ret_cachers = c;
    for (size_t i = 0; r >= 0 && i < nrows; i++) {
        assert(cor_row_place(rows[i]) == i);
        c->resources[i].row = rows[i];
        r = wants_cache(rows[i], opts->sizes, reterr_status);
        if (r == 1)
            r = cachers_open_resource(c, &c->resources[i], rows[i], NULL, NULL, reterr_status);
    }
    return r < 0 ? r : 0;
}

struct cor_cacher *cor_api_cachers_peek(const struct cor_api_cachers *cachers,
                                        const struct cor_resource_row *resource)
{
    size_t place = cor_row_place(resource);

    if (resource->life)
        return resource->life->cache ? resource->life->cache->of.cacher : NULL;
    return place < cachers->nresources ? cachers->resources[place].cacher : NULL;
}

struct cor_cacher *cor_api_cachers_at(const struct cor_api_cachers *cachers, size_t i,
                                      const struct cor_resource_row **ret_row)
{
    *ret_row = i < cachers->nresources ? cachers->resources[i].row : NULL;
    return *ret_row ? cachers->resources[i].cacher : NULL;
}

bool cor_api_cachers_failed(const struct cor_api_cachers *cachers,
                            char reterr_why[COR_READY_MESSAGE_MAX])
{
    bool failed = false;

    for (size_t i = 0; i < cachers->nresources; i++) {
        struct cor_cacher *cacher = cachers->resources[i].cacher;

        if (!cacher || cor_cacher_is_ready(cacher))
            continue;
        if (!cor_cacher_is_failing(cacher, reterr_why))
            return false;
        failed = true;
    }
    return failed;
}

bool cor_api_cachers_are_ready(const struct cor_api_cachers *cachers)
{
    for (size_t i = 0; i < cachers->nresources; i++)
        if (cachers->resources[i].cacher && !cor_cacher_is_ready(cachers->resources[i].cacher))
            return false;
    return true;
}

struct cor_cachers_stats cor_api_cachers_stats(const struct cor_api_cachers *cachers)
{
    return cor_cachers_stats(cachers->cachers);
}

static void on_cachers_closed(void *arg)
{
    struct cor_api_cachers *c = arg;
    void (*on_closed)(void *arg) = c->on_closed;
    void *closed_arg = c->arg;

    cachers_free(c);
    on_closed(closed_arg);
}

static void on_cacher_closed(void *arg)
{
    struct cor_api_cachers *c = arg;

    assert(c->open > 0);
    if (--c->open == 0 && c->on_closed)
        cor_cachers_close(c->cachers, on_cachers_closed, c);
}

/* Custom resources. */

static void custom_free_if_done(struct cor_custom_cache *cache)
{
    struct cor_api_cachers *c = cache->cachers;

    if (!cache->is_closed || !cache->is_released)
        return;
    cor_dlist_remove(&cache->link);
    cacher_deinit(&cache->of);
    cor_free(cache);
    on_cacher_closed(c);
}

static void custom_on_closed(void *arg)
{
    struct cor_custom_cache *cache = arg;

    cache->is_closed = true;
    custom_free_if_done(cache);
}

static void custom_close(struct cor_custom_cache *cache)
{
    assert(!cache->is_closing);
    cache->is_closing = true;
    cor_cacher_close(cache->of.cacher, custom_on_closed, cache);
}

static void custom_on_released(struct cor_mail *mail)
{
    struct cor_custom_cache *cache = COR_CONTAINER_OF(mail, struct cor_custom_cache, mail);

    cache->is_released = true;
    if (cache->is_closing)
        custom_free_if_done(cache);
    else
        custom_close(cache);
}

int cor_api_cachers_add(struct cor_api_cachers *c, const struct cor_resource_row *row,
                        void (*on_filled)(void *arg), void *arg,
                        struct cor_custom_cache **ret_cache, struct cor_status *reterr_status)
{
    struct cor_custom_cache *cache = cor_calloc(1, sizeof(*cache));
    int r;

    assert(row->life && !row->conversion && !c->on_closed);
    assert(cor_loop_is_current(cor_api_home(c->api)->loop));
    if (!cache)
        return cor_status_set(reterr_status, -COR_ENOMEM, "out of memory");
    cache->cachers = c;
    cache->mail.on_mail = custom_on_released;
    r = cachers_open_resource(c, &cache->of, row, on_filled, arg, reterr_status);
    if (r < 0) {
        cacher_deinit(&cache->of);
        cor_free(cache);
        return r;
    }
    cor_dlist_push(&c->custom, &cache->link);
    *ret_cache = cache;
    return 0;
}

void cor_custom_cache_release(struct cor_custom_cache *cache)
{
    if (cache)
        cor_loop_post_always(cor_api_home(cache->cachers->api)->loop, &cache->mail);
}

bool cor_custom_cache_is_settled(const struct cor_custom_cache *cache)
{
    char why[COR_READY_MESSAGE_MAX];

    return cor_cacher_is_ready(cache->of.cacher) || cor_cacher_is_failing(cache->of.cacher, why);
}

void cor_api_cachers_close(struct cor_api_cachers *cachers, void (*on_closed)(void *arg), void *arg)
{
    size_t nresources = cachers->nresources;

    assert(on_closed && !cachers->on_closed);
    cachers->on_closed = on_closed;
    cachers->arg = arg;
    if (cachers->open == 0) {
        cor_cachers_close(cachers->cachers, on_cachers_closed, cachers);
        return;
    }
    COR_DLIST_FOREACH(link, &cachers->custom) {
        struct cor_custom_cache *cache = COR_CONTAINER_OF(link, struct cor_custom_cache, link);

        if (!cache->is_closing)
            custom_close(cache);
    }
    for (size_t i = 0; i < nresources; i++)
        if (cachers->resources[i].cacher)
            cor_cacher_close(cachers->resources[i].cacher, on_cacher_closed, cachers);
}
