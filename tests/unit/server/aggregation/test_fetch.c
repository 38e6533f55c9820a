/* Fetches from an aggregated service, and with them what a target does: trust, circuit, rotation.
 */
#include <stdio.h>

#include "../port/port_fixture.h"
#include "http/http_client.h"
#include "recording_target.h"
#include "server/aggregation/fetch.h"

struct fetching {
    struct pfx p;
    struct target_ids ids;
    struct recording rec;
    struct cor_target_config config;
    struct cor_targets *targets;
    bool are_closed;
};

struct asked {
    bool is_done;
    int r, status;
    char text[300], body[64], etag[32], type[64], url[128];
    size_t body_n;
};

static void on_fetched(void *arg, int r, const char *text, const struct cor_fetch_answer *a)
{
    struct asked *q = arg;

    assert_false(q->is_done);
    q->is_done = true;
    q->r = r;
    q->status = a->status;
    q->body_n = a->body.n;
    snprintf(q->text, sizeof(q->text), "%s", text);
    snprintf(q->body, sizeof(q->body), "%.*s", COR_STR_ARG(a->body));
    snprintf(q->etag, sizeof(q->etag), "%.*s", COR_STR_ARG(a->etag));
    snprintf(q->type, sizeof(q->type), "%.*s", COR_STR_ARG(a->content_type));
    snprintf(q->url, sizeof(q->url), "%.*s", COR_STR_ARG(a->url));
}

static bool is_fetched(void *arg)
{
    return ((struct asked *)arg)->is_done;
}

static void fetching_override(struct fetching *f)
{
    char text[64];

    snprintf(text, sizeof(text), "api.wardle=127.0.0.1:%u", f->rec.port);
    cor_resolve_overrides_deinit(&f->config.overrides);
    assert_int_equal(cor_resolve_overrides_add(&f->config.overrides, cor_strz(text), NULL), 0);
}

static void fetching_open(struct fetching *f, bool h2)
{
    memset(f, 0, sizeof(*f));
    pfx_open(&f->p, false);
    target_ids_init(&f->ids);
    recording_open(&f->rec, f->p.a.fx.loop, &f->ids, h2);
    fetching_override(f);
    f->config.cert_file = f->ids.cert_file;
    f->config.key_file = f->ids.key_file;
    assert_int_equal(cor_targets_open(f->p.a.fx.loop, &f->p.ip.port, &f->config, &f->targets), 0);
}

static void on_targets_closed(void *arg)
{
    *(bool *)arg = true;
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

static void fetching_close(struct fetching *f)
{
    cor_targets_close(f->targets, on_targets_closed, &f->are_closed);
    pfx_wait(&f->p, is_true, &f->are_closed);
    recording_close(&f->rec);
    cor_resolve_overrides_deinit(&f->config.overrides);
    target_ids_deinit(&f->ids);
    pfx_close(&f->p);
}

static struct cor_fetch_opts fetch_opts(const struct fetching *f, const char *path)
{
    return (struct cor_fetch_opts){.spec = {.service = {COR_STR("wardle"), COR_STR("api"), 443},
                                            .ca_pem = cor_buf_str(&f->ids.ca.cert_pem)},
                                   .path = cor_strz(path),
                                   .body_max = 2 << 20,
                                   .timeout_ms = 30000};
}

static struct asked fetch_with(struct fetching *f, const struct cor_fetch_opts *opts)
{
    struct asked q = {0};
    struct cor_fetch *fetch;
    int r = cor_fetch_open(f->targets, opts, on_fetched, &q, &fetch);

    if (r < 0) {
        assert_int_equal(r, -COR_ENOMEM);
        q.r = r;
        return q;
    }
    assert_false(q.is_done);
    pfx_wait(&f->p, is_fetched, &q);
    return q;
}

static struct asked fetch(struct fetching *f, const char *path)
{
    struct cor_fetch_opts opts = fetch_opts(f, path);

    return fetch_with(f, &opts);
}

/* Contract extension 4.3.3: the user, the groups and the certificate of the server's own requests.
 */
static void asks_as_the_aggregator(bool h2)
{
    struct fetching f;
    struct asked q;
    char url[128];

    fetching_open(&f, h2);
    q = fetch(&f, WARDLE "?x=1");
    assert_int_equal(q.r, 0);
    assert_int_equal(q.status, 200);
    assert_string_equal(q.body, "{\"kind\":\"Echo\"}");
    assert_string_equal(q.type, "application/json");
    snprintf(url, sizeof(url), "https://127.0.0.1:%u" WARDLE "?x=1", f.rec.port);
    assert_string_equal(q.url, url);
    assert_true(recording_saw(&f.rec, "GET " WARDLE "?x=1\n"));
    assert_true(recording_saw(&f.rec, "x-remote-user: system:kube-aggregator\n"));
    assert_true(recording_saw(&f.rec, "x-remote-group: system:masters\n"));
    assert_string_equal(f.rec.client_cn, "front-proxy-client");
    fetching_close(&f);
}

TEST(fetch, asks_as_the_aggregator_with_the_proxys_certificate)
{
    asks_as_the_aggregator(true);
    asks_as_the_aggregator(false);
}

TEST(fetch, tells_the_tag_and_takes_a_304)
{
    struct fetching f;
    struct cor_fetch_opts opts;
    struct asked q;

    fetching_open(&f, true);
    opts = fetch_opts(&f, WARDLE "/etag");
    opts.accept = COR_STR("application/json;as=Thing");
    q = fetch_with(&f, &opts);
    assert_int_equal(q.status, 200);
    assert_string_equal(q.etag, "\"tag\"");
    assert_true(recording_saw(&f.rec, "accept: application/json;as=Thing\n"));
    opts.if_none_match = COR_STR("\"tag\"");
    q = fetch_with(&f, &opts);
    assert_int_equal(q.r, 0);
    assert_int_equal(q.status, 304);
    assert_int_equal(q.body_n, 0);
    fetching_close(&f);
}

TEST(fetch, an_answer_beyond_the_maximum_is_refused)
{
    struct fetching f;
    struct cor_fetch_opts opts;
    struct asked q;

    fetching_open(&f, true);
    opts = fetch_opts(&f, WARDLE "/big");
    q = fetch_with(&f, &opts);
    assert_int_equal(q.r, 0);
    assert_int_equal(q.body_n, 1 << 20);
    opts.body_max = 1000;
    q = fetch_with(&f, &opts);
    assert_int_equal(q.r, -COR_ETOOBIG);
    fetching_close(&f);
}

TEST(fetch, ends_at_its_deadline_when_the_service_hangs)
{
    struct fetching f;
    struct cor_fetch_opts opts;
    struct asked q;

    fetching_open(&f, true);
    opts = fetch_opts(&f, WARDLE "/hang");
    opts.timeout_ms = 50;
    q = fetch_with(&f, &opts);
    assert_int_equal(q.r, -COR_ETIMEOUT);
    assert_int_equal(q.status, 0);
    fetching_close(&f);
}

TEST(fetch, can_be_cancelled_at_any_time)
{
    struct fetching f;
    struct cor_fetch_opts opts;
    struct asked q = {0};
    struct cor_fetch *fetch_now;

    fetching_open(&f, true);
    opts = fetch_opts(&f, WARDLE "/hang");
    assert_int_equal(cor_fetch_open(f.targets, &opts, on_fetched, &q, &fetch_now), 0);
    cor_fetch_cancel(fetch_now);
    assert_int_equal(cor_fetch_open(f.targets, &opts, on_fetched, &q, &fetch_now), 0);
    while (f.rec.nrequests == 0)
        (void)cor_loop_run_until(f.p.a.fx.loop, is_fetched, &q, 1);
    cor_fetch_cancel(fetch_now);
    assert_false(q.is_done);
    fetching_close(&f);
}

/* Contract extension 4.4.5. */
TEST(fetch, trusts_the_bundle_and_the_services_name_only)
{
    struct fetching f;
    struct cor_fetch_opts opts;
    struct asked q;

    fetching_open(&f, true);
    opts = fetch_opts(&f, WARDLE);
    opts.spec.ca_pem = cor_buf_str(&f.ids.proxy_ca.cert_pem);
    q = fetch_with(&f, &opts);
    assert_int_equal(q.r, -COR_ETLS);
    opts.spec.is_insecure = true;
    opts.spec.ca_pem = COR_STR("");
    q = fetch_with(&f, &opts);
    assert_int_equal(q.r, 0);
    opts.spec.is_insecure = false;
    q = fetch_with(&f, &opts);
    assert_int_equal(q.r, -COR_ETLS);
    fetching_close(&f);
}

static void recording_serve_as(struct fetching *f, const char *dns, int64_t valid_s)
{
    recording_close(&f->rec);
    cor_cert_pair_deinit(&f->ids.server);
    target_ids_make(&f->ids.server, COR_CERT_SERVER, "wardle", dns, valid_s, &f->ids.ca);
    recording_open(&f->rec, f->p.a.fx.loop, &f->ids, true);
}

TEST(fetch, a_certificate_of_another_name_or_time_is_not_trusted)
{
    struct fetching f;

    fetching_open(&f, true);
    recording_serve_as(&f, "api.other.svc", 3600);
    assert_int_equal(fetch(&f, WARDLE).r, -COR_ETLS);
    recording_serve_as(&f, "api.wardle.svc", -1800);
    assert_int_equal(fetch(&f, WARDLE).r, -COR_ETLS);
    recording_serve_as(&f, "api.wardle.svc", 3600);
    assert_int_equal(fetch(&f, WARDLE).r, 0);
    fetching_close(&f);
}

TEST(fetch, a_bundle_that_is_no_pem_is_told_in_upstreams_words)
{
    struct fetching f;
    struct cor_fetch_opts opts;
    struct asked q;

    fetching_open(&f, true);
    opts = fetch_opts(&f, WARDLE);
    opts.spec.ca_pem = COR_STR("nonsense");
    q = fetch_with(&f, &opts);
    assert_int_equal(q.r, -COR_EINVAL);
    assert_string_equal(q.text,
                        "unable to load root certificates: unable to parse bytes as PEM block");
    fetching_close(&f);
}

TEST(fetch, a_service_that_cannot_be_found_is_not_asked)
{
    struct fetching f;
    struct cor_fetch_opts opts;
    struct asked q;

    fetching_open(&f, true);
    opts = fetch_opts(&f, WARDLE);
    opts.spec.service.name = COR_STR("nobody");
    q = fetch_with(&f, &opts);
    assert_int_equal(q.r, -COR_ENOTFOUND);
    assert_string_equal(q.url, "");
    fetching_close(&f);
}

/* The certificate of the front proxy is replaced on the disk: the next connections show the new
 * one, and a request that is under way goes on. */
TEST(fetch, a_new_certificate_of_the_proxy_is_taken_without_breaking_requests)
{
    struct fetching f;
    struct cor_fetch_opts opts;
    struct asked held = {0};
    struct cor_fetch *fetch_now;

    fetching_open(&f, true);
    opts = fetch_opts(&f, WARDLE "/hang");
    assert_int_equal(cor_fetch_open(f.targets, &opts, on_fetched, &held, &fetch_now), 0);
    while (f.rec.nrequests == 0)
        (void)cor_loop_run_until(f.p.a.fx.loop, is_fetched, &held, 1);
    assert_string_equal(f.rec.client_cn, "front-proxy-client");
    cor_cert_pair_deinit(&f.ids.proxy);
    target_ids_make(&f.ids.proxy, COR_CERT_CLIENT, "second-client", NULL, 3600, &f.ids.proxy_ca);
    target_ids_save(&f.ids);
    for (int i = 0; i < 1000 && strcmp(f.rec.client_cn, "second-client") != 0; i++) {
        assert_int_equal(fetch(&f, WARDLE).r, 0);
        (void)cor_loop_run_until(f.p.a.fx.loop, is_fetched, &held, 10);
    }
    assert_string_equal(f.rec.client_cn, "second-client");
    assert_false(held.is_done);
    cor_http_response_send(f.rec.held, 200, NULL, 0, COR_STR("late"));
    pfx_wait(&f.p, is_fetched, &held);
    assert_int_equal(held.r, 0);
    assert_string_equal(held.body, "late");
    fetching_close(&f);
}

/* After five failures in a row requests fail at once, and after a while one of them is let through.
 */
TEST(fetch, the_circuit_of_a_dead_service_opens_and_closes_again)
{
    struct fetching f;
    struct asked q;
    int i;

    fetching_open(&f, true);
    recording_close(&f.rec);
    for (i = 0; i < COR_TARGET_FAILURES; i++) {
        q = fetch(&f, WARDLE);
        assert_int_equal(q.r, -COR_EUNREACHABLE);
        assert_true(q.url[0]);
    }
    q = fetch(&f, WARDLE);
    assert_int_equal(q.r, -COR_EUNREACHABLE);
    assert_string_equal(q.url, "");
    assert_true(q.text[0]);
    recording_open(&f.rec, f.p.a.fx.loop, &f.ids, true);
    for (i = 0; i < 1000 && q.r < 0; i++) {
        q = fetch(&f, WARDLE);
        (void)cor_loop_run_until(f.p.a.fx.loop, is_true, &f.are_closed, 10);
    }
    assert_int_equal(q.r, 0);
    assert_int_equal(f.rec.nrequests, 1);
    assert_int_equal(fetch(&f, WARDLE).r, 0);
    fetching_close(&f);
}

#define MANY_CALLS (COR_HTTP_CLIENT_CALLS_MAX + 24)

static void ignore_ready(struct cor_target_use *use, int r, const char *text)
{
}

static int ignore_head(void *arg, int status, const struct cor_http_header *headers, size_t n)
{
    return 0;
}

static int ignore_body(void *arg, struct cor_str piece)
{
    return 0;
}

static void ignore_done(void *arg, int r, const char *text)
{
}

/* Watches of many clients are calls of one client. */
TEST(fetch, a_target_takes_more_calls_than_other_clients)
{
    static const struct cor_http_call_cbs cbs = {ignore_head, ignore_body, ignore_done};
    static struct cor_http_call *calls[MANY_CALLS];
    const struct cor_http_call_opts call = {
        .method = COR_STR("GET"), .target = COR_STR(WARDLE "/hang"), .cbs = &cbs};
    struct cor_target_use use = {.on_ready = ignore_ready};
    struct fetching f;
    struct cor_fetch_opts opts;
    const char *text;

    fetching_open(&f, true);
    opts = fetch_opts(&f, WARDLE);
    assert_int_equal(cor_target_use_begin(f.targets, &opts.spec, &use, &text), 0);
    for (size_t i = 0; i < MANY_CALLS; i++)
        assert_int_equal(cor_http_call_open(cor_target_use_client(&use), &call, &calls[i]), 0);
    for (size_t i = 0; i < MANY_CALLS; i++)
        cor_http_call_cancel(calls[i]);
    cor_target_use_end(&use, -COR_ECANCELED, NULL);
    fetching_close(&f);
}

TEST(fetch, ends_once_without_memory)
{
    struct fetching f;

    fetching_open(&f, true);
    FOR_EACH_FAILED_ALLOC(n) {
        struct asked q;

        test_fail_alloc(n, false);
        q = fetch(&f, WARDLE);
        assert_true(q.r < 0 || q.status == 200 || q.status == 500);
    }
    fetching_close(&f);
}
