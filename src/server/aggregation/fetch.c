/* clang-format off */
/* A fetch:
 *
 *   open ──► a use of the target ──► ready ──► the call ──► head, body ──► on_done
 *                               └──► refused ──► on_done, from the timer
 *
 * One timer has the deadline of the whole, and the end of a fetch that was refused at once, so that
 * on_done never comes inside cor_fetch_open(). Every way out is fetch_finish().
 * Thread: the loop of the targets. */
/* clang-format on */
#include "server/aggregation/fetch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/http_client.h"
#include "loop/loop.h"
#include "loop/timer.h"

#define HEADERS_MAX 6
#define URL_MAX     (COR_RESOLVE_HOST_MAX + 2048)
#define VALUES_MAX  4096

struct cor_fetch {
    struct cor_target_use use;
    struct cor_fetch_opts opts; /* its strings are in `strings` */
    char *strings;
    cor_fetch_cb on_done;
    void *arg;
    struct cor_http_call *call; /* NULL: none is under way */
    struct cor_timer timer;
    uint64_t due_ms;
    int refused; /* 0, or why nothing was asked */
    int status;
    size_t etag_n, type_n; /* in `values`, in this order */
    struct cor_buf values, url, body;
    char text[COR_TARGET_TEXT_MAX];
};

static void fetch_free(struct cor_fetch *f)
{
    cor_timer_cancel(&f->timer);
    cor_buf_deinit(&f->values);
    cor_buf_deinit(&f->url);
    cor_buf_deinit(&f->body);
    cor_free(f->strings);
    cor_free(f);
}

/* The call is over, and the use has ended. */
static void fetch_finish(struct cor_fetch *f, int r, const char *text)
{
    struct cor_str values = cor_buf_str(&f->values);
    const struct cor_fetch_answer answer = {.status = f->status,
                                            .etag = cor_str(values.p, f->etag_n),
                                            .content_type =
                                                cor_str(values.p + f->etag_n, f->type_n),
                                            .body = cor_buf_str(&f->body),
                                            .url = cor_buf_str(&f->url)};

    assert(!f->call && !f->use.target);
    f->on_done(f->arg, r, text, &answer);
    fetch_free(f);
}

static int fetch_on_head(void *arg, int status, const struct cor_http_header *headers, size_t n)
{
    struct cor_fetch *f = arg;
    struct cor_str etag = cor_header_find(headers, n, COR_STR("etag"));
    struct cor_str type = cor_header_find(headers, n, COR_STR("content-type"));
    int r;

    f->status = status;
    r = cor_buf_adds(&f->values, etag);
    if (r == 0)
        r = cor_buf_adds(&f->values, type);
    if (r < 0)
        return r;
    f->etag_n = etag.n;
    f->type_n = type.n;
    return 0;
}

static int fetch_on_body(void *arg, struct cor_str piece)
{
    struct cor_fetch *f = arg;

    return cor_buf_adds(&f->body, piece);
}

static void fetch_on_done(void *arg, int r, const char *text)
{
    struct cor_fetch *f = arg;
    char why[COR_TARGET_TEXT_MAX] = "";

    f->call = NULL;
    if (r < 0)
        cor_target_use_explain(&f->use, r, text, why);
    cor_target_use_end(&f->use, f->status ? 0 : r, why);
    fetch_finish(f, r, r == -COR_ETOOBIG ? "the answer is too large" : why);
}

static size_t fetch_headers(const struct cor_fetch *f, struct cor_http_header to[HEADERS_MAX])
{
    size_t n = 0;

    to[n++] = (struct cor_http_header){COR_STR("X-Remote-User"), COR_STR("system:kube-aggregator")};
    to[n++] = (struct cor_http_header){COR_STR("X-Remote-Group"), COR_STR("system:masters")};
    to[n++] = (struct cor_http_header){COR_STR("User-Agent"), COR_STR("kube-aggregator")};
    if (f->opts.accept.n > 0)
        to[n++] = (struct cor_http_header){COR_STR("Accept"), f->opts.accept};
    if (f->opts.if_none_match.n > 0)
        to[n++] = (struct cor_http_header){COR_STR("If-None-Match"), f->opts.if_none_match};
    return n;
}

static int fetch_ask(struct cor_fetch *f)
{
    static const struct cor_http_call_cbs cbs = {fetch_on_head, fetch_on_body, fetch_on_done};
    const struct cor_service_address *at = cor_target_use_address(&f->use);
    struct cor_http_header headers[HEADERS_MAX];
    const struct cor_http_call_opts opts = {.method = COR_STR("GET"),
                                            .target = f->opts.path,
                                            .headers = headers,
                                            .nheaders = fetch_headers(f, headers),
                                            .keeps_redirects = true,
                                            .cbs = &cbs,
                                            .arg = f};
    int r = cor_buf_addf(&f->url, strchr(at->host, ':') ? "https://[%s]:%u" : "https://%s:%u",
                         at->host, at->port);

    if (r == 0)
        r = cor_buf_adds(&f->url, f->opts.path);
    return r == 0 ? cor_http_call_open(cor_target_use_client(&f->use), &opts, &f->call) : r;
}

static void fetch_on_ready(struct cor_target_use *use, int r, const char *text)
{
    struct cor_fetch *f = COR_CONTAINER_OF(use, struct cor_fetch, use);

    if (r == 0) {
        r = fetch_ask(f);
        text = cor_err_text(r);
        if (r < 0)
            cor_target_use_end(use, -COR_ECANCELED, NULL);
    }
    if (r < 0)
        fetch_finish(f, r, text);
}

static void fetch_on_timer(struct cor_timer *timer)
{
    struct cor_fetch *f = COR_CONTAINER_OF(timer, struct cor_fetch, timer);

    if (f->refused < 0) {
        fetch_finish(f, f->refused, f->text);
        return;
    }
    if (f->call)
        cor_http_call_cancel(COR_STEAL(f->call));
    cor_target_use_end(&f->use, f->status ? 0 : -COR_ETIMEOUT, "the service does not answer");
    fetch_finish(f, -COR_ETIMEOUT, "the deadline has passed");
}

static int fetch_begin(struct cor_fetch *f, struct cor_targets *ts)
{
    const char *text = "";
    int r = cor_target_use_begin(ts, &f->opts.spec, &f->use, &text);

    if (r == 0) {
        r = fetch_ask(f);
        text = cor_err_text(r);
        if (r < 0)
            cor_target_use_end(&f->use, -COR_ECANCELED, NULL);
    }
    if (r >= 0)
        return 0;
    f->refused = r;
    snprintf(f->text, sizeof(f->text), "%s", text);
    /* The timer is set already, so moving it needs no memory. */
    return cor_timer_set(&f->timer, 0);
}

static int fetch_keep_strings(struct cor_fetch *f)
{
    struct cor_str *const strings[] = {&f->opts.spec.service.ns, &f->opts.spec.service.name,
                                       &f->opts.spec.ca_pem,     &f->opts.path,
                                       &f->opts.accept,          &f->opts.if_none_match};

    return cor_str_gather(strings, COR_ARRAY_LEN(strings), &f->strings);
}

int cor_fetch_open(struct cor_targets *ts, const struct cor_fetch_opts *opts, cor_fetch_cb on_done,
                   void *arg, struct cor_fetch **ret_fetch)
{
    struct cor_fetch *f = cor_calloc(1, sizeof(*f));
    int r;

    assert(on_done && opts->timeout_ms > 0 && opts->body_max > 0);
    if (!f)
        return -COR_ENOMEM;
    f->opts = *opts;
    f->on_done = on_done;
    f->arg = arg;
    f->use.on_ready = fetch_on_ready;
    cor_buf_init(&f->values, VALUES_MAX);
    cor_buf_init(&f->url, URL_MAX);
    cor_buf_init(&f->body, opts->body_max);
    cor_timer_init(&f->timer, cor_targets_loop(ts), fetch_on_timer);
    r = fetch_keep_strings(f);
    if (r == 0)
        r = cor_timer_set(&f->timer, opts->timeout_ms);
    if (r < 0) {
        fetch_free(f);
        return r;
    }
    r = fetch_begin(f, ts);
    if (r < 0) {
        fetch_free(f);
        return r;
    }
    *ret_fetch = f;
    return 0;
}

void cor_fetch_cancel(struct cor_fetch *f)
{
    if (f->call)
        cor_http_call_cancel(COR_STEAL(f->call));
    cor_target_use_end(&f->use, -COR_ECANCELED, NULL);
    fetch_free(f);
}
