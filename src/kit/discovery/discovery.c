/* clang-format off */
/* Asks the server what it serves, once for all who wait, and keeps the answer.
 *
 *   EMPTY ──► CORE (/api) ──► GROUPS (/apis) ──► VERSIONS (one document each) ──► VALID
 *               ▲                 └── both in the aggregated form ──────────────────►│
 *               └── a second attempt, when versions failed ──────────────────────────┘
 *   VALID ──► VERSIONS: versions whose failure may pass are asked for again by the next question
 *
 * What fails:
 * - /api or /apis: all who wait get the error, and the next question begins at EMPTY. A missing
 *   /api is not a failure: aggregated servers have none;
 * - a version: the catalog keeps its error, is asked for a second time as a whole, and is then
 *   given to those who wait, for the rest of what it has;
 * - no memory for a request or a document: as a failure of that document.
 * Callbacks may ask again or invalidate, so each round answers only those who waited when it
 * began; a timer that is always set, and so can be moved without memory, begins the next round.
 * Thread: the REST client's loop. */
/* clang-format on */
#include "kit/discovery/discovery.h"

#include "base/dlist.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/timer.h"

#define NEVER            UINT64_MAX
#define WAITERS_MAX      10000
#define VERSION_PATH_MAX 1024
#define ACCEPT_LEGACY    "application/json"
#define ACCEPT_ALL                                                                                 \
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"                        \
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," ACCEPT_LEGACY

enum state { EMPTY, CORE, GROUPS, VERSIONS, VALID };

struct cor_discovery_waiter {
    struct cor_dlist link;
    struct cor_discovery *d;
    cor_discovery_cb on_done;
    void *arg;
    bool was_cached;
};

/* A request that is under way. */
struct fetch {
    struct cor_discovery *d;
    struct cor_rest_request *req;
    struct cor_catalog_version *version; /* of VERSIONS */
    struct cor_gv gv;
    bool is_aggregated; /* the answer */
};

struct cor_discovery {
    struct cor_discovery_opts opts;
    enum state state;
    struct cor_catalog catalog;
    bool is_core_aggregated, is_all_aggregated;
    unsigned attempt;
    size_t group, version; /* the next to be looked at, of VERSIONS */
    struct fetch fetches[COR_DISCOVERY_PARALLEL];
    size_t nfetches;
    struct cor_status why;
    struct cor_dlist waiters;
    size_t nwaiters;
    struct cor_timer soon; /* always set, so that moving it cannot fail */
    bool is_closing;
};

static void discovery_go_on(struct cor_discovery *d);
static void discovery_doubt_resources(struct cor_discovery *d);

static void discovery_forget(struct cor_discovery *d)
{
    for (size_t i = 0; i < COR_DISCOVERY_PARALLEL; i++)
        if (d->fetches[i].req)
            cor_rest_request_cancel(COR_STEAL(d->fetches[i].req));
    d->nfetches = 0;
    d->state = EMPTY;
    cor_catalog_deinit(&d->catalog);
}

static struct cor_discovery_waiter *waiter_of(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct cor_discovery_waiter, link);
}

static struct cor_discovery_waiter *waiter_next(struct cor_discovery *d)
{
    struct cor_dlist *link = cor_dlist_pop(&d->waiters);

    d->nwaiters -= link ? 1 : 0;
    return link ? waiter_of(link) : NULL;
}

static void waiter_answer(struct cor_discovery_waiter *take_waiter,
                          const struct cor_catalog *catalog, const struct cor_status *error)
{
    struct cor_discovery_waiter waiter = *take_waiter;

    cor_free(take_waiter);
    waiter.on_done(waiter.arg, catalog, waiter.was_cached, error);
}

/* All who wait get the failure; a question that comes meanwhile starts a new round. */
static void discovery_fail(struct cor_discovery *d)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};

    cor_status_move(&why, &d->why);
    discovery_forget(d);
    for (size_t n = d->nwaiters; n > 0 && d->nwaiters > 0; n--)
        waiter_answer(waiter_next(d), NULL, &why);
    if (d->nwaiters > 0)
        cor_timer_set(&d->soon, 0);
}

static void discovery_succeed(struct cor_discovery *d)
{
    for (size_t n = d->nwaiters; n > 0 && d->nwaiters > 0 && d->state == VALID; n--)
        waiter_answer(waiter_next(d), &d->catalog, NULL);
    if (d->nwaiters > 0)
        cor_timer_set(&d->soon, 0);
}

static bool is_transient(const struct cor_status *error)
{
    return error->err == -COR_EUNREACHABLE || error->err == -COR_EBROKEN ||
           error->err == -COR_EBUSY || error->err == -COR_ENOMEM ||
           (error->code >= 500 && error->reason[0] != '\0');
}

/* Does a media type have this parameter with this value? Parameters may be in any order. */
static bool has_param(struct cor_str type, const char *name, const char *value)
{
    struct cor_str rest = type;

    while (rest.p) {
        struct cor_str param = cor_str_trim(cor_str_cut(&rest, ';'));
        struct cor_str key = cor_str_cut(&param, '=');

        if (param.n >= 2 && param.p[0] == '"')
            param = cor_str(param.p + 1, param.n - 2);
        if (cor_header_name_eq(key, cor_strz(name)) && cor_str_eqz(param, value))
            return true;
    }
    return false;
}

static bool is_aggregated(struct cor_str type)
{
    struct cor_str rest = type;

    return cor_header_name_eq(cor_str_trim(cor_str_cut(&rest, ';')), COR_STR("application/json")) &&
           has_param(rest, "g", "apidiscovery.k8s.io") &&
           has_param(rest, "as", "APIGroupDiscoveryList") &&
           (has_param(rest, "v", "v2") || has_param(rest, "v", "v2beta1"));
}

static int on_head(void *arg, const struct cor_rest_head *head)
{
    struct fetch *f = arg;

    f->is_aggregated =
        is_aggregated(cor_header_find(head->headers, head->nheaders, COR_STR("Content-Type")));
    return 0;
}

static int read_document(struct cor_discovery *d, const struct fetch *f, struct cor_str body)
{
    if (f->is_aggregated)
        return cor_catalog_add_aggregated(&d->catalog, body);
    return d->state == CORE ? cor_catalog_add_api_versions(&d->catalog, body)
                            : cor_catalog_add_api_groups(&d->catalog, body);
}

static void set_unreadable(struct cor_status *st, const char *what, int r)
{
    cor_status_untyped(st, r, "the discovery document of %s cannot be read: %s", what,
                       cor_err_text(r));
}

/* Aggregated servers have no /api; then /apis alone decides which form the server answers in. */
static void on_document(void *arg, const struct cor_rest_result *result)
{
    struct fetch *f = arg;
    struct cor_discovery *d = f->d;
    bool is_core = d->state == CORE;
    int r = 0;

    f->req = NULL;
    d->nfetches--;
    if (!result->error)
        r = read_document(d, f, result->body);
    else if (is_core && result->error->err == -COR_ENOTFOUND)
        f->is_aggregated = true;
    else
        r = result->error->err;
    if (r < 0) {
        if (result->error)
            cor_status_copy(&d->why, result->error);
        else
            set_unreadable(&d->why, is_core ? "/api" : "/apis", r);
        discovery_fail(d);
        return;
    }
    if (is_core)
        d->is_core_aggregated = f->is_aggregated;
    else
        d->is_all_aggregated = d->is_core_aggregated && f->is_aggregated;
    d->state = is_core ? GROUPS : VERSIONS;
    d->group = d->version = 0;
    if (d->state == VERSIONS && !d->is_all_aggregated)
        discovery_doubt_resources(d);
    discovery_go_on(d);
}

static bool is_core_v1(const struct cor_gv *gv)
{
    return gv->group.n == 0 && cor_str_eqz(gv->version, "v1");
}

/* A version without resources is a failure, except for core v1 on a server that does not have it.
 */
static void keep_resources(struct cor_discovery *d, struct fetch *f,
                           const struct cor_rest_result *result)
{
    struct cor_catalog_version *version = f->version;
    int r;

    if (result->error && result->error->err == -COR_ENOTFOUND && is_core_v1(&f->gv)) {
        version->is_known = true;
        cor_status_deinit(&version->error);
        return;
    }
    if (result->error) {
        cor_status_copy(&version->error, result->error);
        return;
    }
    r = cor_catalog_set_resources(&d->catalog, version, result->body);
    version->is_known = r == 0 && version->nresources > 0;
    if (r < 0)
        set_unreadable(&version->error, "a version", r);
    else if (version->nresources == 0)
        cor_status_untyped(&version->error, -COR_ENOTFOUND,
                           "received empty response for: %.*s%s%.*s", COR_STR_ARG(f->gv.group),
                           f->gv.group.n > 0 ? "/" : "", COR_STR_ARG(f->gv.version));
}

static void on_version(void *arg, const struct cor_rest_result *result)
{
    struct fetch *f = arg;
    struct cor_discovery *d = f->d;

    f->req = NULL;
    d->nfetches--;
    keep_resources(d, f, result);
    discovery_go_on(d);
}

static const struct cor_rest_cbs document_cbs = {on_head, NULL, on_document};
static const struct cor_rest_cbs version_cbs = {NULL, NULL, on_version};

static int discovery_ask(struct cor_discovery *d, struct fetch *f, struct cor_str path,
                         const char *accept, const struct cor_rest_cbs *cbs)
{
    struct cor_rest_request_opts opts = {
        .is_discovery = true,
        .target = path,
        .accept = cor_strz(accept),
        .timeout_ms = d->opts.timeout_ms ? d->opts.timeout_ms : COR_DISCOVERY_TIMEOUT_MS,
        .body_max = COR_CATALOG_BODY_MAX,
        .cbs = cbs,
        .arg = f};
    int r;

    f->d = d;
    f->is_aggregated = false;
    r = cor_rest_request_open(d->opts.client, &opts, &f->req);
    d->nfetches += r == 0;
    return r;
}

static int discovery_ask_version(struct cor_discovery *d, struct fetch *f)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf path;
    int r;

    cor_buf_init(&path, VERSION_PATH_MAX);
    r = cor_buf_addz(&path, is_core_v1(&f->gv) ? "/api/" : "/apis/");
    if (r == 0)
        r = cor_gv_print(&f->gv, &path);
    return r < 0 ? r : discovery_ask(d, f, cor_buf_str(&path), ACCEPT_LEGACY, &version_cbs);
}

static struct fetch *discovery_unused_fetch(struct cor_discovery *d)
{
    for (size_t i = 0; i < COR_DISCOVERY_PARALLEL; i++)
        if (!d->fetches[i].req)
            return &d->fetches[i];
    return NULL;
}

/* Finds the next version that is to be asked for, a first or a second time. */
static bool discovery_next_version(struct cor_discovery *d, struct fetch *f)
{
    for (; d->group < d->catalog.ngroups; d->group++, d->version = 0) {
        struct cor_catalog_group *group = &d->catalog.groups[d->group];

        while (d->version < group->nversions) {
            struct cor_catalog_version *version = &group->versions[d->version++];

            if (version->error.err < 0 ? !is_transient(&version->error) : version->is_known)
                continue;
            f->version = version;
            f->gv = (struct cor_gv){group->name, version->version};
            return true;
        }
    }
    return false;
}

static void discovery_ask_versions(struct cor_discovery *d)
{
    struct fetch *f;
    int r;

    while ((f = discovery_unused_fetch(d)) && discovery_next_version(d, f)) {
        r = discovery_ask_version(d, f);
        if (r < 0)
            cor_status_set(&f->version->error, r, "the request could not be sent: %s",
                           cor_err_text(r));
    }
}

/* Resources of the aggregated form count only when both documents have that form. */
static void discovery_doubt_resources(struct cor_discovery *d)
{
    for (size_t i = 0; i < d->catalog.ngroups; i++)
        for (size_t k = 0; k < d->catalog.groups[i].nversions; k++)
            d->catalog.groups[i].versions[k].is_known = false;
}

static bool has_transient_failure(const struct cor_discovery *d)
{
    for (size_t i = 0; i < d->catalog.ngroups; i++)
        for (size_t k = 0; k < d->catalog.groups[i].nversions; k++) {
            const struct cor_status *error = &d->catalog.groups[i].versions[k].error;

            if (error->err < 0 && is_transient(error))
                return true;
        }
    return false;
}

static void discovery_begin(struct cor_discovery *d)
{
    discovery_forget(d);
    d->state = CORE;
    d->attempt++;
    discovery_go_on(d);
}

static void discovery_ask_document(struct cor_discovery *d)
{
    const char *accept = d->opts.is_legacy ? ACCEPT_LEGACY : ACCEPT_ALL;
    int r = discovery_ask(d, &d->fetches[0], d->state == CORE ? COR_STR("/api") : COR_STR("/apis"),
                          accept, &document_cbs);

    if (r < 0) {
        cor_status_set(&d->why, r, "the request could not be sent: %s", cor_err_text(r));
        discovery_fail(d);
    }
}

static void discovery_finish(struct cor_discovery *d)
{
    struct cor_status why = {0};
    bool has_failed = cor_catalog_failures(&d->catalog, &why);
    int r = cor_catalog_choose(&d->catalog);

    cor_status_deinit(&why);
    if (has_failed && d->attempt > 0 && d->attempt < COR_DISCOVERY_ATTEMPTS) {
        discovery_begin(d);
        return;
    }
    if (r < 0) {
        cor_status_untyped(&d->why, r, "no memory for what the server serves");
        discovery_fail(d);
        return;
    }
    d->attempt = 0;
    d->state = VALID;
    discovery_succeed(d);
}

static void discovery_go_on(struct cor_discovery *d)
{
    if (d->state != VERSIONS) {
        discovery_ask_document(d);
        return;
    }
    if (!d->is_all_aggregated)
        discovery_ask_versions(d);
    if (d->nfetches == 0)
        discovery_finish(d);
}

static void on_soon(struct cor_timer *timer)
{
    struct cor_discovery *d = COR_CONTAINER_OF(timer, struct cor_discovery, soon);

    cor_timer_set(&d->soon, NEVER);
    if (d->nwaiters == 0)
        return;
    if (d->state == EMPTY) {
        d->attempt = 0;
        discovery_begin(d);
    } else if (d->state == VALID && has_transient_failure(d)) {
        d->state = VERSIONS;
        d->group = d->version = 0;
        discovery_go_on(d);
    } else if (d->state == VALID) {
        discovery_succeed(d);
    }
}

int cor_discovery_new(const struct cor_discovery_opts *opts, struct cor_discovery **ret_discovery)
{
    struct cor_discovery *d = cor_calloc(1, sizeof(*d));
    int r;

    if (!d)
        return -COR_ENOMEM;
    d->opts = *opts;
    cor_dlist_init(&d->waiters);
    cor_timer_init(&d->soon, cor_rest_client_loop(opts->client), on_soon);
    r = cor_timer_set(&d->soon, NEVER);
    if (r < 0) {
        cor_free(d);
        return r;
    }
    *ret_discovery = d;
    return 0;
}

struct cor_discovery *cor_discovery_free(struct cor_discovery *d)
{
    struct cor_discovery_waiter *waiter;

    if (!d)
        return NULL;
    d->is_closing = true;
    cor_timer_cancel(&d->soon);
    discovery_forget(d);
    cor_status_untyped(&d->why, -COR_ECANCELED, "the client was stopped");
    while ((waiter = waiter_next(d)))
        waiter_answer(waiter, NULL, &d->why);
    cor_status_deinit(&d->why);
    return cor_free(d);
}

int cor_discovery_fetch(struct cor_discovery *d, cor_discovery_cb on_done, void *arg,
                        struct cor_discovery_waiter **ret_waiter)
{
    struct cor_discovery_waiter *waiter;

    if (d->is_closing)
        return -COR_ECANCELED;
    if (d->nwaiters == WAITERS_MAX)
        return -COR_EBUSY;
    waiter = cor_calloc(1, sizeof(*waiter));
    if (!waiter)
        return -COR_ENOMEM;
    waiter->d = d;
    waiter->on_done = on_done;
    waiter->arg = arg;
    waiter->was_cached = d->state == VALID;
    cor_dlist_push(&d->waiters, &waiter->link);
    d->nwaiters++;
    if (d->state == EMPTY || d->state == VALID)
        cor_timer_set(&d->soon, 0);
    *ret_waiter = waiter;
    return 0;
}

void cor_discovery_cancel(struct cor_discovery_waiter *waiter)
{
    cor_dlist_remove(&waiter->link);
    waiter->d->nwaiters--;
    cor_free(waiter);
}

void cor_discovery_invalidate(struct cor_discovery *d)
{
    discovery_forget(d);
    if (d->nwaiters > 0)
        cor_timer_set(&d->soon, 0);
}

bool cor_discovery_is_fresh(const struct cor_discovery *d)
{
    return d->state == VALID;
}
