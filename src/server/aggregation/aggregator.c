/* clang-format off */
/* The targets of each loop, and the port by which they look up Services.
 *
 *   first request ──► port and targets of its loop ──► close: the targets, then the port is idle
 *
 * A port is idle one turn after its last request ended: the loop is asked again by a mail.
 * Thread: each loop has its own part; the rest is immutable. */
/* clang-format on */
#include "server/aggregation/aggregator.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "server/aggregation/remote_call.h"
#include "server/api/api_loop.h"
#include "server/port/inner_port.h"

/* Look-ups under way; each target has one at a time. */
#define REQUESTS_MAX COR_TARGETS_MAX

struct aggregator_loop {
    struct cor_inner_port port;
    struct cor_targets *targets; /* NULL: not used yet */
    struct cor_remote_calls calls;
    struct cor_mail turn;
    void (*on_closed)(void *arg);
    void *arg;
};

struct cor_aggregator {
    struct cor_aggregator_opts opts;
    struct aggregator_loop loops[];
};

int cor_aggregator_new(const struct cor_aggregator_opts *opts, struct cor_aggregator **ret)
{
    struct cor_aggregator *ag =
        cor_calloc(1, sizeof(*ag) + opts->nloops * sizeof(struct aggregator_loop));

    assert(opts->api && opts->config && opts->nloops > 0);
    if (!ag)
        return -COR_ENOMEM;
    ag->opts = *opts;
    *ret = ag;
    return 0;
}

struct cor_aggregator *cor_aggregator_free(struct cor_aggregator *ag)
{
    for (size_t i = 0; ag && i < ag->opts.nloops; i++)
        assert(!ag->loops[i].targets);
    return cor_free(ag);
}

const struct cor_remote_names *cor_aggregator_names(const struct cor_aggregator *ag)
{
    return &ag->opts.names;
}

bool cor_aggregator_forwards_redirects(const struct cor_aggregator *ag)
{
    return ag->opts.forwards_redirects;
}

struct cor_targets *cor_aggregator_targets(struct cor_aggregator *ag, size_t loop)
{
    struct aggregator_loop *l = &ag->loops[loop];
    struct cor_api_loop *api = cor_api_loop(ag->opts.api, loop);

    assert(loop < ag->opts.nloops && !l->on_closed);
    if (l->targets)
        return l->targets;
    cor_inner_port_init(&l->port, api, COR_STR(""), COR_STR("kube-aggregator"), REQUESTS_MAX);
    cor_remote_calls_init(&l->calls);
    if (cor_targets_open(l->port.port.loop, &l->port.port, ag->opts.config, &l->targets) < 0)
        cor_inner_port_deinit(&l->port);
    return l->targets;
}

/* The calls of the controllers have ended before the loop's targets are closed. */
void cor_aggregator_answer(void *aggregator, struct cor_api_loop *loop,
                           struct cor_api_service *service,
                           const struct cor_server_request *request, struct cor_sink *sink)
{
    struct cor_aggregator *ag = aggregator;
    /* NULL: no memory; the call says so. */
    const struct cor_remote_call_opts opts = {.targets = cor_aggregator_targets(ag, loop->index),
                                              .service = service,
                                              .request = request,
                                              .sink = sink,
                                              .names = &ag->opts.names};

    cor_remote_call_start(&ag->loops[loop->index].calls, &opts);
}

static void on_turn(struct cor_mail *mail)
{
    struct aggregator_loop *l = COR_CONTAINER_OF(mail, struct aggregator_loop, turn);

    if (!cor_inner_port_is_idle(&l->port)) {
        cor_loop_post_always(l->port.port.loop, &l->turn);
        return;
    }
    cor_inner_port_deinit(&l->port);
    l->on_closed(l->arg);
}

static void on_targets_closed(void *arg)
{
    struct aggregator_loop *l = arg;

    l->targets = NULL;
    l->turn.on_mail = on_turn;
    cor_dlist_init(&l->turn.link);
    cor_loop_post_always(l->port.port.loop, &l->turn);
}

void cor_aggregator_close_loop(struct cor_aggregator *ag, size_t loop, void (*on_closed)(void *arg),
                               void *arg)
{
    struct aggregator_loop *l = &ag->loops[loop];

    assert(!l->on_closed && on_closed);
    l->on_closed = on_closed;
    l->arg = arg;
    if (l->targets)
        cor_targets_close(l->targets, on_targets_closed, l);
    else
        on_closed(arg);
}
