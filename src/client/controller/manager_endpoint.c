/* clang-format off */
/* The endpoint of a manager: /healthz, /readyz and /metrics over plain HTTP.
 *
 *   start ──► cor_endpoint_open(): a server of http/ on the runtime's loop, one listener
 *   request ──► on_request(): /healthz[/NAME], /readyz[/NAME], /metrics, else 404
 *   finish ──► cor_endpoint_close(): waits until the server has closed
 *
 * The answers are those of controller-runtime: an endpoint answers "ok", or lists all its checks
 * when a check fails (500) or ?verbose asks for it; ?exclude=NAME leaves a check out; the reason
 * of a failure is shown at /readyz/NAME only. Each answer is complete when it begins, so the close
 * waits for no client.
 * Failures: a listener that cannot be opened makes the start fail; without memory a request is
 * answered with 500. Thread: the runtime's loop; open, close and the setup as they say. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "client/controller/manager_int.h"
#include "http/http_server.h"
#include "http/url.h"
#include "meta/status/quote.h"

#define TEXT_TYPE       "text/plain; charset=utf-8"
#define METRICS_TYPE    "text/plain; version=0.0.4; charset=utf-8"
#define LOOPBACK        "127.0.0.1"
#define HOST_MAX        63
#define NAME_MAX_ASKED  256
#define WHY_MAX         512
#define TEXT_MAX        (64u << 10)
#define METRICS_MAX     (16u << 20)
#define BODY_MAX        4096
#define HELD_MAX        (64u << 20)
#define CONNECTIONS_MAX 256

/* Answers. */

static void answer(struct cor_http_response *resp, int status, const char *type,
                   struct cor_str body)
{
    const struct cor_http_header headers[] = {
        {COR_STR("Content-Type"), cor_strz(type)},
        {COR_STR("X-Content-Type-Options"), COR_STR("nosniff")},
    };

    cor_http_response_send(resp, status, headers, COR_ARRAY_LEN(headers), body);
}

static void answer_no_memory(struct cor_http_response *resp)
{
    answer(resp, 500, TEXT_TYPE, COR_STR("internal server error: out of memory\n"));
}

static void answer_metrics(const struct cor_manager *m, struct cor_http_response *resp)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, METRICS_MAX);
    if (cor_manager_write_metrics(m, &out) < 0)
        answer_no_memory(resp);
    else
        answer(resp, 200, METRICS_TYPE, cor_buf_str(&out));
}

/* Checks. */

static const struct cor_check *checks_find(const struct cor_checks *checks, struct cor_str name)
{
    for (size_t i = 0; i < checks->n; i++)
        if (cor_str_eqz(name, checks->list[i].name))
            return &checks->list[i];
    return NULL;
}

/* Decodes the next parameter `exclude` of the query into `name`. 1, 0 (there is none any more), or
 * -COR_ENOMEM. A name that is longer than any check's is skipped. */
static int next_excluded(struct cor_str *query, struct cor_buf *name)
{
    struct cor_str key, value;
    int r;

    while ((r = cor_url_query_next(query, &key, &value)) != 0) {
        if (r < 0 || !cor_url_query_is(key, COR_STR("exclude")))
            continue;
        cor_buf_reset(name);
        r = cor_url_unescape(value, COR_URL_QUERY, name);
        if (r == 0)
            return 1;
        if (r == -COR_ENOMEM)
            return r;
    }
    return 0;
}

/* 1: the query excludes the check; 0; -COR_ENOMEM. */
static int is_excluded(struct cor_str query, const char *check)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf name;
    int r;

    cor_buf_init(&name, NAME_MAX_ASKED);
    while ((r = next_excluded(&query, &name)) > 0)
        if (cor_str_eqz(cor_buf_str(&name), check))
            return 1;
    return r;
}

/* Appends a line that names each excluded check that does not exist. */
static int write_unknown(const struct cor_checks *checks, struct cor_str query, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf name;
    size_t n = 0;
    int r;

    cor_buf_init(&name, NAME_MAX_ASKED);
    while ((r = next_excluded(&query, &name)) > 0) {
        if (checks_find(checks, cor_buf_str(&name)))
            continue;
        r = cor_buf_addz(out, n++ ? ","
                                  : "warn: some health checks cannot be excluded: no matches for ");
        if (r == 0)
            r = cor_quote(cor_buf_str(&name), out);
        if (r < 0)
            return r;
    }
    return r == 0 && n > 0 ? cor_buf_addc(out, '\n') : r;
}

/* Appends the line of each check. 0, or an error of the buffer. */
static int write_checks(const struct cor_checks *checks, struct cor_str query, struct cor_buf *out,
                        bool *ret_failed)
{
    char why[WHY_MAX];
    int r = 0;

    *ret_failed = false;
    for (size_t i = 0; r >= 0 && i < checks->n; i++) {
        const struct cor_check *check = &checks->list[i];

        r = is_excluded(query, check->name);
        if (r == 1) {
            r = cor_buf_addf(out, "[+]%s excluded: ok\n", check->name);
        } else if (r == 0 && check->fn(check->arg, why, sizeof(why)) < 0) {
            *ret_failed = true;
            r = cor_buf_addf(out, "[-]%s failed: reason withheld\n", check->name);
        } else if (r == 0) {
            r = cor_buf_addf(out, "[+]%s ok\n", check->name);
        }
    }
    if (r == 0 && checks->n == 0)
        r = cor_buf_addz(out, "[+]ping ok\n");
    return r;
}

static bool is_verbose(struct cor_str query)
{
    struct cor_str name, value;
    int r;

    while ((r = cor_url_query_next(&query, &name, &value)) != 0)
        if (r > 0 && cor_url_query_is(name, COR_STR("verbose")))
            return true;
    return false;
}

/* The name in the last line is "healthz" for both, as in controller-runtime. */
static void answer_checks(const struct cor_checks *checks, struct cor_str query,
                          struct cor_http_response *resp)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    bool failed;
    int r;

    cor_buf_init(&out, TEXT_MAX);
    r = write_checks(checks, query, &out, &failed);
    if (r == 0)
        r = write_unknown(checks, query, &out);
    if (r == 0)
        r = cor_buf_addf(&out, "healthz check %s\n", failed ? "failed" : "passed");
    if (r < 0)
        answer_no_memory(resp);
    else if (failed || is_verbose(query))
        answer(resp, failed ? 500 : 200, TEXT_TYPE, cor_buf_str(&out));
    else
        answer(resp, 200, TEXT_TYPE, COR_STR("ok"));
}

static void answer_not_found(struct cor_http_response *resp)
{
    answer(resp, 404, TEXT_TYPE, COR_STR("404 page not found\n"));
}

/* /healthz/NAME: shows why the check failed. */
static void answer_check(const struct cor_checks *checks, struct cor_str name,
                         struct cor_http_response *resp)
{
    const struct cor_check *check = checks_find(checks, name);
    char why[WHY_MAX] = "";
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    int r;

    cor_buf_init(&out, TEXT_MAX);
    if (!check) {
        if (checks->n == 0 && cor_str_eq(name, COR_STR("ping")))
            answer(resp, 200, TEXT_TYPE, COR_STR("ok"));
        else
            answer_not_found(resp);
        return;
    }
    r = check->fn(check->arg, why, sizeof(why));
    if (r == 0) {
        answer(resp, 200, TEXT_TYPE, COR_STR("ok"));
        return;
    }
    if (cor_buf_addf(&out, "internal server error: %s\n", why[0] ? why : cor_err_text(r)) < 0)
        answer_no_memory(resp);
    else
        answer(resp, 500, TEXT_TYPE, cor_buf_str(&out));
}

/* Does `path` begin with `prefix` as whole segments? `ret_rest` is what follows the slash. */
static bool path_is_below(struct cor_str path, struct cor_str prefix, struct cor_str *ret_rest)
{
    if (!cor_str_starts(path, prefix))
        return false;
    *ret_rest = cor_str_from(path, prefix.n);
    if (ret_rest->n == 0)
        return true;
    if (ret_rest->p[0] != '/')
        return false;
    *ret_rest = cor_str_from(*ret_rest, 1);
    return true;
}

static void on_request(const struct cor_http_request *req, struct cor_http_response *resp,
                       void *arg)
{
    const struct cor_manager *m = arg;
    const struct cor_checks *checks = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf decoded;
    struct cor_str path, rest;
    int r;

    cor_buf_init(&decoded, NAME_MAX_ASKED);
    r = cor_url_unescape(req->path, COR_URL_PATH, &decoded);
    if (r == -COR_ENOMEM) {
        answer_no_memory(resp);
        return;
    }
    /* A path that cannot be decoded or is too long names nothing here. */
    if (r < 0) {
        answer_not_found(resp);
        return;
    }
    path = cor_buf_str(&decoded);
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    if (path_is_below(path, COR_STR("/healthz"), &rest))
        checks = &m->healthz;
    else if (path_is_below(path, COR_STR("/readyz"), &rest))
        checks = &m->readyz;
    if (checks && rest.n > 0)
        answer_check(checks, rest, resp);
    else if (checks)
        answer_checks(checks, req->query, resp);
    else if (cor_str_eq(path, COR_STR("/metrics")))
        answer_metrics(m, resp);
    else
        answer_not_found(resp);
}

/* Setup. */

/* Keeps the checks in the order of their names, in which they are shown. */
static void manager_add_check(struct cor_manager *m, struct cor_checks *checks, const char *name,
                              int (*fn)(void *arg, char *why, size_t n), void *arg)
{
    size_t n = name ? strlen(name) : 0, at = 0;

    if (m->setup.err < 0)
        return;
    if (m->is_started) {
        cor_status_set(&m->setup, -COR_EINVAL, "a check is added before the manager is started");
    } else if (!fn || n == 0 || n > COR_MANAGER_CHECK_NAME_MAX || strchr(name, '/')) {
        cor_status_set(&m->setup, -COR_EINVAL,
                       "a check has a function, and a name of at most %d bytes without a slash",
                       COR_MANAGER_CHECK_NAME_MAX);
    } else if (checks_find(checks, cor_str(name, n))) {
        cor_status_set(&m->setup, -COR_EINVAL, "a check with name %s already exists", name);
    } else if (checks->n == COR_MANAGER_CHECKS_MAX) {
        cor_status_set(&m->setup, -COR_ETOOBIG, "an endpoint has at most %d checks",
                       COR_MANAGER_CHECKS_MAX);
    } else {
        while (at < checks->n && strcmp(checks->list[at].name, name) < 0)
            at++;
        memmove(&checks->list[at + 1], &checks->list[at],
                (checks->n - at) * sizeof(checks->list[0]));
        checks->list[at] = (struct cor_check){.fn = fn, .arg = arg};
        memcpy(checks->list[at].name, name, n + 1);
        checks->n++;
    }
}

void cor_manager_add_healthz(struct cor_manager *m, const char *name,
                             int (*check)(void *arg, char *why, size_t n), void *arg)
{
    manager_add_check(m, &m->healthz, name, check, arg);
}

void cor_manager_add_readyz(struct cor_manager *m, const char *name,
                            int (*check)(void *arg, char *why, size_t n), void *arg)
{
    manager_add_check(m, &m->readyz, name, check, arg);
}

uint16_t cor_manager_endpoint_port(const struct cor_manager *m)
{
    return (uint16_t)atomic_load(&m->endpoint_port);
}

/* The first lists of all sources are cached. On the loop. */
static int check_informers(void *arg, char *why, size_t n)
{
    const struct cor_manager *m = arg;

    for (size_t i = 0; i < m->ncontrollers; i++) {
        const struct cor_control_loop *loop = m->controllers[i]->loop;

        if (cor_control_loop_is_synced(loop))
            continue;
        snprintf(why, n, "controller %s waits for the first lists of its sources",
                 cor_control_loop_name(loop));
        return -COR_EBUSY;
    }
    return 0;
}

void cor_endpoint_init(struct cor_manager *m)
{
    cor_waiter_init(&m->endpoint_closed);
    cor_manager_add_readyz(m, "informers", check_informers, m);
}

/* Opening and closing. */

/* "HOST:PORT", ":PORT" (loopback) or "[HOST]:PORT". 0 or -COR_EINVAL. */
static int address_parse(const char *text, char host[HOST_MAX + 1], uint16_t *ret_port)
{
    const char *colon = strrchr(text, ':');
    struct cor_str name = colon ? cor_str(text, (size_t)(colon - text)) : COR_STR("");
    uint64_t port;

    if (!colon || cor_str_to_u64(cor_strz(colon + 1), &port) < 0 || port > UINT16_MAX)
        return -COR_EINVAL;
    if (name.n >= 2 && name.p[0] == '[' && name.p[name.n - 1] == ']')
        name = cor_str(name.p + 1, name.n - 2);
    if (name.n == 0)
        name = COR_STR(LOOPBACK);
    if (name.n > HOST_MAX)
        return -COR_EINVAL;
    memcpy(host, name.p, name.n);
    host[name.n] = '\0';
    *ret_port = (uint16_t)port;
    return 0;
}

int cor_endpoint_open(struct cor_manager *m, struct cor_status *reterr)
{
    const struct cor_http_server_opts opts = {
        .loops = &m->runtime->loop,
        .nloops = 1,
        .limits = {.body_max = BODY_MAX,
                   .bodies_max = HELD_MAX,
                   .connections_max = CONNECTIONS_MAX},
        .on_request = on_request,
        .arg = m,
    };
    char host[HOST_MAX + 1];
    uint16_t port;
    int r;

    assert(cor_loop_is_current(m->runtime->loop) && !m->endpoint);
    if (!m->opts.endpoint)
        return 0;
    if (address_parse(m->opts.endpoint, host, &port) < 0)
        return cor_status_set(reterr, -COR_EINVAL,
                              "endpoint \"%s\" is not an address and a port, as 127.0.0.1:8080",
                              m->opts.endpoint);
    r = cor_http_server_new(&opts, &m->endpoint);
    if (r == 0)
        r = cor_http_server_listen(m->endpoint, host, port, NULL, &port);
    if (r < 0)
        return cor_status_set(reterr, r, "listen on %s: %s", m->opts.endpoint, cor_err_text(r));
    atomic_store(&m->endpoint_port, port);
    return 0;
}

static void on_closed(void *arg)
{
    struct cor_manager *m = arg;

    cor_waiter_set(&m->endpoint_closed);
}

void cor_endpoint_close(struct cor_manager *m)
{
    if (!m->endpoint)
        return;
    cor_http_server_close(m->endpoint, 0, on_closed, m);
    cor_runtime_wait(m->runtime, &m->endpoint_closed, COR_WAIT_FOREVER);
    m->endpoint = cor_http_server_free(m->endpoint);
}
