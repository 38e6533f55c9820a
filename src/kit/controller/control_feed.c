/* A feed is made of three parts that exist elsewhere: the reflector (when to list, to watch and to
 * wait), its driver over the port (port_list_watch.h), and its store (feed_store.h, or the
 * caller's). Here they are put together.
 * Thread: the port's loop. */
#include "kit/controller/control_feed.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "kit/controller/feed_store.h"
#include "loop/loop.h"

struct cor_control_feed {
    struct cor_control_feed_opts opts;
    struct cor_port_list_watch lw;
    struct cor_feed_store own; /* unused when the caller has given a store */
    struct cor_reflector *reflector;
};

static bool feed_is_own(const struct cor_control_feed *feed)
{
    return !feed->opts.store;
}

static uint64_t feed_now_ms(const struct cor_control_feed *feed)
{
    return cor_clock_mono_ms(feed->opts.clock);
}

static void feed_wake_at(void *arg, uint64_t at_ms)
{
    struct cor_control_feed *feed = arg;

    feed->opts.wake_at(feed->opts.arg, at_ms);
}

static void feed_on_error(void *arg, const struct cor_status *error)
{
    struct cor_control_feed *feed = arg;

    if (feed->opts.on_error)
        feed->opts.on_error(feed->opts.arg, error);
}

static int feed_check(const struct cor_control_feed_opts *opts, struct cor_status *reterr)
{
    bool has_source = opts->loop && opts->source;

    assert(opts->port && opts->rand && opts->wake_at);
    if (has_source == (opts->store != NULL))
        return cor_status_set(reterr, -COR_EINVAL, "a feed has either a source or a store");
    if (has_source && opts->source->opts.kind == COR_CONTROL_RAW)
        return cor_status_set(reterr, -COR_EINVAL, "a raw source has no feed");
    if (has_source && opts->source->opts.kind == COR_CONTROL_OWNS && !opts->what.keeps_objects)
        return cor_status_set(reterr, -COR_EINVAL,
                              "the feed of a source OWNS must keep the objects: a deletion that "
                              "was missed needs the owners");
    if (opts->what.resync_ms > 0 && has_source && !opts->what.keeps_objects)
        return cor_status_set(reterr, -COR_EINVAL,
                              "a feed that is to resync must keep the objects");
    return 0;
}

int cor_control_feed_new(const struct cor_control_feed_opts *opts,
                         struct cor_control_feed **ret_feed, struct cor_status *reterr)
{
    COR_CLEANUP(cor_control_feed_freep) struct cor_control_feed *feed = NULL;
    struct cor_reflector_opts reflector_opts = {.type_description = opts->what.of.at.gvr.resource,
                                                .resync_ms = opts->what.resync_ms,
                                                .rand = opts->rand,
                                                .on_watch_error = feed_on_error};
    int r = feed_check(opts, reterr);

    if (r < 0)
        return r;
    feed = cor_calloc(1, sizeof(*feed));
    if (!feed)
        return cor_status_set_err(reterr, -COR_ENOMEM);
    feed->opts = *opts;
    if (!feed->opts.clock)
        feed->opts.clock = cor_clock_real();
    if (feed_is_own(feed))
        cor_feed_store_init(&feed->own, opts->loop, opts->source, opts->what.keeps_objects);
    reflector_opts.arg = feed;
    r = cor_port_list_watch_init(&feed->lw, opts->port, feed->opts.clock, &opts->what.of,
                                 feed_wake_at, feed);
    if (r == 0)
        r = cor_reflector_new(&reflector_opts, &feed->lw.driver,
                              feed_is_own(feed) ? &feed->own.store : opts->store, &feed->reflector);
    if (r < 0)
        return cor_status_set_err(reterr, r);
    feed->lw.reflector = feed->reflector;
    *ret_feed = COR_STEAL(feed);
    return 0;
}

struct cor_control_feed *cor_control_feed_free(struct cor_control_feed *feed)
{
    if (!feed)
        return NULL;
    cor_control_feed_stop(feed);
    cor_reflector_free(feed->reflector);
    cor_port_list_watch_deinit(&feed->lw);
    if (feed_is_own(feed))
        cor_feed_store_deinit(&feed->own);
    return cor_free(feed);
}

static void assert_on_loop(const struct cor_control_feed *feed)
{
    assert(!feed->opts.port->loop || cor_loop_is_current(feed->opts.port->loop));
}

void cor_control_feed_start(struct cor_control_feed *feed)
{
    assert_on_loop(feed);
    cor_reflector_start(feed->reflector, feed_now_ms(feed));
}

void cor_control_feed_tick(struct cor_control_feed *feed)
{
    assert_on_loop(feed);
    cor_reflector_tick(feed->reflector, feed_now_ms(feed));
}

void cor_control_feed_stop(struct cor_control_feed *feed)
{
    if (!feed->reflector || cor_reflector_state(feed->reflector) == COR_REFLECTOR_STOPPED)
        return;
    cor_reflector_stop(feed->reflector, feed_now_ms(feed));
}

bool cor_control_feed_is_synced(const struct cor_control_feed *feed)
{
    assert(feed_is_own(feed));
    return feed->own.is_synced;
}

bool cor_control_feed_has(const struct cor_control_feed *feed, struct cor_str ns,
                          struct cor_str name)
{
    assert(feed_is_own(feed));
    return cor_feed_store_has(&feed->own, ns, name);
}

struct cor_object *cor_control_feed_peek(const struct cor_control_feed *feed, struct cor_str ns,
                                         struct cor_str name)
{
    assert(feed_is_own(feed));
    return cor_feed_store_peek(&feed->own, ns, name);
}
