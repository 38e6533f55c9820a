/* clang-format off */
/* The API as all loops share it, and each loop's part: the snapshot of what is served by which its
 * requests are routed, and the stores and readers of resources, which a loop opens when a request
 * first needs them.
 *
 * Life: cor_api_new ──► cor_api_open_cachers, _add_cache_metrics, _set_address ──► the loops run
 * ──► cor_api_loop_release on each loop that has no calls left ──► cor_api_close_cachers ──►
 * cor_api_free. A backing that cannot be opened fails its request only, and is tried again by the
 * next one.
 *
 * Publishing: every loop gets a reference to the new snapshot, and one mail; snapshots that are
 * published before the loop turns replace one another. Requests under way keep their rows. The
 * stores of a custom resource whose definition is retired leave their place then, its watches end,
 * and the last call that uses the stores frees them.
 * Thread: see api.h. */
/* clang-format on */
#include "server/api/api.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "meta/names/key.h"
#include "schema/kinds/custom_row.h"
#include "server/access/authorizer.h"
#include "server/api/api_cachers.h"
#include "server/api/api_int.h"
#include "storage/encryption/dynamic_transformers.h"
#include "storage/store/store.h"

#define EVENT_TTL_S           3600
#define MIN_REQUEST_TIMEOUT_S 1800
#define PREFIX_MAX            256
#define BACKINGS_MIN          64

static struct cor_backing *backing_free(struct cor_backing *backing)
{
    if (!backing)
        return NULL;
    assert(cor_dlist_empty(&backing->watches));
    cor_reader_free(backing->reader);
    cor_store_free(backing->store);
    cor_buf_deinit(&backing->prefix);
    cor_row_unref(backing->row);
    return cor_free(backing);
}

/* Takes the backing of a retired definition from its place, which another definition may have next:
 * its watches end, and it is freed with its last call. */
static void api_retire_backing(struct cor_api_loop *loop, size_t place)
{
    struct cor_backing *backing = COR_STEAL(loop->backings[place]);

    /* No call ends the backing while its watches are ended. */
    backing->ncalls++;
    COR_DLIST_FOREACH_SAFE(link, &backing->watches)
        COR_CONTAINER_OF(link, struct cor_call_link, link)->end(link);
    cor_api_put_backing(loop, backing);
}

void cor_api_put_backing(struct cor_api_loop *loop, struct cor_backing *backing)
{
    size_t place = cor_row_place(backing->row);

    assert(backing->row->life && backing->ncalls > 0 && cor_loop_is_current(loop->loop));
    if (--backing->ncalls == 0 && (place >= loop->nbackings || loop->backings[place] != backing))
        backing_free(backing);
}

/* On the loop: its next requests are routed by what was published last. */
static void api_on_published(struct cor_mail *mail)
{
    struct cor_api_loop *loop = COR_CONTAINER_OF(mail, struct cor_api_loop, served_mail);
    struct cor_served *next = atomic_exchange(&loop->published, NULL);
    uint64_t generation = cor_served_generation(next);
    size_t nbuiltins;

    assert(cor_loop_is_current(loop->loop));
    assert(generation > cor_served_generation(loop->served));
    cor_served_unref(loop->served);
    loop->served = next;
    atomic_store(&loop->served_generation, generation);
    (void)cor_api_builtins(&nbuiltins);
    for (size_t place = nbuiltins; place < loop->nbackings; place++) {
        if (loop->backings[place] && cor_row_is_retired_in(loop->backings[place]->row, generation))
            api_retire_backing(loop, place);
    }
    cor_variants_drop_retired(&loop->variants);
    cor_frames_drop_retired(&loop->frames);
    COR_DLIST_FOREACH(link, &loop->served_followers) {
        struct cor_served_follower *follower =
            COR_CONTAINER_OF(link, struct cor_served_follower, link);

        follower->on_served(follower);
    }
}

void cor_api_follow_served(struct cor_api_loop *loop, struct cor_served_follower *follower)
{
    assert(follower->on_served && cor_loop_is_current(loop->loop));
    cor_dlist_push(&loop->served_followers, &follower->link);
}

void cor_api_unfollow_served(struct cor_served_follower *follower)
{
    cor_dlist_remove(&follower->link);
}

bool cor_api_has_taken(const struct cor_api *api, uint64_t generation)
{
    for (size_t i = 0; i < api->nloops; i++) {
        if (atomic_load(&api->loops[i].served_generation) < generation)
            return false;
    }
    return true;
}

void cor_api_publish(struct cor_api *api, struct cor_served *served)
{
    for (size_t i = 0; i < api->nloops; i++) {
        struct cor_api_loop *loop = &api->loops[i];
        struct cor_served *skipped = atomic_exchange(&loop->published, cor_served_ref(served));

        /* A snapshot that the loop has not taken yet is never taken; its mail takes this one. */
        if (skipped)
            cor_served_unref(skipped);
        else
            cor_loop_post_always(loop->loop, &loop->served_mail);
    }
}

int cor_api_new(const struct cor_api_opts *opts, struct cor_api **ret_api,
                struct cor_status *reterr_status)
{
    struct cor_api *api = cor_calloc(1, sizeof(*api) + opts->nloops * sizeof(api->loops[0]));
    struct cor_served *served = NULL;
    size_t n;
    int r;

    assert(opts->engine && opts->nloops > 0 && opts->nloops <= COR_API_LOOPS_MAX);
    if (!api)
        return cor_status_set(reterr_status, -COR_ENOMEM, "out of memory");
    cor_feed_shares_init(&api->feeds, COR_ENGINE_FEEDS_MAX - COR_ENGINE_FEEDS_OWN);
    cor_protobuf_cache_init(&api->protobuf_cache, opts->protobuf_cache_bytes);
    cor_kept_docs_init(&api->kept_docs);
    api->engine = opts->engine;
    api->path_prefix = opts->path_prefix;
    api->stored_form = opts->stored_form;
    api->transformers = opts->transformers;
    api->clock = opts->clock ? opts->clock : cor_clock_real();
    api->allow_privileged = opts->allow_privileged;
    api->event_ttl_s = opts->event_ttl_s > 0 ? opts->event_ttl_s : EVENT_TTL_S;
    api->min_request_timeout_s =
        opts->min_request_timeout_s > 0 ? opts->min_request_timeout_s : MIN_REQUEST_TIMEOUT_S;
    api->held.max = opts->held_bytes_max > 0 ? opts->held_bytes_max : COR_HELD_BYTES_DEFAULT;
    api->tokens = opts->tokens;
    api->authorizer =
        opts->authorizer ? opts->authorizer : cor_authorizer_of_mode(COR_AUTHZ_MASTERS);
    api->checks = opts->checks;
    api->nchecks = opts->nchecks;
    api->offload = opts->offload;
    api->nloops = opts->nloops;
    cor_api_builtins(&n);
    api->decode_errors = cor_calloc(n, sizeof(api->decode_errors[0]));
    r = api->decode_errors ? cor_served_new_builtins(&served) : -COR_ENOMEM;
    for (size_t i = 0; i < api->nloops && r == 0; i++) {
        struct cor_api_loop *loop = &api->loops[i];

        loop->api = api;
        loop->loop = opts->loops[i];
        loop->watch_events = cor_calloc(n, sizeof(loop->watch_events[0]));
        cor_held_loop_init(loop);
        cor_dlist_init(&loop->event_jobs);
        cor_dlist_init(&loop->served_followers);
        cor_dlist_init(&loop->openapi_jobs);
        cor_protobuf_cache_loop_init(&loop->protobuf_cache, &api->protobuf_cache, loop->loop);
        cor_kept_docs_loop_init(&loop->kept_docs, &api->kept_docs, loop->loop);
        if (opts->random_seed)
            cor_rand_init_seeded(&loop->rand, opts->random_seed + i);
        else
            cor_rand_init(&loop->rand);
        loop->served = cor_served_ref(served);
        atomic_init(&loop->served_generation, cor_served_generation(served));
        loop->served_mail.on_mail = api_on_published;
        if (!loop->watch_events)
            r = -COR_ENOMEM;
    }
    if (r == 0)
        cor_publisher_init(&api->publisher, api, cor_served_generation(served));
    cor_served_unref(served);
    if (r < 0) {
        cor_api_free(api);
        return cor_status_set_err(reterr_status, r);
    }
    *ret_api = api;
    return 0;
}

static void api_free_backings(struct cor_api_loop *loop)
{
    for (size_t i = 0; i < loop->nbackings; i++)
        backing_free(loop->backings[i]);
    loop->backings = cor_free(loop->backings);
    loop->nbackings = 0;
}

struct cor_api *cor_api_free(struct cor_api *api)
{
    if (!api)
        return NULL;
    for (size_t i = 0; i < api->nloops; i++) {
        assert(api->loops[i].ncalls == 0 && !atomic_load(&api->loops[i].published));
        api_free_backings(&api->loops[i]);
        cor_served_unref(api->loops[i].served);
        cor_free(api->loops[i].watch_events);
        cor_variants_deinit(&api->loops[i].variants);
        cor_frames_deinit(&api->loops[i].frames);
        cor_protobuf_cache_loop_deinit(&api->loops[i].protobuf_cache);
        cor_kept_docs_loop_deinit(&api->loops[i].kept_docs);
    }
    cor_publisher_deinit(&api->publisher);
    cor_free(api->address);
    cor_free(api->decode_errors);
    cor_feed_shares_deinit(&api->feeds);
    cor_protobuf_cache_deinit(&api->protobuf_cache);
    cor_kept_docs_deinit(&api->kept_docs);
    return cor_free(api);
}

int cor_api_open_cachers(struct cor_api *api, const struct cor_api_cachers_opts *opts,
                         struct cor_status *reterr_status)
{
    assert(!api->cachers);
    return cor_api_cachers_open(api, opts, &api->cachers, reterr_status);
}

bool cor_api_is_synced(const struct cor_api *api)
{
    return !api->cachers || cor_api_cachers_are_ready(api->cachers);
}

bool cor_api_sync_failed(const struct cor_api *api, char reterr_why[COR_READY_MESSAGE_MAX])
{
    return api->cachers && cor_api_cachers_failed(api->cachers, reterr_why);
}

struct cor_cachers_stats cor_api_cache_stats(const struct cor_api *api)
{
    return api->cachers ? cor_api_cachers_stats(api->cachers) : (struct cor_cachers_stats){0};
}

struct cor_api_held_stats cor_api_held_stats(const struct cor_api *api)
{
    return (struct cor_api_held_stats){atomic_load(&api->held.bytes),
                                       atomic_load(&api->held.ended)};
}

struct cor_api_protobuf_cache_stats cor_api_protobuf_cache_stats(struct cor_api *api)
{
    struct cor_protobuf_cache_stats stats = cor_protobuf_cache_stats(&api->protobuf_cache);

    return (struct cor_api_protobuf_cache_stats){stats.bytes, api->protobuf_cache.bytes_max,
                                                 stats.hits, stats.misses};
}

bool cor_api_creates_in(struct cor_api_loop *loop, struct cor_str ns)
{
    return cor_creations_has(&loop->api->creations, ns);
}

struct cor_repair_port *cor_api_repair_port(struct cor_api_loop *loop)
{
    return loop->api->repair;
}

void cor_api_loop_release(struct cor_api_loop *loop)
{
    assert(loop->ncalls == 0 && cor_loop_is_current(loop->loop));
    api_free_backings(loop);
    /* The rows of custom resources are released with it, and with them their caches. */
    loop->served = cor_served_unref(loop->served);
    cor_variants_deinit(&loop->variants);
    cor_frames_deinit(&loop->frames);
    cor_protobuf_cache_loop_deinit(&loop->protobuf_cache);
    cor_kept_docs_loop_deinit(&loop->kept_docs);
}

bool cor_api_close_cachers(struct cor_api *api, void (*on_closed)(void *arg), void *arg)
{
    struct cor_api_cachers *cachers = COR_STEAL(api->cachers);

    assert(on_closed && cor_loop_is_current(api->loops[0].loop));
    if (cachers)
        cor_api_cachers_close(cachers, on_closed, arg);
    return cachers != NULL;
}

int cor_api_set_address(struct cor_api *api, const char *server_address)
{
    char *copy = cor_strdup(server_address);

    if (!copy)
        return -COR_ENOMEM;
    cor_free(api->address);
    api->address = copy;
    return 0;
}

struct cor_api_loop *cor_api_loop(struct cor_api *api, size_t index)
{
    assert(index < api->nloops);
    return &api->loops[index];
}

size_t cor_api_loop_calls(const struct cor_api_loop *loop)
{
    assert(cor_loop_is_current(loop->loop));
    return loop->ncalls;
}

int cor_api_store_new(struct cor_api *api, const struct cor_resource_row *resource,
                      struct cor_loop *loop, struct cor_buf *ret_prefix,
                      struct cor_store **ret_store, struct cor_status *reterr_status)
{
    struct cor_gr gr = cor_api_gr(resource);
    struct cor_store_opts opts = {
        .engine = api->engine,
        .loop = loop,
        .path_prefix = api->path_prefix,
        .api_version = resource->api_version,
        .kind = resource->kind,
        .clock = api->clock,
        .form = api->stored_form,
        .follows_schema = !resource->custom,
        .is_custom = resource->custom,
        .schema = resource->custom ? resource->custom->schema : NULL,
        .decode_errors = resource->life ? NULL : &api->decode_errors[cor_row_place(resource)],
    };
    int r;

    assert(!resource->conversion && !(resource->flags & COR_API_VIRTUAL));
    cor_buf_init(ret_prefix, PREFIX_MAX);
    r = cor_key_resource_prefix(&gr, resource->custom, ret_prefix);
    if (r == 0 && api->transformers)
        r = cor_dynamic_transformers_peek(api->transformers, &gr, &opts.transformer);
    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    opts.resource_prefix = cor_buf_z(ret_prefix);
    return cor_store_new(&opts, ret_store, reterr_status);
}

static int backing_open(struct cor_api_loop *loop, const struct cor_resource_row *resource,
                        struct cor_backing *backing, struct cor_status *reterr_status)
{
    struct cor_cacher *cacher;
    int r = cor_api_store_new(loop->api, resource, loop->loop, &backing->prefix, &backing->store,
                              reterr_status);

    backing->row = cor_row_ref(resource);
    if (r < 0)
        return r;
    cacher = loop->api->cachers ? cor_api_cachers_peek(loop->api->cachers, resource) : NULL;
    if (cacher)
        r = cor_cacher_reader_new(cacher, backing->store, &backing->reader);
    else
        r = cor_store_reader_new(backing->store, &backing->reader);
    return r < 0 ? cor_status_set_err(reterr_status, r) : 0;
}

/* Makes room for the backing at `place`. 0, -COR_ENOMEM. */
static int api_reserve_backing(struct cor_api_loop *loop, size_t place)
{
    struct cor_backing **grown;
    size_t n = loop->nbackings ? loop->nbackings : BACKINGS_MIN;

    if (place < loop->nbackings)
        return 0;
    while (n <= place)
        n *= 2;
    grown = cor_realloc(loop->backings, n * sizeof(struct cor_backing *));
    if (!grown)
        return -COR_ENOMEM;
    memset(grown + loop->nbackings, 0, (n - loop->nbackings) * sizeof(struct cor_backing *));
    loop->backings = grown;
    loop->nbackings = n;
    return 0;
}

int cor_api_backing(struct cor_api_loop *loop, const struct cor_resource_row *resource,
                    struct cor_backing **ret_backing, struct cor_status *reterr_status)
{
    size_t place = cor_row_place(resource);
    struct cor_backing *backing = place < loop->nbackings ? loop->backings[place] : NULL;
    int r;

    assert(!resource->conversion && !(resource->flags & COR_API_VIRTUAL));
    if (!backing) {
        r = api_reserve_backing(loop, place);
        backing = r == 0 ? cor_calloc(1, sizeof(*backing)) : NULL;
        if (!backing)
            return cor_status_set(reterr_status, -COR_ENOMEM, "out of memory");
        cor_dlist_init(&backing->watches);
        r = backing_open(loop, resource, backing, reterr_status);
        if (r < 0) {
            backing_free(backing);
            return r;
        }
        loop->backings[place] = backing;
    }
    *ret_backing = backing;
    return 0;
}

struct cor_str cor_api_uuid(struct cor_rand *rand, char out[COR_UUID_TEXT_MAX])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t half[2] = {cor_rand_u64(rand), cor_rand_u64(rand)};
    size_t at = 0;

    half[0] = (half[0] & ~UINT64_C(0xf000)) | 0x4000;
    half[1] = (half[1] & ~(UINT64_C(3) << 62)) | UINT64_C(1) << 63;
    for (int i = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            out[at++] = '-';
        out[at++] = digits[half[i / 16] >> (60 - 4 * (i % 16)) & 0xf];
    }
    out[at] = 0;
    return cor_str(out, at);
}

int cor_api_add_uuid(struct cor_rand *rand, struct cor_buf *out)
{
    char text[COR_UUID_TEXT_MAX];
    struct cor_str uuid = cor_api_uuid(rand, text);

    return cor_buf_add(out, uuid.p, uuid.n);
}
