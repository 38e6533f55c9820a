/* clang-format off */
/* The API as all loops share it, and each loop's part: the snapshot of what is served by which its
 * requests are routed, and what it opens for requests (backing.c).
 *
 * Life: cor_api_new ──► cor_api_open_cachers, _add_cache_metrics, _set_address ──► the loops run
 * ──► cor_api_loop_release on each loop that has no calls left ──► cor_api_close_cachers ──►
 * cor_api_free.
 *
 * Publishing: every loop gets a reference to the new snapshot, and one mail; snapshots that are
 * published before the loop turns replace one another. Requests under way keep their rows.
 * The backings of custom resources whose definitions are retired go then.
 * Thread: see api.h. */
/* clang-format on */
#include "server/api/api.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/access/authorizer.h"
#include "server/api/api_cachers.h"
#include "server/api/api_int.h"

/* On the loop: its next requests are routed by what was published last. */
static void api_on_published(struct cor_mail *mail)
{
    struct cor_loop_part *part = COR_CONTAINER_OF(mail, struct cor_loop_part, served_mail);
    struct cor_api_loop *loop = &part->loop;
    struct cor_served *next = atomic_exchange(&part->published, NULL);
    uint64_t generation = cor_served_generation(next);

    assert(cor_loop_is_current(loop->loop));
    assert(generation > cor_served_generation(loop->served));
    cor_served_unref(loop->served);
    loop->served = next;
    atomic_store(&part->served_generation, generation);
    cor_api_retire_backings(loop, generation);
    cor_variants_drop_retired(&part->variants);
    cor_frames_drop_retired(&loop->frames);
    COR_DLIST_FOREACH(link, &part->served_followers) {
        struct cor_served_follower *follower =
            COR_CONTAINER_OF(link, struct cor_served_follower, link);

        follower->on_served(follower);
    }
}

void cor_api_follow_served(struct cor_api_loop *loop, struct cor_served_follower *follower)
{
    assert(follower->on_served && cor_loop_is_current(loop->loop));
    cor_dlist_push(&cor_loop_part(loop)->served_followers, &follower->link);
}

void cor_api_unfollow_served(struct cor_served_follower *follower)
{
    cor_dlist_remove(&follower->link);
}

bool cor_api_has_taken(const struct cor_api *api, uint64_t generation)
{
    for (size_t i = 0; i < api->nloops; i++) {
        if (atomic_load(&api->parts[i].served_generation) < generation)
            return false;
    }
    return true;
}

void cor_api_publish(struct cor_api *api, struct cor_served *served)
{
    for (size_t i = 0; i < api->nloops; i++) {
        struct cor_loop_part *part = &api->parts[i];
        struct cor_served *skipped = atomic_exchange(&part->published, cor_served_ref(served));

        /* A snapshot that the loop has not taken yet is never taken; its mail takes this one. */
        if (skipped)
            cor_served_unref(skipped);
        else
            cor_loop_post_always(part->loop.loop, &part->served_mail);
    }
}

int cor_api_new(const struct cor_api_opts *opts, struct cor_api **ret_api,
                struct cor_status *reterr_status)
{
    struct cor_api *api = cor_calloc(1, sizeof(*api) + opts->nloops * sizeof(api->parts[0]));
    struct cor_served *served = NULL;
    size_t n;
    int r;

    assert(opts->engine && opts->nloops > 0 && opts->nloops <= COR_API_LOOPS_MAX);
    if (!api)
        return cor_status_set(reterr_status, -COR_ENOMEM, "out of memory");
    cor_feed_shares_init(&api->shared.feeds, COR_ENGINE_FEEDS_MAX - COR_ENGINE_FEEDS_OWN,
                         "this user has too many watches without a watch cache");
    cor_protobuf_cache_init(&api->shared.protobuf_cache, opts->protobuf_cache_bytes);
    cor_kept_docs_init(&api->kept_docs);
    api->settings = (struct cor_api_settings){
        .engine = opts->engine,
        .path_prefix = opts->path_prefix,
        .stored_form = opts->stored_form,
        .transformers = opts->transformers,
        .clock = opts->clock ? opts->clock : cor_clock_real(),
        .allow_privileged = opts->allow_privileged,
        .event_ttl_s = opts->event_ttl_s > 0 ? opts->event_ttl_s : COR_EVENT_TTL_S,
        .min_request_timeout_s = opts->min_request_timeout_s > 0 ? opts->min_request_timeout_s
                                                                 : COR_MIN_REQUEST_TIMEOUT_S,
        .tokens = opts->tokens,
        .authorizer =
            opts->authorizer ? opts->authorizer : cor_authorizer_of_mode(COR_AUTHZ_MASTERS),
        .admission = opts->admission,
        .checks = opts->checks,
        .nchecks = opts->nchecks,
        .offload = opts->offload,
    };
    api->held.max = opts->held_bytes_max > 0 ? opts->held_bytes_max : COR_ANSWERS_HELD_MAX;
    api->nloops = opts->nloops;
    cor_api_builtins(&n);
    api->decode_errors = cor_calloc(n, sizeof(api->decode_errors[0]));
    r = api->decode_errors ? cor_served_new_builtins(&served) : -COR_ENOMEM;
    for (size_t i = 0; i < api->nloops && r == 0; i++) {
        struct cor_loop_part *part = &api->parts[i];
        struct cor_api_loop *loop = &part->loop;

        loop->api = api;
        loop->settings = &api->settings;
        loop->shared = &api->shared;
        loop->index = i;
        loop->loop = opts->loops[i];
        loop->watch_events = cor_calloc(n, sizeof(loop->watch_events[0]));
        cor_held_loop_init(loop);
        cor_dlist_init(&part->event_jobs);
        cor_dlist_init(&part->served_followers);
        cor_dlist_init(&part->openapi_jobs);
        cor_protobuf_cache_loop_init(&loop->protobuf_cache, &api->shared.protobuf_cache,
                                     loop->loop);
        cor_kept_docs_loop_init(&part->kept_docs, &api->kept_docs, loop->loop);
        if (opts->random_seed)
            cor_rand_init_seeded(&loop->rand, opts->random_seed + i);
        else
            cor_rand_init(&loop->rand);
        loop->served = cor_served_ref(served);
        atomic_init(&part->served_generation, cor_served_generation(served));
        part->served_mail.on_mail = api_on_published;
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

/* Frees what it has opened and keeps for requests. */
static void part_drop(struct cor_loop_part *part)
{
    cor_api_free_backings(&part->loop);
    cor_variants_deinit(&part->variants);
    cor_frames_deinit(&part->loop.frames);
    cor_protobuf_cache_loop_deinit(&part->loop.protobuf_cache);
    cor_kept_docs_loop_deinit(&part->kept_docs);
}

struct cor_api *cor_api_free(struct cor_api *api)
{
    if (!api)
        return NULL;
    for (size_t i = 0; i < api->nloops; i++) {
        struct cor_loop_part *part = &api->parts[i];

        assert(part->loop.ncalls == 0 && !atomic_load(&part->published));
        cor_served_unref(part->loop.served);
        cor_free(part->loop.watch_events);
        part_drop(part);
    }
    cor_publisher_deinit(&api->publisher);
    cor_free(api->address);
    cor_free(api->decode_errors);
    cor_feed_shares_deinit(&api->shared.feeds);
    cor_protobuf_cache_deinit(&api->shared.protobuf_cache);
    cor_kept_docs_deinit(&api->kept_docs);
    return cor_free(api);
}

int cor_api_open_cachers(struct cor_api *api, const struct cor_api_cachers_opts *opts,
                         struct cor_status *reterr_status)
{
    assert(!api->shared.cachers);
    return cor_api_cachers_open(api, opts, &api->shared.cachers, reterr_status);
}

bool cor_api_is_synced(const struct cor_api *api)
{
    return !api->shared.cachers || cor_api_cachers_are_ready(api->shared.cachers);
}

bool cor_api_sync_failed(const struct cor_api *api, char reterr_why[COR_READY_MESSAGE_MAX])
{
    return api->shared.cachers && cor_api_cachers_failed(api->shared.cachers, reterr_why);
}

struct cor_cachers_stats cor_api_cache_stats(const struct cor_api *api)
{
    return api->shared.cachers ? cor_api_cachers_stats(api->shared.cachers)
                               : (struct cor_cachers_stats){0};
}

struct cor_api_held_stats cor_api_held_stats(const struct cor_api *api)
{
    return (struct cor_api_held_stats){atomic_load(&api->held.bytes),
                                       atomic_load(&api->held.ended)};
}

struct cor_api_protobuf_cache_stats cor_api_protobuf_cache_stats(struct cor_api *api)
{
    struct cor_protobuf_cache_stats stats = cor_protobuf_cache_stats(&api->shared.protobuf_cache);

    return (struct cor_api_protobuf_cache_stats){stats.bytes, api->shared.protobuf_cache.bytes_max,
                                                 stats.hits, stats.misses};
}

bool cor_api_creates_in(struct cor_api_loop *loop, struct cor_str ns)
{
    return cor_creations_has(&loop->shared->creations, ns);
}

struct cor_repair_port *cor_api_repair_port(struct cor_api_loop *loop)
{
    return loop->shared->repair;
}

void cor_api_loop_release(struct cor_api_loop *loop)
{
    assert(loop->ncalls == 0 && cor_loop_is_current(loop->loop));
    /* The rows of custom resources are released with it, and with them their caches. */
    loop->served = cor_served_unref(loop->served);
    part_drop(cor_loop_part(loop));
}

bool cor_api_close_cachers(struct cor_api *api, void (*on_closed)(void *arg), void *arg)
{
    struct cor_api_cachers *cachers = COR_STEAL(api->shared.cachers);

    assert(on_closed && cor_loop_is_current(api->parts[0].loop.loop));
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

void cor_api_set_remote(struct cor_api *api, cor_api_remote answer, void *arg)
{
    api->shared.remote = answer;
    api->shared.remote_arg = arg;
}

struct cor_api_loop *cor_api_loop(struct cor_api *api, size_t index)
{
    assert(index < api->nloops);
    return &api->parts[index].loop;
}

const struct cor_api_settings *cor_api_settings(const struct cor_api *api)
{
    return &api->settings;
}

struct cor_api_shared *cor_api_shared(struct cor_api *api)
{
    return &api->shared;
}

size_t cor_api_loop_calls(const struct cor_api_loop *loop)
{
    assert(cor_loop_is_current(loop->loop));
    return loop->ncalls;
}
