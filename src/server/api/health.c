/* /healthz, /livez and /readyz. The endpoint itself answers "ok", or lists all its checks when one
 * fails (500) or ?verbose asks for it; ?exclude=NAME leaves a check out. The reason of a failure is
 * withheld there and shown below the endpoint (/readyz/etcd), which is not public. The texts are
 * upstream's. Checks answer at once; no memory is answered as a 500 with a Status.
 * Thread: the call's loop. */
#include "server/api/health.h"

#include <assert.h>

#include "base/err.h"
#include "http/url.h"
#include "meta/status/quote.h"

#define TEXT_TYPE   "text/plain; charset=utf-8"
#define EXCLUDE_MAX 256

static const struct cor_http_header nosniff = {COR_STR("X-Content-Type-Options"),
                                               COR_STR("nosniff")};

enum endpoint { HEALTHZ, LIVEZ, READYZ };

static bool check_counts_for(const struct cor_health_check *check, enum endpoint endpoint)
{
    return endpoint == READYZ ? check->ready : check->live;
}

/* 1: a parameter excludes the check; 0: none does; -COR_ENOMEM. */
static int is_check_excluded(struct cor_str query, const char *check)
{
    struct cor_str name, value;
    int r;

    while ((r = cor_url_query_next(&query, &name, &value)) != 0) {
        char text[EXCLUDE_MAX];
        struct cor_buf decoded;
        bool is_hit;

        if (r < 0 || !cor_url_query_is(name, COR_STR("exclude")) || value.n >= sizeof(text))
            continue;
        cor_buf_init(&decoded, sizeof(text));
        r = cor_url_unescape(value, COR_URL_QUERY, &decoded);
        is_hit = r == 0 && cor_str_eqz(cor_buf_str(&decoded), check);
        cor_buf_deinit(&decoded);
        if (is_hit)
            return 1;
        if (r == -COR_ENOMEM)
            return r;
    }
    return 0;
}

static bool is_verbose(struct cor_str query)
{
    struct cor_str name, value;
    int r;

    while ((r = cor_url_query_next(&query, &name, &value)) != 0) {
        if (r > 0 && cor_str_eq(name, COR_STR("verbose")))
            return true;
    }
    return false;
}

static bool is_check(const struct cor_api *api, enum endpoint endpoint, struct cor_str name)
{
    for (size_t i = 0; i < cor_api_settings(api)->nchecks; i++) {
        if (check_counts_for(&cor_api_settings(api)->checks[i], endpoint) &&
            cor_str_eqz(name, cor_api_settings(api)->checks[i].name))
            return true;
    }
    return cor_str_eq(name, COR_STR("ping"));
}

/* Appends a warning that names each ?exclude= which matches no check. */
static int write_unknown_excludes(struct cor_call *call, enum endpoint endpoint)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    struct cor_str query = call->req->query, name, value;
    int r = 0, more;
    size_t n = 0;

    cor_buf_init(&text, COR_API_OPTIONS_BYTES_MAX);
    while (r == 0 && (more = cor_url_query_next(&query, &name, &value)) != 0) {
        cor_buf_reset(&text);
        if (more < 0 || !cor_url_query_is(name, COR_STR("exclude")))
            continue;
        more = cor_url_unescape(value, COR_URL_QUERY, &text);
        if (more == -COR_ENOMEM)
            return more;
        if (more < 0 || is_check(call->loop->api, endpoint, cor_buf_str(&text)))
            continue;
        r = cor_buf_addz(&call->out,
                         n++ > 0 ? ", "
                                 : "warn: some health checks cannot be excluded: no matches for ");
        if (r == 0)
            r = cor_quote(cor_buf_str(&text), &call->out);
    }
    return r == 0 && n > 0 ? cor_buf_addc(&call->out, '\n') : r;
}

/* Appends the line of one check, and clears `ok` when it fails. 0, -COR_ENOMEM. */
static int write_check(struct cor_call *call, const struct cor_health_check *check, bool *ok)
{
    char why[COR_READY_MESSAGE_MAX];
    int r = is_check_excluded(call->req->query, check->name);

    if (r < 0)
        return r;
    if (r == 1)
        return cor_buf_addf(&call->out, "[+]%s excluded: ok\n", check->name);
    if (check->is_ok(check->arg, why))
        return cor_buf_addf(&call->out, "[+]%s ok\n", check->name);
    *ok = false;
    return cor_buf_addf(&call->out, "[-]%s failed: reason withheld\n", check->name);
}

/* One line per check, then the verdict. Returns whether all is well; -COR_ENOMEM. */
static int write_checks(struct cor_call *call, enum endpoint endpoint, const char *name)
{
    const struct cor_api *api = call->loop->api;
    bool ok = true;
    int r = is_check_excluded(call->req->query, "ping");

    if (r >= 0)
        r = cor_buf_addz(&call->out, r == 1 ? "[+]ping excluded: ok\n" : "[+]ping ok\n");
    for (size_t i = 0; i < cor_api_settings(api)->nchecks && r == 0; i++)
        if (check_counts_for(&cor_api_settings(api)->checks[i], endpoint))
            r = write_check(call, &cor_api_settings(api)->checks[i], &ok);
    if (r == 0)
        r = write_unknown_excludes(call, endpoint);
    if (r == 0)
        r = cor_buf_addf(&call->out, "%s check %s\n", name, ok ? "passed" : "failed");
    return r < 0 ? r : ok;
}

static void reply_endpoint(struct cor_call *call, enum endpoint endpoint, const char *name)
{
    int r = write_checks(call, endpoint, name);

    if (r < 0) {
        cor_status_set_err(&call->status, r);
        cor_call_fail(call);
    } else if (r == 0) {
        cor_call_reply_bytes(call, 500, TEXT_TYPE, &nosniff, 1, cor_buf_str(&call->out));
    } else {
        cor_call_reply_bytes(call, 200, TEXT_TYPE, &nosniff, 1,
                             is_verbose(call->req->query) ? cor_buf_str(&call->out)
                                                          : COR_STR("ok"));
    }
}

static void reply_cause(struct cor_call *call, const char *why)
{
    int r = cor_buf_addf(&call->out, "internal server error: %s\n", why);

    if (r == 0) {
        cor_call_reply_bytes(call, 500, TEXT_TYPE, &nosniff, 1, cor_buf_str(&call->out));
        return;
    }
    cor_status_set_err(&call->status, r);
    cor_call_fail(call);
}

/* /healthz/NAME: shows why the check failed. False: there is no such check. */
static bool reply_check(struct cor_call *call, enum endpoint endpoint, struct cor_str name)
{
    const struct cor_api *api = call->loop->api;
    char why[COR_READY_MESSAGE_MAX];

    if (cor_str_eq(name, COR_STR("ping"))) {
        cor_call_reply_bytes(call, 200, TEXT_TYPE, NULL, 0, COR_STR("ok"));
        return true;
    }
    for (size_t i = 0; i < cor_api_settings(api)->nchecks; i++) {
        const struct cor_health_check *check = &cor_api_settings(api)->checks[i];

        if (!check_counts_for(check, endpoint) || !cor_str_eqz(name, check->name))
            continue;
        if (check->is_ok(check->arg, why))
            cor_call_reply_bytes(call, 200, TEXT_TYPE, NULL, 0, COR_STR("ok"));
        else
            reply_cause(call, why);
        return true;
    }
    return false;
}

bool cor_health_reply(struct cor_call *call)
{
    static const char *const names[] = {
        [HEALTHZ] = "healthz", [LIVEZ] = "livez", [READYZ] = "readyz"};
    struct cor_str path = cor_str_from(call->req->info.path, 1);
    struct cor_str first = cor_str_cut(&path, '/');
    bool is_root = first.n + 1 == call->req->info.path.n;

    assert(call->req->info.path.n > 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        if (!cor_str_eqz(first, names[i]))
            continue;
        if (!is_root)
            return reply_check(call, (enum endpoint)i, path);
        reply_endpoint(call, (enum endpoint)i, names[i]);
        return true;
    }
    return false;
}
