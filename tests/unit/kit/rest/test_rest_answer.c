/* What is made of an answer: success, failure, and what cannot be read. */
#include "codec/gzip.h"
#include "rest_fixture.h"

static const char not_found[] =
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
    "\"pods \\\"a\\\" not found\",\"reason\":\"NotFound\",\"details\":{\"name\":\"a\",\"kind\":"
    "\"pods\"},\"code\":404}";

/* Contract client 4.10.1: what cannot be decoded is handed over as it came. */
TEST(rest_answer, codes_up_to_206_are_a_success)
{
    static const struct answer script[] = {
        {.body = "raw", .content_type = "text/plain"},
        {.status = 201, .body = "{}", .content_type = ""},
        {.status = 206, .body = "\x01\x02", .content_type = "application/octet-stream"},
        {.status = 207, .body = "{}"},
        {.status = 304},
        {.status = 404, .body = not_found, .content_type = ""},
        {.status = 404, .body = "\x01\x02", .content_type = "application/octet-stream"},
    };
    static const char *const messages[] = {
        NULL,
        NULL,
        NULL,
        "the server responded with the status code 207 but did not return more information",
        "the server responded with the status code 304 but did not return more information",
        "pods \"a\" not found",
        "the server could not find the requested resource",
    };
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect_freely(&w);
    WORLD_SCRIPT(&w, script);
    for (size_t i = 0; i < COR_ARRAY_LEN(script); i++) {
        ask(&w, "/x", &h);
        assert_int_equal(h.code, script[i].status ? script[i].status : 200);
        assert_int_equal(h.err < 0, messages[i] != NULL);
        if (messages[i])
            assert_string_equal(cor_status_message(&h.error), messages[i]);
        else
            assert_str(cor_buf_str(&h.got), script[i].body);
        heard_deinit(&h);
    }
    world_end(&w);
}

/* Contract client 4.10.2, 4.10.3. */
TEST(rest_answer, a_refusal_is_its_status)
{
    static const struct answer script[] = {
        {.status = 404, .body = not_found},
        {.status = 500, .body = "no", .content_type = "text/plain"}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask(&w, "/api/v1/pods/a", &h);
    assert_int_equal(h.head, 0);
    assert_int_equal(h.code, 404);
    assert_int_equal(h.err, -COR_ENOTFOUND);
    assert_string_equal(h.error.reason, "NotFound");
    assert_string_equal(h.error.name, "a");
    assert_string_equal(cor_status_message(&h.error), "pods \"a\" not found");
    assert_int_equal(h.got.n, 0);
    heard_deinit(&h);
    ask(&w, "/api/v1/pods/a", &h);
    assert_int_equal(h.err, -COR_EINTERNAL);
    assert_int_equal(h.error.code, 500);
    assert_string_equal(
        cor_status_message(&h.error),
        "an error on the server (\"no\") has prevented the request from succeeding");
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.10.5. */
TEST(rest_answer, a_success_that_tells_of_a_failure_is_one)
{
    static const struct answer script[] = {{.body = not_found}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask(&w, "/api/v1/pods/a", &h);
    assert_int_equal(h.code, 200);
    assert_int_equal(h.err, -COR_ENOTFOUND);
    assert_int_equal(h.error.code, 404);
    heard_deinit(&h);
    world_end(&w);
}

/* Of a server or a proxy that compresses unasked: bytes that nobody here can read are no answer. */
TEST(rest_answer, an_encoding_that_was_not_asked_for_is_refused_and_not_read)
{
    static const struct answer script[] = {
        {.body = "\x1f\x8b\x08", .header = "Content-Encoding", .value = "gzip"},
        {.body = "{}", .header = "Content-Encoding", .value = "Identity"},
        {.status = 404,
         .body = "\x1f\x8b\x08",
         .content_type = "text/plain",
         .header = "Content-Encoding",
         .value = "br"}};

    for (int is_off = 0; is_off < 2; is_off++) {
        const struct cor_http_header own = {COR_STR("accept-encoding"), COR_STR("gzip, br")};
        struct world w;
        struct heard h;

        world_begin(&w, NULL);
        w.config.disable_compression = is_off;
        world_connect(&w, NULL);
        WORLD_SCRIPT(&w, script);
        /* Who asks for it is the one who can read it. */
        ask_with(&w,
                 (struct cor_rest_request_opts){.kind = COR_REST_STREAM,
                                                .target = COR_STR("/x"),
                                                .headers = &own,
                                                .nheaders = !is_off},
                 &h);
        assert_null(strstr(w.headers.p, "Accept-Encoding"));
        assert_int_equal(h.err, -COR_EPROTOCOL);
        assert_int_equal(h.head, 0);
        assert_int_equal(h.got.n, 0);
        assert_non_null(strstr(cor_status_message(&h.error), "Content-Encoding"));
        assert_int_equal(w.nasked, 1);
        heard_deinit(&h);
        ask(&w, "/x", &h);
        assert_int_equal(h.err, 0);
        assert_str(cor_buf_str(&h.got), "{}");
        heard_deinit(&h);
        ask(&w, "/x", &h);
        assert_int_equal(h.err, -COR_ENOTFOUND);
        assert_null(strchr(cor_status_message(&h.error), '\x1f'));
        heard_deinit(&h);
        assert_int_equal(strstr(w.headers.p, "Accept-Encoding") == NULL, is_off);
        world_end(&w);
    }
}

/* The answer with this text, compressed. `packed` is the caller's. */
static struct answer gzip_answer(int status, struct cor_str text, struct cor_buf *packed)
{
    cor_buf_init(packed, 1u << 20);
    assert_int_equal(cor_gzip_pack(text, COR_GZIP_FAST, packed), 0);
    return (struct answer){.status = status,
                           .body = packed->p,
                           .n = packed->n,
                           .header = "Content-Encoding",
                           .value = "GZIP"};
}

/* Contract client 4.11.5. */
TEST(rest_answer, gzip_is_asked_for_and_expanded_in_every_kind_of_answer)
{
    static char text[300000];
    struct cor_buf packed, packed_error;
    struct answer script[5];
    struct world w;
    struct heard h;

    memset(text, 'x', sizeof(text));
    script[0] = script[1] = script[2] = gzip_answer(200, cor_str(text, sizeof(text)), &packed);
    script[3] = gzip_answer(404, COR_STR(not_found), &packed_error);
    script[4] = (struct answer){.header = "Content-Encoding", .value = "gzip"};
    world_begin(&w, NULL);
    world_connect_freely(&w);
    WORLD_SCRIPT(&w, script);
    for (int kind = COR_REST_WHOLE; kind <= COR_REST_WATCH; kind++) {
        ask_with(&w, (struct cor_rest_request_opts){.kind = kind, .target = COR_STR("/x")}, &h);
        assert_int_equal(h.err, 0);
        assert_true(cor_str_eq(cor_buf_str(&h.got), cor_str(text, sizeof(text))));
        heard_deinit(&h);
    }
    assert_non_null(strstr(w.headers.p, "Accept-Encoding: gzip\n"));
    ask(&w, "/x", &h);
    assert_int_equal(h.err, -COR_ENOTFOUND);
    assert_string_equal(cor_status_message(&h.error), "pods \"a\" not found");
    heard_deinit(&h);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, 0);
    assert_int_equal(h.got.n, 0);
    heard_deinit(&h);
    cor_buf_deinit(&packed);
    cor_buf_deinit(&packed_error);
    world_end(&w);
}

TEST(rest_answer, gzip_that_is_damaged_cut_or_a_bomb_is_an_error)
{
    static const char zeros[1u << 20];
    static const struct {
        int err;
        const char *words;
    } expected[] = {{-COR_EPROTOCOL, "damaged"},
                    {-COR_EBROKEN, "please retry"},
                    {-COR_ETOOBIG, ""},
                    {-COR_ETOOBIG, "too many bytes"}};
    struct cor_gzip_writer *writer;
    struct cor_buf packed, bomb;
    struct answer script[4];
    struct world w;

    cor_buf_init(&bomb, 1u << 20);
    assert_int_equal(cor_gzip_writer_new(9, &writer), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(cor_gzip_write(writer, cor_str(zeros, sizeof(zeros)), i == 19, &bomb), 0);
    cor_gzip_writer_free(writer);
    script[0] = script[1] = gzip_answer(200, COR_STR("{}"), &packed);
    script[0].body = "no gzip at all";
    script[0].n = 0;
    script[1].n -= 4;
    script[2] = script[3] =
        (struct answer){.body = bomb.p, .n = bomb.n, .header = "Content-Encoding", .value = "gzip"};
    script[3].status = 500;
    world_begin(&w, NULL);
    world_connect_freely(&w);
    WORLD_SCRIPT(&w, script);
    for (size_t i = 0; i < COR_ARRAY_LEN(script); i++) {
        struct heard h;

        ask_with(&w, (struct cor_rest_request_opts){.target = COR_STR("/x"), .body_max = 1u << 20},
                 &h);
        assert_int_equal(h.err, expected[i].err);
        assert_non_null(strstr(cor_status_message(&h.error), expected[i].words));
        assert_int_equal(h.got.n, 0);
        heard_deinit(&h);
    }
    cor_buf_deinit(&packed);
    cor_buf_deinit(&bomb);
    world_end(&w);
}

struct canceller {
    struct cor_rest_request *req;
    bool is_cancelled;
};

static int cancel_at_body(void *arg, struct cor_str piece)
{
    struct canceller *c = arg;

    assert_false(c->is_cancelled);
    c->is_cancelled = true;
    cor_rest_request_cancel(c->req);
    return -COR_ECANCELED;
}

static void hear_no_done(void *arg, const struct cor_rest_result *result)
{
    fail();
}

TEST(rest_answer, a_request_may_be_cancelled_by_a_piece_that_was_expanded)
{
    static const struct cor_rest_cbs cbs = {NULL, cancel_at_body, hear_no_done};
    static char text[300000];
    struct canceller c = {0};
    struct cor_buf packed;
    struct answer script[1];
    struct world w;

    script[0] = gzip_answer(200, cor_str(text, sizeof(text)), &packed);
    world_begin(&w, NULL);
    world_connect_freely(&w);
    WORLD_SCRIPT(&w, script);
    assert_int_equal(cor_rest_request_open(w.rc,
                                           &(struct cor_rest_request_opts){.kind = COR_REST_STREAM,
                                                                           .target = COR_STR("/x"),
                                                                           .cbs = &cbs,
                                                                           .arg = &c},
                                           &c.req),
                     0);
    world_until(&w, is_flag, &c.is_cancelled);
    cor_buf_deinit(&packed);
    world_end(&w);
}

TEST(rest_answer, a_compressed_answer_without_memory_is_an_error_or_whole)
{
    static const char text[] = "{\"kind\":\"List\"}";
    struct cor_buf packed;
    struct answer script[1];
    struct world w;

    script[0] = gzip_answer(200, COR_STR(text), &packed);
    world_begin(&w, NULL);
    world_connect_freely(&w);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_rest_request_opts opts = {.target = COR_STR("/x"), .cbs = &heard_cbs};
        struct cor_rest_request *req;
        struct heard h;
        int r;

        world_arm(&w, n);
        WORLD_SCRIPT(&w, script);
        heard_init(&h);
        opts.arg = &h;
        r = cor_rest_request_open(w.rc, &opts, &req);
        if (r == 0)
            world_until(&w, is_flag, &h.is_done);
        if (r == 0 && h.err == 0)
            assert_str(cor_buf_str(&h.got), text);
        else
            assert_true(test_alloc_failed());
        heard_deinit(&h);
    }
    cor_buf_deinit(&packed);
    world_end(&w);
}

TEST(rest_answer, an_answer_beyond_the_maximum_is_refused)
{
    static const struct answer script[] = {
        {.body = "12345678"}, {.body = "12345678"}, {.body = "1234567"}, {.body = "12345678"}};
    static const struct {
        size_t max; /* the request's; 0: the client's */
        int err;
    } rows[] = {{8, 0}, {7, -COR_ETOOBIG}, {0, 0}, {0, -COR_ETOOBIG}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.body_max = 7});
    WORLD_SCRIPT(&w, script);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        ask_with(&w,
                 (struct cor_rest_request_opts){.target = COR_STR("/x"), .body_max = rows[i].max},
                 &h);
        assert_int_equal(h.err, rows[i].err);
        assert_int_equal(h.got.n, rows[i].err == 0 ? strlen(script[i].body) : 0);
        heard_deinit(&h);
    }
    world_end(&w);
}

static bool has_head(void *arg)
{
    return ((struct heard *)arg)->head != 0;
}

/* The head has come; then the answer is broken off. */
static void break_an_answer(struct world *w, const char *cause)
{
    static const struct answer script[] = {{.body = "{", .move = HOLD}, {.body = "{}"}};
    struct cor_rest_request_opts opts = {.target = COR_STR("/x"), .cbs = &heard_cbs};
    struct cor_rest_request *req;
    struct heard h;

    world_connect(w, NULL);
    WORLD_SCRIPT(w, script);
    heard_init(&h);
    opts.arg = &h;
    assert_int_equal(cor_rest_request_open(w->rc, &opts, &req), 0);
    world_until(w, has_head, &h);
    cor_http_response_abort(w->held);
    world_until(w, is_flag, &h.is_done);
    assert_int_equal(h.err, -COR_EBROKEN);
    assert_int_equal(h.code, 200);
    assert_int_equal(h.got.n, 0);
    assert_non_null(strstr(cor_status_message(&h.error), "the answer broke off, please retry: "));
    assert_non_null(strstr(cor_status_message(&h.error), cause));
    assert_int_equal(w->nasked, 1);
    heard_deinit(&h);
    world_end(w);
}

/* Contract client 4.10.7: not tried again here, since a part of it may have been handed over. */
TEST(rest_answer, an_answer_that_breaks_off_asks_for_a_retry)
{
    struct identities ids;
    struct cor_tls *tls;
    struct world w;

    world_begin(&w, NULL);
    break_an_answer(&w, "");

    world_tls(&ids, &tls);
    world_begin(&w, tls);
    w.config.ca_pem = ids.ca.cert_pem.p;
    break_an_answer(&w, "the server broke the stream off");
    cor_tls_unref(tls);
    identities_deinit(&ids);
}
