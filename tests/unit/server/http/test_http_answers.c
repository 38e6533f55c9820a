/* What a client gets over HTTP: compressed answers, and what happens when the server runs out of
 * memory in the middle of an answer. The server's loop is the test's thread, where allocations
 * fail; the client has a thread of its own.
 */
#include "served.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "codec/gzip.h"
#include "http/http_client.h"
#include "net/stream/net.h"
#include "server/metrics/metrics.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
/* Three of them are more than a response holds, so that the head is sent before the list ends. */
#define BYTES_OF_ONE 100000

/* Creates `n` ConfigMaps of a little more than BYTES_OF_ONE. */
static void create_large(struct served *s, int n)
{
    static char body[BYTES_OF_ONE + 128];

    for (int i = 0; i < n; i++) {
        snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"n%d\"},\"data\":{\"a\":\"%0*d\"}}",
                 i, BYTES_OF_ONE, 0);
        fx_do(&s->fx, 201, "POST", CONFIGMAPS, body);
    }
}

/* One GET, or a POST of `sent`, on a connection of its own, and its answer. */
struct get {
    struct cor_mail mail; /* to the server's loop, when it is done */
    struct cor_loop *server;
    const char *path;
    bool is_h2;
    const char *target, *accept;
    struct cor_str sent; /* without bytes: a GET */
    bool takes_gzip;
    int status, r; /* r: 0 when the answer is complete */
    bool is_gzip, is_varied;
    size_t nwarnings; /* headers of the answer */
    struct cor_buf body;
    bool is_over; /* what the client's loop waits for */
    bool is_done; /* what the server's loop waits for */
};

static int on_head(void *arg, int status, const struct cor_http_header *headers, size_t nheaders)
{
    struct get *get = arg;

    get->status = status;
    for (size_t i = 0; i < nheaders; i++) {
        if (cor_header_name_eq(headers[i].name, COR_STR("content-encoding"))) {
            assert_str(headers[i].value, "gzip");
            get->is_gzip = true;
        }
        get->is_varied |= cor_header_name_eq(headers[i].name, COR_STR("vary"));
        get->nwarnings += cor_header_name_eq(headers[i].name, COR_STR("warning"));
    }
    return 0;
}

static int on_body(void *arg, struct cor_str piece)
{
    return cor_buf_adds(&((struct get *)arg)->body, piece);
}

static void on_done(void *arg, int r, const char *text)
{
    struct get *get = arg;

    get->r = r;
    get->is_over = true;
}

static const struct cor_http_call_cbs get_cbs = {on_head, on_body, on_done};

static void on_get_done(struct cor_mail *mail)
{
    ((struct get *)mail)->is_done = true;
}

static void *run_get(void *arg)
{
    struct get *get = arg;
    const struct cor_http_client_opts opts = {.unix_path = get->path, .knows_h2 = get->is_h2};
    const struct cor_http_header headers[] = {{COR_STR("Accept"), cor_strz(get->accept)},
                                              {COR_STR("Accept-Encoding"), COR_STR("gzip")}};
    const struct cor_http_call_opts call_opts = {.method = get->sent.n > 0 ? COR_STR("POST")
                                                                           : COR_STR("GET"),
                                                 .target = cor_strz(get->target),
                                                 .body = get->sent,
                                                 .headers = headers,
                                                 .nheaders = get->takes_gzip ? 2 : 1,
                                                 .cbs = &get_cbs,
                                                 .arg = get};
    struct cor_http_client *client;
    struct cor_http_call *call;
    struct cor_loop *loop;
    struct cor_net *net;
    bool is_done = cor_loop_new(64, &loop) == 0 && cor_net_open(loop, &net) == 0 &&
                   cor_http_client_open(net, &opts, &client) == 0 &&
                   cor_http_call_open(client, &call_opts, &call) == 0 &&
                   cor_loop_run_until(loop, served_is_true, &get->is_over, FX_TIMEOUT_MS);

    if (!is_done)
        abort();
    get->is_over = false;
    cor_http_client_close(client, served_set_true, &get->is_over);
    is_done = cor_loop_run_until(loop, served_is_true, &get->is_over, FX_TIMEOUT_MS);
    get->is_over = false;
    cor_net_close(net, served_set_true, &get->is_over);
    is_done = is_done && cor_loop_run_until(loop, served_is_true, &get->is_over, FX_TIMEOUT_MS);
    if (!is_done)
        abort();
    cor_loop_free(loop);
    cor_loop_post_always(get->server, &get->mail);
    return NULL;
}

static int add_expanded(void *arg, struct cor_str piece)
{
    return cor_buf_adds(arg, piece);
}

/* Puts the expanded body in the place of a compressed one. */
static void expand(struct get *get)
{
    struct cor_gzip_reader *reader;
    struct cor_buf text;

    cor_buf_init(&text, 1u << 20);
    test_fail_alloc(0, false);
    assert_int_equal(cor_gzip_reader_new(text.max, &reader), 0);
    assert_int_equal(cor_gzip_read(reader, cor_buf_str(&get->body), add_expanded, &text), 0);
    assert_true(cor_gzip_reader_is_whole(reader));
    cor_gzip_reader_free(reader);
    cor_buf_deinit(&get->body);
    get->body = text;
}

/* Runs the request whose options `get` has. */
static void run(struct served *s, struct get *get)
{
    pthread_t thread;

    get->mail.on_mail = on_get_done;
    get->server = s->fx.loop;
    get->path = s->path;
    cor_buf_init(&get->body, 1u << 20);
    assert_int_equal(pthread_create(&thread, NULL, run_get, get), 0);
    assert_true(cor_loop_run_until(s->fx.loop, served_is_true, &get->is_done, FX_TIMEOUT_MS));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(get->takes_gzip || !get->is_gzip);
}

static void get_encoded(struct served *s, struct get *get, bool is_h2, bool takes_gzip,
                        const char *target, const char *accept)
{
    *get =
        (struct get){.is_h2 = is_h2, .target = target, .accept = accept, .takes_gzip = takes_gzip};
    run(s, get);
}

static void get(struct served *s, struct get *get, bool is_h2, const char *target,
                const char *accept)
{
    get_encoded(s, get, is_h2, false, target, accept);
}

/* Returns how many answers were cut after their head. */
static size_t fail_each_alloc(struct served *s, bool is_h2, const char *target, const char *accept)
{
    struct get whole;
    size_t ncut = 0, nwhole = 0;

    get(s, &whole, is_h2, target, accept);
    assert_int_equal(whole.r, 0);
    assert_int_equal(whole.status, 200);
    FOR_EACH_FAILED_ALLOC(n) {
        struct get one;

        get(s, &one, is_h2, target, accept);
        if (one.r == 0 && one.status == 200) {
            assert_true(cor_str_eq(cor_buf_str(&one.body), cor_buf_str(&whole.body)));
            nwhole++;
        } else if (one.r < 0 && one.status == 200) {
            ncut++;
        }
        cor_buf_deinit(&one.body);
    }
    cor_buf_deinit(&whole.body);
    assert_true(nwhole > 0);
    return ncut;
}

TEST(http_answers, a_list_that_fails_midway_is_not_a_complete_answer)
{
    struct served s = {0};

    served_open(&s);
    create_large(&s, 4);
    /* Indenting allocates for each object. The rows of a table need memory after the head only when
     * the client is slower than the server, so that no number of cut answers can be expected. */
    for (int is_h2 = 0; is_h2 < 2; is_h2++) {
        assert_true(fail_each_alloc(&s, is_h2, CONFIGMAPS "?pretty=1", "application/json") > 0);
        (void)fail_each_alloc(&s, is_h2, CONFIGMAPS "?includeObject=Object",
                              "application/json;as=Table;v=v1;g=meta.k8s.io");
    }
    served_close(&s);
}

/* Every answer that says success has the whole list, compressed or, where memory for that was
 * lacking, as it is. Every slice is compressed on this thread, so that its allocations fail too. */
TEST(http_answers, a_compressed_list_without_memory_is_plain_or_cut_or_refused)
{
    struct served s = {.fx.has_no_offload = true};
    struct get whole;

    served_open(&s);
    create_large(&s, 4);
    for (int is_h2 = 0; is_h2 < 2; is_h2++) {
        size_t ngzip = 0, nplain = 0, ncut = 0;

        get(&s, &whole, is_h2, CONFIGMAPS, "application/json");
        assert_int_equal(whole.r, 0);
        FOR_EACH_FAILED_ALLOC(n) {
            struct get one;

            get_encoded(&s, &one, is_h2, true, CONFIGMAPS, "application/json");
            if (one.r == 0 && one.status == 200) {
                ngzip += one.is_gzip;
                nplain += !one.is_gzip;
                if (one.is_gzip)
                    expand(&one);
                assert_true(cor_str_eq(cor_buf_str(&one.body), cor_buf_str(&whole.body)));
            }
            ncut += one.r < 0;
            cor_buf_deinit(&one.body);
        }
        cor_buf_deinit(&whole.body);
        assert_true(ngzip > 0 && nplain > 0 && ncut > 0);
    }
    served_close(&s);
}

/* Contract server 3.4.6. */
TEST(http_answers, only_more_than_128_kb_is_compressed_and_only_for_who_asks)
{
    static const char *const targets[] = {CONFIGMAPS, CONFIGMAPS "/n0", CONFIGMAPS "?pretty=1",
                                          CONFIGMAPS "?limit=1"};
    struct served s = {0};

    served_open(&s);
    create_large(&s, 2);
    for (int i = 0; i < 16; i++) {
        struct get plain, asked;
        bool is_h2 = i % 2 == 1, is_yaml = i / 2 % 2 == 1;
        const char *target = targets[i / 4], *accept = is_yaml ? "application/yaml" : "*/*";

        get(&s, &plain, is_h2, target, accept);
        get_encoded(&s, &asked, is_h2, true, target, accept);
        assert_int_equal(plain.r, 0);
        assert_int_equal(asked.r, 0);
        assert_int_equal(asked.is_gzip, plain.body.n > 128 * 1024);
        if (asked.is_gzip) {
            assert_true(asked.body.n < plain.body.n / 10);
            expand(&asked);
        }
        assert_true(cor_str_eq(cor_buf_str(&asked.body), cor_buf_str(&plain.body)));
        cor_buf_deinit(&plain.body);
        cor_buf_deinit(&asked.body);
    }
    served_close(&s);
}

/* Of more than half a megabyte, and less than a client here receives. */
#define NSAMPLES 25000

static void put_samples(void *arg, struct cor_metric_out *to)
{
    char labels[32];

    for (size_t i = 0; i < *(size_t *)arg; i++) {
        snprintf(labels, sizeof(labels), "number=\"%05zu\"", i);
        cor_metric_put(to, cor_strz(labels), i);
    }
}

/* Asks for the metrics, and expands them when they are compressed. Returns how many samples of the
 * test's own family an answer with success has, which must be complete; SIZE_MAX: it has failed. */
static size_t get_metrics(struct served *s, struct get *get, bool is_h2, bool takes_gzip)
{
    struct cor_str rest;
    size_t n = 0;

    get_encoded(s, get, is_h2, takes_gzip, "/metrics", "text/plain");
    if (get->status != 200 || get->r < 0) {
        cor_buf_deinit(&get->body);
        return SIZE_MAX;
    }
    if (get->is_gzip)
        expand(get);
    for (rest = cor_buf_str(&get->body); rest.n > 0;)
        n += cor_str_starts(cor_str_cut(&rest, '\n'), COR_STR("samples{number="));
    cor_buf_deinit(&get->body);
    return n;
}

/* A server that has been in use has more than half a megabyte of metrics. */
TEST(http_answers, metrics_of_any_size_are_compressed_for_who_asks)
{
    static const struct cor_metric_desc desc = {.name = "samples", .help = "Of the test."};
    struct served s = {0};
    struct cor_metric *metric;
    size_t nsamples = 0;
    struct get get;

    served_open(&s);
    assert_int_equal(cor_metrics_add(s.metrics, &desc, &metric), 0);
    cor_metric_set_collect(metric, put_samples, &nsamples);
    for (int i = 0; i < 4; i++) {
        nsamples = i < 2 ? 1 : NSAMPLES;
        assert_int_equal(get_metrics(&s, &get, i % 2 == 1, true), nsamples);
        assert_true(get.is_gzip && !get.is_varied);
        assert_int_equal(get_metrics(&s, &get, i % 2 == 1, false), nsamples);
        assert_false(get.is_gzip);
    }
    served_close(&s);
}

TEST(http_answers, large_metrics_without_memory_are_plain_or_cut_or_refused)
{
    static const struct cor_metric_desc desc = {.name = "samples", .help = "Of the test."};
    struct served s = {.fx.has_no_offload = true};
    size_t nsamples = NSAMPLES, ngzip = 0, nplain = 0, nfailed = 0;
    struct cor_metric *metric;

    served_open(&s);
    assert_int_equal(cor_metrics_add(s.metrics, &desc, &metric), 0);
    cor_metric_set_collect(metric, put_samples, &nsamples);
    FOR_EACH_FAILED_ALLOC(n) {
        struct get get;
        size_t found = get_metrics(&s, &get, false, true);

        assert_true(found == NSAMPLES || found == SIZE_MAX);
        nfailed += found == SIZE_MAX;
        ngzip += found == NSAMPLES && get.is_gzip;
        nplain += found == NSAMPLES && !get.is_gzip;
    }
    assert_true(ngzip > 0 && nplain > 0 && nfailed > 0);
    served_close(&s);
}

/* Appends a pod of more than 128 KB with as many warnings as an answer may have: their texts are
 * short. */
static void add_warned_pod(struct cor_buf *out)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

    assert_int_equal(cor_buf_addf(out,
                                  "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"a\":"
                                  "\"%0200000d\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
                                  "\"image\":\"i\"}],\"volumes\":[",
                                  0),
                     0);
    for (int i = 0; i < 40; i++)
        assert_int_equal(cor_buf_addf(out,
                                      "%s{\"name\":\"v%d\",\"rbd\":{\"image\":\"i\","
                                      "\"monitors\":[\"m\"]}}",
                                      i > 0 ? "," : "", i),
                         0);
    assert_int_equal(cor_buf_addz(out, "]}"), 0);
    for (const char *at = letters; *at; at++)
        assert_int_equal(cor_buf_addf(out, ",\"%c\":1,\"z%c\":1", *at, *at), 0);
    assert_int_equal(cor_buf_addz(out, "}"), 0);
}

TEST(http_answers, a_compressed_answer_has_all_warnings)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf pod = {.max = 1u << 20};
    struct served s = {0};

    served_open(&s);
    add_warned_pod(&pod);
    for (int i = 0; i < 2; i++) {
        struct get plain = {.is_h2 = i == 1,
                            .target = "/api/v1/namespaces/default/pods?dryRun=All",
                            .accept = "*/*",
                            .sent = cor_buf_str(&pod)};
        struct get asked = plain;

        asked.takes_gzip = true;
        run(&s, &plain);
        run(&s, &asked);
        assert_int_equal(plain.status, 201);
        assert_int_equal(asked.status, 201);
        assert_int_equal(asked.r, 0);
        assert_true(asked.is_gzip);
        assert_true(plain.nwarnings > 128);
        assert_int_equal(asked.nwarnings, plain.nwarnings);
        cor_buf_deinit(&plain.body);
        cor_buf_deinit(&asked.body);
    }
    served_close(&s);
}
