/* clang-format off */
/* The reflector asks (list, watch, cancel), the port sends, and the port's callbacks are the reflector's inputs:
 *
 *   list  ──► cor_api_list()  ──► on_item: a part of the page … ──► on_done: the end of the page, or list_failed
 *   watch ──► cor_api_watch() ──► on_open ──► on_event … ──► on_done: watch_ended
 *
 * A request that cannot be sent ends with on_done in a later turn, as every other failure, so that
 * no answer comes inside the call that asked. An input may cancel its own request: on_item, on_open
 * and on_event return then, and do not touch the request again.
 * Thread: the port's loop. */
/* clang-format on */
#include "kit/controller/port_list_watch.h"

#include <assert.h>

#include "base/mem.h"

static struct cor_port_list_watch *port_lw_of(struct cor_api_request *req)
{
    return COR_CONTAINER_OF(req, struct cor_port_list_watch_request, req)->lw;
}

static uint64_t port_lw_now_ms(const struct cor_port_list_watch *lw)
{
    return cor_clock_mono_ms(lw->clock);
}

/* ---- what the port delivers ---- */

static int port_lw_on_item(struct cor_api_request *req, struct cor_object *item)
{
    struct cor_port_list_watch *lw = port_lw_of(req);
    const struct cor_list_page part = {.objects = &item, .n = 1, .more_parts = true};

    cor_reflector_list_page(lw->reflector, port_lw_now_ms(lw), &part);
    return 0;
}

static void port_lw_on_listed(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_port_list_watch *lw = port_lw_of(req);
    const struct cor_list_page end = {.resource_version = answer->resource_version,
                                      .continue_token = answer->continue_token};

    if (answer->error)
        cor_reflector_list_failed(lw->reflector, port_lw_now_ms(lw), answer->error);
    else
        cor_reflector_list_page(lw->reflector, port_lw_now_ms(lw), &end);
}

static int port_lw_on_open(struct cor_api_request *req)
{
    struct cor_port_list_watch *lw = port_lw_of(req);

    cor_reflector_watch_opened(lw->reflector, port_lw_now_ms(lw));
    return 0;
}

static int port_lw_on_event(struct cor_api_request *req, const struct cor_watch_event *event)
{
    struct cor_port_list_watch *lw = port_lw_of(req);
    const struct cor_reflector_event input = {
        .type = event->type, .object = event->object, .status = event->status};

    cor_reflector_watch_event(lw->reflector, port_lw_now_ms(lw), &input);
    return 0;
}

static void port_lw_on_watched(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_port_list_watch *lw = port_lw_of(req);

    cor_reflector_watch_ended(lw->reflector, port_lw_now_ms(lw), answer->error);
}

static const struct cor_api_request_cbs list_cbs = {.on_item = port_lw_on_item,
                                                    .on_done = port_lw_on_listed};
static const struct cor_api_request_cbs watch_cbs = {
    .on_open = port_lw_on_open, .on_event = port_lw_on_event, .on_done = port_lw_on_watched};

/* ---- what the reflector asks for ---- */

static struct cor_port_list_watch *port_lw_of_driver(struct cor_reflector_driver *driver)
{
    return COR_CONTAINER_OF(driver, struct cor_port_list_watch, driver);
}

/* The struct of the next request, filled except for its deadline. */
static struct cor_api_request *port_lw_next(struct cor_port_list_watch *lw,
                                            const struct cor_api_request_cbs *cbs)
{
    struct cor_api_request *req;

    assert(!cor_api_is_under_way(&lw->reqs[lw->current].req));
    lw->current ^= 1;
    lw->reqs[lw->current] = (struct cor_port_list_watch_request){
        .req = {.at = lw->what.at, .metadata_only = lw->what.metadata_only, .cbs = cbs},
        .lw = lw,
    };
    req = &lw->reqs[lw->current].req;
    return req;
}

static struct cor_list_query port_lw_query(const struct cor_port_list_watch *lw,
                                           const struct cor_list_options *opts, uint32_t timeout_s)
{
    return (struct cor_list_query){.label_selector = lw->what.label_selector,
                                   .field_selector = lw->what.field_selector,
                                   .list = *opts,
                                   .timeout_s = timeout_s};
}

static void port_lw_list(struct cor_reflector_driver *driver, const struct cor_list_options *opts)
{
    struct cor_port_list_watch *lw = port_lw_of_driver(driver);
    const struct cor_list_query query = port_lw_query(lw, opts, 0);

    cor_api_list(lw->port, port_lw_next(lw, &list_cbs), &query);
}

static void port_lw_watch(struct cor_reflector_driver *driver, const struct cor_list_options *opts,
                          uint32_t timeout_s)
{
    struct cor_port_list_watch *lw = port_lw_of_driver(driver);
    const struct cor_list_query query = port_lw_query(lw, opts, timeout_s);
    struct cor_api_request *req = port_lw_next(lw, &watch_cbs);

    req->deadline_ms = timeout_s > 0 ? timeout_s * UINT64_C(1000) + COR_PORT_WATCH_SLACK_MS : 0;
    cor_api_watch(lw->port, req, &query);
}

static void port_lw_cancel(struct cor_reflector_driver *driver)
{
    struct cor_port_list_watch *lw = port_lw_of_driver(driver);

    cor_api_cancel(lw->port, &lw->reqs[lw->current].req);
}

static void port_lw_wake_at(struct cor_reflector_driver *driver, uint64_t at_ms)
{
    struct cor_port_list_watch *lw = port_lw_of_driver(driver);

    lw->wake_at(lw->arg, at_ms);
}

static const struct cor_reflector_driver_ops port_lw_ops = {
    .list = port_lw_list,
    .watch = port_lw_watch,
    .cancel = port_lw_cancel,
    .wake_at = port_lw_wake_at,
};

int cor_port_list_watch_init(struct cor_port_list_watch *lw, struct cor_api_port *port,
                             const struct cor_clock *clock, const struct cor_collection *what,
                             void (*wake_at)(void *arg, uint64_t at_ms), void *arg)
{
    struct cor_str *strings[] = {&lw->what.at.gvr.group,    &lw->what.at.gvr.version,
                                 &lw->what.at.gvr.resource, &lw->what.at.ns,
                                 &lw->what.label_selector,  &lw->what.field_selector};

    assert(port && clock && wake_at && what->at.gvr.resource.n > 0 && what->at.name.n == 0);
    *lw = (struct cor_port_list_watch){.driver = {&port_lw_ops},
                                       .port = port,
                                       .clock = clock,
                                       .what = *what,
                                       .wake_at = wake_at,
                                       .arg = arg};
    return cor_str_gather(strings, COR_ARRAY_LEN(strings), &lw->strings);
}

void cor_port_list_watch_deinit(struct cor_port_list_watch *lw)
{
    assert(!cor_api_is_under_way(&lw->reqs[0].req) && !cor_api_is_under_way(&lw->reqs[1].req));
    lw->strings = cor_free(lw->strings);
}
