#include "server/api/api_cachers.h"

#include "base/err.h"
#include "base/mem.h"
#include "meta/key.h"

#define PREFIX_MAX 256

/* One resource's cache, with the store that it is filled from. */
struct resource_cacher {
    struct cor_cacher *cacher;
    struct cor_store *store;
    struct cor_buf prefix;
    struct cor_buf labels; /* of its series */
    struct cor_buf idle_labels, lagging_labels;
    struct cor_buf passed_labels, failed_labels, error_labels;
};

struct cor_api_cachers {
    struct cor_api *api;
    struct cor_cachers *cachers;
    size_t open; /* cachers that have not closed yet */
    void (*on_closed)(void *arg);
    void *arg;
    struct resource_cacher resources[]; /* by the resource's place in the table */
};

/* Finds `name` ("pods", "deployments.apps") among `resource[.group]#size` settings. 1: its size is
 * in `ret_size`; 0: it is not there; -COR_EINVAL. */
static int find_size(const char *sizes, const struct cor_resource_row *resource, uint64_t *ret_size,
                     struct cor_status *st)
{
    struct cor_str rest = cor_strz(sizes);
    int found = 0;

    while (sizes && rest.p && rest.n > 0) {
        struct cor_str setting = cor_str_cut(&rest, ','), size = setting;
        struct cor_str name = cor_str_cut(&size, '#'), group = name;
        struct cor_str plural = cor_str_cut(&group, '.');
        uint64_t n;

        if (!size.p || cor_str_to_u64(size, &n) < 0)
            return cor_status_set(st, -COR_EINVAL,
                                  "--watch-cache-sizes: \"%.*s\" is not resource[.group]#size",
                                  COR_STR_ARG(setting));
        if (!cor_str_eq(plural, resource->plural) ||
            !cor_str_eq(group.p ? group : COR_STR(""), resource->group))
            continue;
        *ret_size = n;
        found = 1;
    }
    return found;
}

static int wants_cache(const struct cor_api *api, size_t index, const char *sizes,
                       struct cor_status *st)
{
    const struct cor_resource_row *res = &api->resources[index];
    uint64_t size;
    int r = find_size(sizes, res, &size, st);

    if (r < 0 || (res->flags & COR_API_VIRTUAL) || res->conversion)
        return r < 0 ? r : 0;
    if (r == 1)
        return size > 0;
    return !(res->flags & COR_API_NO_CACHE);
}

static int open_resource(struct cor_api_cachers *c, size_t index, struct cor_status *st)
{
    const struct cor_resource_row *res = &c->api->resources[index];
    struct resource_cacher *rc = &c->resources[index];
    struct cor_gr gr = cor_api_gr(res);
    struct cor_store_opts store_opts = {.engine = c->api->engine,
                                        .loop = c->api->loops[0].loop,
                                        .path_prefix = c->api->path_prefix,
                                        .api_version = res->api_version,
                                        .kind = res->kind,
                                        .clock = c->api->clock};
    struct cor_cacher_opts opts = {.cachers = c->cachers,
                                   .namespaced = cor_api_is_namespaced(res),
                                   .trigger_field = res->trigger_field};
    int r;

    cor_buf_init(&rc->prefix, PREFIX_MAX);
    r = cor_key_resource_prefix(&gr, false, &rc->prefix);
    if (r == 0)
        r = cor_api_transformer(c->api, &gr, &store_opts.transformer);
    if (r < 0)
        return cor_status_set(st, r, "%s", cor_err_text(r));
    store_opts.resource_prefix = cor_buf_z(&rc->prefix);
    r = cor_store_new(&store_opts, &rc->store, st);
    if (r < 0)
        return r;
    opts.store = rc->store;
    r = cor_cacher_open(&opts, &rc->cacher, st);
    c->open += r == 0;
    return r;
}

static void cachers_free(struct cor_api_cachers *c)
{
    for (size_t i = 0; i < c->api->nresources; i++) {
        cor_store_free(c->resources[i].store);
        cor_buf_deinit(&c->resources[i].prefix);
        cor_buf_deinit(&c->resources[i].labels);
        cor_buf_deinit(&c->resources[i].idle_labels);
        cor_buf_deinit(&c->resources[i].lagging_labels);
        cor_buf_deinit(&c->resources[i].passed_labels);
        cor_buf_deinit(&c->resources[i].failed_labels);
        cor_buf_deinit(&c->resources[i].error_labels);
    }
    cor_free(c);
}

int cor_api_cachers_open(struct cor_api *api, const struct cor_api_cachers_opts *opts,
                         struct cor_api_cachers **ret_cachers, struct cor_status *reterr_status)
{
    struct cor_loop *loops[COR_API_LOOPS_MAX];
    const struct cor_cachers_opts cachers_opts = {.engine = api->engine,
                                                  .loops = loops,
                                                  .nloops = api->nloops,
                                                  .bytes_max = opts->bytes_max,
                                                  .clock = api->clock};
    struct cor_api_cachers *c =
        cor_calloc(1, sizeof(*c) + api->nresources * sizeof(c->resources[0]));
    int r;

    if (!c)
        return cor_status_set(reterr_status, -COR_ENOMEM, "out of memory");
    c->api = api;
    for (size_t i = 0; i < api->nloops; i++)
        loops[i] = api->loops[i].loop;
    r = cor_cachers_open(&cachers_opts, &c->cachers);
    if (r < 0) {
        cachers_free(c);
        return cor_status_set(reterr_status, r, "watch caches: %s", cor_err_text(r));
    }
    /* From here on there is something to close, so the caller gets it in any case. */
    *ret_cachers = c;
    for (size_t i = 0; r >= 0 && i < api->nresources; i++) {
        r = wants_cache(api, i, opts->sizes, reterr_status);
        if (r == 1)
            r = open_resource(c, i, reterr_status);
    }
    return r < 0 ? r : 0;
}

struct cor_cacher *cor_api_cachers_peek(const struct cor_api_cachers *cachers,
                                        const struct cor_resource_row *resource)
{
    return cachers->resources[resource - cachers->api->resources].cacher;
}

bool cor_api_cachers_failed(const struct cor_api_cachers *cachers,
                            char reterr_why[COR_READY_MESSAGE_MAX])
{
    bool failed = false;

    for (size_t i = 0; i < cachers->api->nresources; i++) {
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
    for (size_t i = 0; i < cachers->api->nresources; i++)
        if (cachers->resources[i].cacher && !cor_cacher_is_ready(cachers->resources[i].cacher))
            return false;
    return true;
}

struct cor_cachers_stats cor_api_cachers_stats(const struct cor_api_cachers *cachers)
{
    return cor_cachers_stats(cachers->cachers);
}

static uint64_t read_rev(void *arg)
{
    return cor_cacher_stats(arg).rev;
}

static uint64_t read_received(void *arg)
{
    return cor_cacher_stats(arg).received;
}

static uint64_t read_fills(void *arg)
{
    return cor_cacher_stats(arg).fills;
}

static uint64_t read_events(void *arg)
{
    return cor_cacher_stats(arg).window_events;
}

static uint64_t read_bytes(void *arg)
{
    return cor_cacher_stats(arg).window_bytes;
}

static uint64_t read_idle(void *arg)
{
    return cor_cacher_stats(arg).idle;
}

static uint64_t read_lagging(void *arg)
{
    return cor_cacher_stats(arg).lagging;
}

static uint64_t read_deliveries(void *arg)
{
    return cor_cacher_stats(arg).deliveries;
}

static uint64_t read_evicted(void *arg)
{
    return cor_cacher_stats(arg).evicted;
}

static uint64_t read_passed(void *arg)
{
    return cor_cacher_stats(arg).checks_passed;
}

static uint64_t read_failed(void *arg)
{
    return cor_cacher_stats(arg).checks_failed;
}

static uint64_t read_errors(void *arg)
{
    return cor_cacher_stats(arg).checks_errors;
}

static const struct {
    struct cor_metric_desc desc;
    uint64_t (*read)(void *arg);
} families[] = {
    {{"apiserver_watch_cache_resource_version",
      "Current resource version of watch cache broken by resource type.", COR_METRIC_GAUGE},
     read_rev},
    {{"apiserver_watch_cache_events_received_total",
      "Counter of events received in watch cache broken by resource type.", COR_METRIC_COUNTER},
     read_received},
    {{"apiserver_watch_cache_initializations_total",
      "Counter of watch cache initializations broken by resource type.", COR_METRIC_COUNTER},
     read_fills},
    {{"coracle_watch_cache_window_events", "Events that a watch cache holds.", COR_METRIC_GAUGE},
     read_events},
    {{"apiserver_terminated_watchers_total",
      "Counter of watchers closed due to unresponsiveness broken by resource type.",
      COR_METRIC_COUNTER},
     read_evicted},
    {{"coracle_watch_cache_window_bytes", "What the events of a watch cache hold.",
      COR_METRIC_GAUGE},
     read_bytes},
    {{"coracle_watch_cache_deliveries_total", "Events that were given to watchers.",
      COR_METRIC_COUNTER},
     read_deliveries},
};

static const struct cor_metric_desc watchers_desc = {
    "coracle_watchers",
    "Watchers that have seen everything (idle), or wait for their client to read (lagging).",
    COR_METRIC_GAUGE};

static const struct cor_metric_desc checks_desc = {
    "apiserver_storage_consistency_checks_total",
    "Counter for status of consistency checks between etcd and watch cache", COR_METRIC_COUNTER};

static int set_labels(struct resource_cacher *rc, const struct cor_resource_row *resource)
{
    struct {
        struct cor_buf *labels;
        const char *name, *value;
    } sets[] = {{&rc->labels, NULL, NULL},
                {&rc->idle_labels, "state", "idle"},
                {&rc->lagging_labels, "state", "lagging"},
                {&rc->passed_labels, "status", "success"},
                {&rc->failed_labels, "status", "failure"},
                {&rc->error_labels, "status", "error"}};
    int r = 0;

    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(sets); i++) {
        cor_buf_init(sets[i].labels, COR_METRIC_LABELS_MAX);
        r = cor_metric_label(sets[i].labels, "group", resource->group);
        if (r == 0)
            r = cor_metric_label(sets[i].labels, "resource", resource->plural);
        if (r == 0 && sets[i].name)
            r = cor_metric_label(sets[i].labels, sets[i].name, cor_strz(sets[i].value));
    }
    return r;
}

static int add_family(struct cor_api_cachers *c, struct cor_metrics *metrics,
                      const struct cor_metric_desc *desc, uint64_t (*read)(void *arg))
{
    struct cor_metric *metric;
    int r = cor_metrics_add(metrics, desc, &metric);

    for (size_t i = 0; r == 0 && i < c->api->nresources; i++) {
        struct resource_cacher *rc = &c->resources[i];

        if (rc->cacher)
            r = cor_metric_add_read(metric, cor_buf_z(&rc->labels), read, rc->cacher);
    }
    return r;
}

static int add_watchers(struct cor_api_cachers *c, struct cor_metrics *metrics)
{
    struct cor_metric *metric;
    int r = cor_metrics_add(metrics, &watchers_desc, &metric);

    for (size_t i = 0; r == 0 && i < c->api->nresources; i++) {
        struct resource_cacher *rc = &c->resources[i];

        if (!rc->cacher)
            continue;
        r = cor_metric_add_read(metric, cor_buf_z(&rc->idle_labels), read_idle, rc->cacher);
        if (r == 0)
            r = cor_metric_add_read(metric, cor_buf_z(&rc->lagging_labels), read_lagging,
                                    rc->cacher);
    }
    return r;
}

static int add_checks(struct cor_api_cachers *c, struct cor_metrics *metrics)
{
    struct cor_metric *metric;
    int r = cor_metrics_add(metrics, &checks_desc, &metric);

    for (size_t i = 0; r == 0 && i < c->api->nresources; i++) {
        struct resource_cacher *rc = &c->resources[i];

        if (!rc->cacher)
            continue;
        r = cor_metric_add_read(metric, cor_buf_z(&rc->passed_labels), read_passed, rc->cacher);
        if (r == 0)
            r = cor_metric_add_read(metric, cor_buf_z(&rc->failed_labels), read_failed, rc->cacher);
        if (r == 0)
            r = cor_metric_add_read(metric, cor_buf_z(&rc->error_labels), read_errors, rc->cacher);
    }
    return r;
}

int cor_api_cachers_add_metrics(struct cor_api_cachers *c, struct cor_metrics *metrics)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < c->api->nresources; i++)
        if (c->resources[i].cacher)
            r = set_labels(&c->resources[i], &c->api->resources[i]);
    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(families); i++)
        r = add_family(c, metrics, &families[i].desc, families[i].read);
    if (r == 0)
        r = add_watchers(c, metrics);
    return r == 0 ? add_checks(c, metrics) : r;
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

    if (--c->open == 0)
        cor_cachers_close(c->cachers, on_cachers_closed, c);
}

void cor_api_cachers_close(struct cor_api_cachers *cachers, void (*on_closed)(void *arg), void *arg)
{
    size_t nresources = cachers->api->nresources;

    cachers->on_closed = on_closed;
    cachers->arg = arg;
    if (cachers->open == 0) {
        cor_cachers_close(cachers->cachers, on_cachers_closed, cachers);
        return;
    }
    for (size_t i = 0; i < nresources; i++)
        if (cachers->resources[i].cacher)
            cor_cacher_close(cachers->resources[i].cacher, on_cacher_closed, cachers);
}
