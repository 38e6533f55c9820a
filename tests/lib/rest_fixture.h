/* A REST client and, on the same loop, a server that plays a script: its n-th request gets the
 * script's n-th answer, and what it was asked is written down. */
#ifndef COR_TEST_REST_FIXTURE_H
#define COR_TEST_REST_FIXTURE_H

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "http/http_server.h"
#include "identities.h"
#include "kit/rest/rest_client.h"
#include "loop/loop.h"
#include "net/stream/net.h"
#include "net/stream/peer.h"
#include "net/stream/tls.h"
#include "test.h"

#define PATIENCE_MS 60000

enum move { SEND, HOLD, CUT };

struct answer {
    int status; /* 0: 200 */
    const char *body;
    size_t n;                   /* of the body; 0: up to its NUL */
    const char *header, *value; /* besides the Content-Type */
    const char *more_header, *more_value;
    const char *content_type; /* NULL: application/json; "": none */
    enum move move;
};

struct world {
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_http_server *server;
    uint16_t port;
    char url[64];
    struct cor_client_config config;
    struct cor_rest_client *rc;

    const struct answer *script; /* after its last answer: {0} */
    size_t nscript, nasked;
    struct cor_buf asked;           /* "GET /target\n" of each request */
    struct cor_buf headers;         /* "name: value\n" of all of them */
    struct cor_buf bodies;          /* one after the other */
    struct cor_http_response *held; /* the last that is held */
    size_t ngone;

    bool rest_closed, server_closed, net_closed;
};

static inline void on_held_gone(struct cor_http_response *resp, int why, void *arg)
{
    struct world *w = arg;

    w->held = NULL;
    w->ngone++;
}

static inline void on_held_drain(struct cor_http_response *resp, void *arg)
{
    ((struct world *)arg)->held = NULL;
    cor_http_response_end(resp);
}

static const struct cor_http_response_cbs held_cbs = {NULL, on_held_gone, on_held_drain};

static inline void play(struct world *w, const struct answer *a, struct cor_http_response *resp)
{
    const char *type = a->content_type ? a->content_type : "application/json";
    const struct cor_http_header all[3] = {{COR_STR("Content-Type"), cor_strz(type)},
                                           {cor_strz(a->header), cor_strz(a->value)},
                                           {cor_strz(a->more_header), cor_strz(a->more_value)}};
    const struct cor_http_header *headers = all + (type[0] == '\0');
    struct cor_str body = a->n > 0 ? cor_str(a->body, a->n) : cor_strz(a->body);
    int status = a->status ? a->status : 200;
    size_t n = (size_t)(all - headers) + (a->more_header ? 3 : a->header ? 2 : 1);

    if (a->move == CUT) {
        cor_http_response_abort(resp);
        return;
    }
    if (a->move == SEND) {
        cor_http_response_send(resp, status, headers, n, body);
        return;
    }
    cor_http_response_set_cbs(resp, &held_cbs, w);
    cor_http_response_set_deadline(resp, COR_HTTP_NO_DEADLINE);
    w->held = resp;
    if (a->body) {
        cor_http_response_start(resp, status, headers, n, COR_HTTP_LENGTH_UNKNOWN);
        cor_http_response_write(resp, body);
    }
}

static inline void on_request(const struct cor_http_request *req, struct cor_http_response *resp,
                              void *arg)
{
    static const struct answer nothing;
    struct world *w = arg;
    const struct answer *a = w->nasked < w->nscript ? &w->script[w->nasked] : &nothing;

    w->nasked++;
    cor_buf_addf(&w->asked, "%.*s %.*s\n", COR_STR_ARG(req->method_name), COR_STR_ARG(req->target));
    for (size_t i = 0; i < req->nheaders; i++)
        cor_buf_addf(&w->headers, "%.*s: %.*s\n", COR_STR_ARG(req->headers[i].name),
                     COR_STR_ARG(req->headers[i].value));
    if (req->peer && req->peer->cert && req->peer->cert->is_verified)
        cor_buf_addf(&w->headers, "peer: %.*s\n", COR_STR_ARG(req->peer->cert->common_name));
    cor_buf_adds(&w->bodies, req->body);
    play(w, a, resp);
}

/* The server; the client's configuration may be changed before world_connect(). */
static inline void world_begin(struct world *w, struct cor_tls *tls)
{
    struct cor_http_server_opts server = {.nloops = 1, .on_request = on_request, .arg = w};

    *w = (struct world){0};
    cor_buf_init(&w->asked, 1u << 20);
    cor_buf_init(&w->headers, 1u << 20);
    cor_buf_init(&w->bodies, 1u << 20);
    assert_int_equal(cor_loop_new(64, &w->loop), 0);
    assert_int_equal(cor_net_open(w->loop, &w->net), 0);
    server.loops = &w->loop;
    assert_int_equal(cor_http_server_new(&server, &w->server), 0);
    assert_int_equal(cor_http_server_listen(w->server, "127.0.0.1", 0, tls, &w->port), 0);
    snprintf(w->url, sizeof(w->url), "%s://127.0.0.1:%u", tls ? "https" : "http", w->port);
    w->config.server = w->url;
}

/* A server that would rather speak HTTP/2. */
static inline void world_tls(struct identities *ids, struct cor_tls **ret)
{
    static const char *const alpn[] = {"h2", "http/1.1"};

    identities_init(ids);
    assert_int_equal(
        cor_tls_new(&(struct cor_tls_opts){.cert_pem = cor_buf_str(&ids->server.cert_pem),
                                           .key_pem = cor_buf_str(&ids->server.key_pem),
                                           .alpn = alpn,
                                           .nalpn = COR_ARRAY_LEN(alpn)},
                    ret),
        0);
}

static inline void world_connect(struct world *w, const struct cor_rest_client_opts *opts)
{
    struct cor_rest_client_opts o = opts ? *opts : (struct cor_rest_client_opts){0};
    struct cor_status why = {0};

    o.config = &w->config;
    assert_int_equal(cor_rest_client_open(w->net, &o, &w->rc, &why), 0);
}

/* The configuration is refused, and the message has `part`. */
static inline void world_refuse(struct world *w, const char *part)
{
    struct cor_status why = {0};

    assert_int_equal(cor_rest_client_open(w->net,
                                          &(struct cor_rest_client_opts){.config = &w->config},
                                          &w->rc, &why),
                     -COR_EINVAL);
    assert_non_null(strstr(cor_status_message(&why), part));
    assert_null(strstr(cor_status_message(&why), "SECRET"));
    cor_status_deinit(&why);
}

/* Without a rate limit and without retries, for tests of what stands above the client. */
static inline void world_connect_freely(struct world *w)
{
    world_connect(w, &(struct cor_rest_client_opts){.qps = -1, .retries_max = -1});
}

static inline void world_script(struct world *w, const struct answer *script, size_t n)
{
    w->script = script;
    w->nscript = n;
    w->nasked = 0;
}

#define WORLD_SCRIPT(w, script) world_script((w), (script), COR_ARRAY_LEN(script))

static inline void set_flag(void *arg)
{
    *(bool *)arg = true;
}

static inline bool is_flag(void *arg)
{
    return *(bool *)arg;
}

static inline void world_until(struct world *w, bool (*done)(void *arg), void *arg)
{
    assert_true(cor_loop_run_until(w->loop, done, arg, PATIENCE_MS));
}

static inline void world_end(struct world *w)
{
    if (w->rc) {
        cor_rest_client_close(w->rc, set_flag, &w->rest_closed);
        world_until(w, is_flag, &w->rest_closed);
    }
    cor_http_server_close(w->server, 1000, set_flag, &w->server_closed);
    world_until(w, is_flag, &w->server_closed);
    cor_http_server_free(w->server);
    cor_net_close(w->net, set_flag, &w->net_closed);
    world_until(w, is_flag, &w->net_closed);
    cor_loop_free(w->loop);
    cor_buf_deinit(&w->asked);
    cor_buf_deinit(&w->headers);
    cor_buf_deinit(&w->bodies);
}

/* What a request has been told. */
struct heard {
    int head;           /* its code; 0: none came */
    struct cor_buf got; /* the pieces, or the whole */
    bool is_done;
    int code, err;
    struct cor_status error; /* a copy */
};

static inline int hear_head(void *arg, const struct cor_rest_head *head)
{
    ((struct heard *)arg)->head = head->code;
    return 0;
}

static inline int hear_body(void *arg, struct cor_str piece)
{
    return cor_buf_adds(&((struct heard *)arg)->got, piece);
}

static inline void hear_done(void *arg, const struct cor_rest_result *result)
{
    struct heard *h = arg;

    assert_false(h->is_done);
    h->is_done = true;
    h->code = result->code;
    /* The failure that a test has armed may fall into this allocation of its own. It comes once. */
    if (cor_buf_adds(&h->got, result->body) < 0)
        assert_int_equal(cor_buf_adds(&h->got, result->body), 0);
    if (result->error) {
        h->err = result->error->err;
        assert_true(h->err < 0);
        cor_status_copy(&h->error, result->error);
    }
}

static const struct cor_rest_cbs heard_cbs = {hear_head, hear_body, hear_done};

static inline void heard_init(struct heard *h)
{
    *h = (struct heard){0};
    cor_buf_init(&h->got, 1u << 20);
}

static inline void heard_deinit(struct heard *h)
{
    cor_buf_deinit(&h->got);
    cor_status_deinit(&h->error);
}

/* Opens a request and waits for its end. `h` is initialised by it. */
static inline void ask_with(struct world *w, struct cor_rest_request_opts opts, struct heard *h)
{
    struct cor_rest_request *req;

    heard_init(h);
    opts.cbs = &heard_cbs;
    opts.arg = h;
    assert_int_equal(cor_rest_request_open(w->rc, &opts, &req), 0);
    assert_false(h->is_done);
    world_until(w, is_flag, &h->is_done);
}

static inline void ask(struct world *w, const char *target, struct heard *h)
{
    ask_with(w, (struct cor_rest_request_opts){.target = cor_strz(target)}, h);
}

/* From now on the n-th allocation fails. A connection is open before, so that as many come before
 * it as in the run before: a run that happens to connect would end FOR_EACH_FAILED_ALLOC early. */
static inline void world_arm(struct world *w, size_t n)
{
    struct heard h;

    test_fail_alloc(0, false);
    world_script(w, NULL, 0);
    ask(w, "/before", &h);
    assert_int_equal(h.err, 0);
    heard_deinit(&h);
    test_fail_alloc(n, false);
}

#endif
