/* clang-format off */
/* An aggregated API server that a test plays: it serves TLS as api.wardle.svc, asks for the front
 * proxy's certificate, and writes down each request as it came. Its answers are chosen by the path,
 * after /apis/wardle.example.com/v1alpha1:
 *
 *   /big      1 MB                        /hang      nothing, until the test ends or releases it
 *   /stream   pieces that the test sends  /redirect  302 to /elsewhere
 *   /etag     304 for the right tag       /teapot    418 with a text
 *   /count    the length of the body      /huge      64 MB, as fast as they are taken
 *   /break    the connection or stream breaks
 *   /wide     a head of WIDE_HEADERS
 *   others    200 {"kind":"Echo"}
 *
 * Owner: the test.  Thread: the test's loop. */
/* clang-format on */
#ifndef COR_TEST_RECORDING_TARGET_H
#define COR_TEST_RECORDING_TARGET_H

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/http_server.h"
#include "loop/loop.h"
#include "net/crypto/cert.h"
#include "net/stream/peer.h"
#include "net/stream/tls.h"
#include "test.h"

#define RECORDING_HUGE (64u << 20)
#define WIDE_HEADERS   240 /* of 268 bytes each: nearly as much as a head may have */
#define WARDLE         "/apis/wardle.example.com/v1alpha1"

/* The certificates of a service and of the front proxy. */
struct target_ids {
    struct cor_cert_pair ca, server, proxy_ca, proxy;
    char dir[64], cert_file[96], key_file[96];
};

static inline void target_ids_make(struct cor_cert_pair *pair, enum cor_cert_use use,
                                   const char *cn, const char *dns, int64_t valid_s,
                                   const struct cor_cert_pair *ca)
{
    const struct cor_cert_opts opts = {.use = use,
                                       .common_name = cor_strz(cn),
                                       .dns_names = &dns,
                                       .ndns_names = dns ? 1 : 0,
                                       .now_s = cor_clock_wall_ms(cor_clock_real()) / 1000,
                                       .valid_s = valid_s};

    cor_cert_pair_init(pair);
    assert_int_equal(cor_cert_make(&opts, ca, pair), 0);
}

static inline void target_ids_save(struct target_ids *ids)
{
    assert_int_equal(cor_pem_save(ids->cert_file, cor_buf_str(&ids->proxy.cert_pem), 0600), 0);
    assert_int_equal(cor_pem_save(ids->key_file, cor_buf_str(&ids->proxy.key_pem), 0600), 0);
}

static inline void target_ids_init(struct target_ids *ids)
{
    target_ids_make(&ids->ca, COR_CERT_CA, "wardle-ca", NULL, 3600, NULL);
    target_ids_make(&ids->server, COR_CERT_SERVER, "wardle", "api.wardle.svc", 3600, &ids->ca);
    target_ids_make(&ids->proxy_ca, COR_CERT_CA, "front-proxy-ca", NULL, 3600, NULL);
    target_ids_make(&ids->proxy, COR_CERT_CLIENT, "front-proxy-client", NULL, 3600, &ids->proxy_ca);
    snprintf(ids->dir, sizeof(ids->dir), "/tmp/cor-target-XXXXXX");
    assert_non_null(mkdtemp(ids->dir));
    snprintf(ids->cert_file, sizeof(ids->cert_file), "%s/proxy.crt", ids->dir);
    snprintf(ids->key_file, sizeof(ids->key_file), "%s/proxy.key", ids->dir);
    target_ids_save(ids);
}

static inline void target_ids_deinit(struct target_ids *ids)
{
    (void)unlink(ids->cert_file);
    (void)unlink(ids->key_file);
    (void)rmdir(ids->dir);
    cor_cert_pair_deinit(&ids->ca);
    cor_cert_pair_deinit(&ids->server);
    cor_cert_pair_deinit(&ids->proxy_ca);
    cor_cert_pair_deinit(&ids->proxy);
}

struct recording {
    struct cor_loop *loop;
    struct cor_http_server *server;
    struct cor_tls *tls;
    uint16_t port;
    struct cor_buf seen; /* "GET /path?query\nname: value\n…\n=body\n" per request */
    char client_cn[64];  /* of the certificate that the last request's connection showed */
    struct cor_http_response *held; /* /hang and /stream: the last */
    size_t nrequests, ngone;
    struct cor_http_response *huge; /* the last /huge */
    size_t huge_left;               /* of it */
    bool is_closed;
};

static void recording_note(struct recording *rec, const struct cor_http_request *req)
{
    cor_buf_addf(&rec->seen, "%.*s %.*s\n", COR_STR_ARG(req->method_name),
                 COR_STR_ARG(req->target));
    for (size_t i = 0; i < req->nheaders; i++) {
        for (size_t k = 0; k < req->headers[i].name.n; k++)
            cor_buf_addc(&rec->seen, (char)tolower((unsigned char)req->headers[i].name.p[k]));
        cor_buf_addf(&rec->seen, ": %.*s\n", COR_STR_ARG(req->headers[i].value));
    }
    if (req->body.n < 1000)
        cor_buf_addf(&rec->seen, "=%.*s\n", COR_STR_ARG(req->body));
    rec->client_cn[0] = '\0';
    if (req->peer->cert && req->peer->cert->is_verified)
        snprintf(rec->client_cn, sizeof(rec->client_cn), "%.*s",
                 COR_STR_ARG(req->peer->cert->common_name));
}

static void recording_on_gone(struct cor_http_response *resp, int why, void *arg)
{
    struct recording *rec = arg;

    rec->ngone++;
    if (rec->held == resp)
        rec->held = NULL;
}

static void recording_on_writable(struct cor_http_response *resp, void *arg)
{
    static const char zeros[16384];
    struct recording *rec = arg;

    if (resp != rec->huge)
        return;
    while (rec->huge_left > 0) {
        size_t n = rec->huge_left < sizeof(zeros) ? rec->huge_left : sizeof(zeros);
        size_t taken = cor_http_response_write(resp, cor_str(zeros, n));

        rec->huge_left -= taken;
        if (taken < n)
            return;
    }
    cor_http_response_end(resp);
}

static const struct cor_http_response_cbs recording_cbs = {.on_writable = recording_on_writable,
                                                           .on_gone = recording_on_gone};

static void recording_send(struct cor_http_response *resp, int status, const char *name,
                           const char *value, const char *body)
{
    const struct cor_http_header headers[] = {
        {COR_STR("Content-Type"), COR_STR("application/json")}, {cor_strz(name), cor_strz(value)}};

    cor_http_response_send(resp, status, headers, name[0] ? 2 : 1, cor_strz(body));
}

static void recording_on_request(const struct cor_http_request *req, struct cor_http_response *resp,
                                 void *arg)
{
    static char big[1 << 20];
    struct recording *rec = arg;
    struct cor_str path = req->path;

    rec->nrequests++;
    recording_note(rec, req);
    cor_http_response_set_cbs(resp, &recording_cbs, rec);
    if (cor_str_ends(path, COR_STR("/hang"))) {
        rec->held = resp;
    } else if (cor_str_ends(path, COR_STR("/wide"))) {
        struct cor_http_header wide[WIDE_HEADERS];

        memset(big, 'w', 262);
        for (size_t i = 0; i < WIDE_HEADERS; i++)
            wide[i] = (struct cor_http_header){COR_STR("X-Wide"), cor_str(big, 262)};
        cor_http_response_send(resp, 200, wide, WIDE_HEADERS, COR_STR("wide"));
    } else if (cor_str_ends(path, COR_STR("/break"))) {
        cor_http_response_abort(resp);
    } else if (cor_str_ends(path, COR_STR("/stream"))) {
        rec->held = resp;
        cor_http_response_set_deadline(resp, COR_HTTP_NO_DEADLINE);
        cor_http_response_start(resp, 200, NULL, 0, COR_HTTP_LENGTH_UNKNOWN);
    } else if (cor_str_ends(path, COR_STR("/big"))) {
        memset(big, 'b', sizeof(big));
        cor_http_response_send(resp, 200, NULL, 0, cor_str(big, sizeof(big)));
    } else if (cor_str_ends(path, COR_STR("/huge"))) {
        rec->huge = resp;
        rec->huge_left = RECORDING_HUGE;
        cor_http_response_start(resp, 200, NULL, 0, RECORDING_HUGE);
        recording_on_writable(resp, rec);
    } else if (cor_str_ends(path, COR_STR("/count"))) {
        char text[32];

        snprintf(text, sizeof(text), "%zu", req->body.n);
        recording_send(resp, 200, "", "", text);
    } else if (cor_str_ends(path, COR_STR("/redirect"))) {
        recording_send(resp, 302, "Location", "/elsewhere", "moved");
    } else if (cor_str_ends(path, COR_STR("/teapot"))) {
        recording_send(resp, 418, "", "", "short and stout");
    } else if (cor_str_ends(path, COR_STR("/etag"))) {
        bool is_same =
            cor_str_eqz(cor_http_request_header(req, COR_STR("if-none-match")), "\"tag\"");

        recording_send(resp, is_same ? 304 : 200, "ETag", "\"tag\"", is_same ? "" : "tagged");
    } else {
        recording_send(resp, 200, "", "", "{\"kind\":\"Echo\"}");
    }
}

/* `alpn_h2`: it speaks both protocols; else HTTP/1.1 only. */
static inline void recording_open(struct recording *rec, struct cor_loop *loop,
                                  const struct target_ids *ids, bool alpn_h2)
{
    static const char *const both[] = {"h2", "http/1.1"};
    const struct cor_tls_opts tls_opts = {.role = COR_TLS_SERVER,
                                          .cert_pem = cor_buf_str(&ids->server.cert_pem),
                                          .key_pem = cor_buf_str(&ids->server.key_pem),
                                          .ca_pem = cor_buf_str(&ids->proxy_ca.cert_pem),
                                          .alpn = alpn_h2 ? both : both + 1,
                                          .nalpn = alpn_h2 ? 2 : 1};
    const struct cor_http_server_opts opts = {
        .loops = &rec->loop, .nloops = 1, .on_request = recording_on_request, .arg = rec};

    *rec = (struct recording){.loop = loop, .port = rec->port};
    cor_buf_init(&rec->seen, 1 << 20);
    assert_int_equal(cor_tls_new(&tls_opts, &rec->tls), 0);
    assert_int_equal(cor_http_server_new(&opts, &rec->server), 0);
    assert_int_equal(
        cor_http_server_listen(rec->server, "127.0.0.1", rec->port, rec->tls, &rec->port), 0);
}

static void recording_on_closed(void *arg)
{
    ((struct recording *)arg)->is_closed = true;
}

static bool recording_is_closed(void *arg)
{
    return ((struct recording *)arg)->is_closed;
}

/* The port stays, for another one that is opened there. */
static inline void recording_close(struct recording *rec)
{
    cor_http_server_close(rec->server, 0, recording_on_closed, rec);
    assert_true(cor_loop_run_until(rec->loop, recording_is_closed, rec, 60000));
    rec->server = cor_http_server_free(rec->server);
    cor_tls_unref(rec->tls);
    cor_buf_deinit(&rec->seen);
}

static inline bool recording_saw(const struct recording *rec, const char *line)
{
    return memmem(rec->seen.p ? rec->seen.p : "", rec->seen.n, line, strlen(line)) != NULL;
}

#endif
