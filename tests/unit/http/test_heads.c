/* What a handler that sees the head by itself can do, over both protocols: accept or refuse the
 * request before a byte of its body is taken. */
#include "test.h"

#include "http_fixture.h"

#define LONG_BODY 1000000

/* What head_on_gone() and guard() have seen. */
static struct {
    struct http *h;
    struct cor_buf
        heads; /* "METHOD path?query name=value\n" for each head, host headers left out */
    size_t ngone;
    int why;
} guarded;

static void head_on_gone(struct cor_http_response *resp, int why, void *arg)
{
    guarded.ngone++;
    guarded.why = why;
}

static const struct cor_http_response_cbs head_cbs = {.on_gone = head_on_gone};

/* Refuses what begins with /no, and answers /much with more than a window has room for. */
static void guard(const struct cor_http_request *req, struct cor_http_response *resp, void *arg)
{
    static char much[400000];

    assert_int_equal(req->body.n, 0);
    cor_buf_addf(&guarded.heads, "%.*s %.*s?%.*s", COR_STR_ARG(req->method_name),
                 COR_STR_ARG(req->path),
                 COR_STR_ARG(cor_str(req->query.p ? req->query.p : "", req->query.n)));
    cor_buf_addf(&guarded.heads, " a=%zu\n", cor_http_request_header(req, COR_STR("a")).n);
    if (cor_str_starts(req->path, COR_STR("/no")))
        cor_http_response_send(resp, 403, handler_headers, 1, COR_STR("no"));
    else if (cor_str_starts(req->path, COR_STR("/much")))
        cor_http_response_send(resp, 403, handler_headers, 1, cor_str(much, sizeof(much)));
    else
        cor_http_response_set_cbs(resp, &head_cbs, arg);
}

static void guard_init(struct http *h, struct client *cl, struct cor_http_limits limits)
{
    memset(&guarded, 0, sizeof(guarded));
    cor_buf_init(&guarded.heads, 1u << 20);
    guarded.h = h;
    head_handler = guard;
    http_init(h, limits, NULL);
    head_handler = NULL;
    client_open(cl, h, NULL);
}

static void guard_deinit(struct http *h, struct client *cl)
{
    part(h, cl);
    cor_buf_deinit(&guarded.heads);
}

/* Only the head of a request whose body has `length` bytes; with a header `a` of `a_bytes`. */
static void ask_head(struct client *cl, const char *target, size_t length, size_t a_bytes)
{
    struct cor_buf in, a, n;
    struct cor_http_header headers[2];
    struct cor_h2_request req = {.method = COR_STR("POST"),
                                 .scheme = COR_STR("http"),
                                 .authority = COR_STR("x"),
                                 .path = cor_strz(target),
                                 .headers = headers,
                                 .nheaders = 2,
                                 .has_body = true};

    cor_buf_init(&in, 1u << 20);
    cor_buf_init(&a, 1u << 20);
    cor_buf_init(&n, 32);
    for (size_t i = 0; i < a_bytes; i++)
        cor_buf_addc(&a, 'a');
    cor_buf_addu64(&n, length);
    headers[0] = (struct cor_http_header){COR_STR("a"), cor_buf_str(&a)};
    headers[1] = (struct cor_http_header){COR_STR("content-length"), cor_buf_str(&n)};
    if (cl->h2) {
        assert_int_equal(cor_h2_open(cl->h2, &req, &client_h2_cbs, cl, &cl->last), 0);
    } else {
        cor_buf_addf(&in, "POST %s HTTP/1.1\r\nHost: x\r\na: %s\r\nContent-Length: %zu\r\n\r\n",
                     target, cor_buf_z(&a), length);
        client_send(cl, cor_buf_str(&in));
    }
    cor_buf_deinit(&in);
    cor_buf_deinit(&a);
    cor_buf_deinit(&n);
}

static void send_body(struct client *cl, struct cor_str bytes, bool is_last)
{
    if (cl->h2)
        cor_h2_write(cl->last, &bytes, 1, 0, is_last);
    else
        client_send(cl, bytes);
}

static bool head_was_seen(void *arg)
{
    return guarded.heads.n > 0;
}

static bool head_is_gone(void *arg)
{
    return guarded.ngone > 0;
}

TEST_BOTH(heads, a_head_is_shown_before_its_body_comes)
{
    struct http h;
    struct client cl;

    guard_init(&h, &cl, (struct cor_http_limits){0});
    ask_head(&cl, "/echo?q", 5, 3);
    await(&h, head_was_seen, NULL);
    assert_string_equal(cor_buf_z(&guarded.heads), "POST /echo?q a=3\n");
    assert_int_equal(h.seen.n, 0);
    send_body(&cl, COR_STR("hel"), false);
    assert_false(cor_loop_run_until(h.loop, http_has_seen, &h, 5));
    send_body(&cl, COR_STR("lo"), true);
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 hello.");
    client_ask(&cl, "GET", "/echo", NULL);
    await(&h, client_has_two, &cl);
    assert_int_equal(guarded.ngone, 0);
    guard_deinit(&h, &cl);
}

TEST_BOTH(heads, a_request_that_is_refused_at_its_head_is_answered_without_its_body)
{
    struct http h;
    struct client cl;

    guard_init(&h, &cl, (struct cor_http_limits){0});
    ask_head(&cl, "/no", LONG_BODY, 0);
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "403 no.");
    await(&h, client_is_broken, &cl);
    /* HTTP/1.1 ends the connection, HTTP/2 the stream, without an error. */
    assert_int_equal(cl.code, COR_H2_NO_ERROR);
    assert_int_equal(cl.has_ended, protocol == H1);
    assert_int_equal(h.seen.n, 0);
    assert_int_equal(guarded.ngone, 0);
    guard_deinit(&h, &cl);
}

/* Neither at once nor when the answer to the head had to wait for its reader. */
TEST_BOTH(heads, a_refused_request_without_a_body_comes_to_no_handler)
{
    static const char *const targets[] = {"/no", "/much"};

    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++) {
        struct http h;
        struct client cl;

        guard_init(&h, &cl, (struct cor_http_limits){0});
        cl.forgets = true;
        client_ask(&cl, "GET", targets[i], NULL);
        client_ask(&cl, "GET", "/echo", NULL);
        await(&h, client_has_two, &cl);
        /* The head has been freed, its method with it. */
        assert_string_equal(cor_buf_z(&h.seen), " /echo? \n");
        assert_false(cl.has_ended);
        guard_deinit(&h, &cl);
    }
}

TEST_BOTH(heads, a_short_body_of_a_refused_request_is_passed_over)
{
    struct http h;
    struct client cl;

    guard_init(&h, &cl, (struct cor_http_limits){0});
    client_ask(&cl, "POST", "/no", "four");
    client_ask(&cl, "POST", "/no", "GET /echo HTTP/1.1\r\n\r\n");
    client_ask(&cl, "POST", "/echo", "hi");
    await(&h, client_has_three, &cl);
    if (protocol == H1)
        assert_string_equal(cor_buf_z(&cl.text), "403 no.403 no.200 hi.");
    assert_string_equal(cor_buf_z(&guarded.heads),
                        "POST /no? a=0\nPOST /no? a=0\nPOST /echo? a=0\n");
    assert_false(cl.has_ended);
    guard_deinit(&h, &cl);
}

TEST(heads, a_short_body_that_comes_after_its_refusal_is_passed_over)
{
    struct http h;
    struct client cl;

    guard_init(&h, &cl, (struct cor_http_limits){0});
    ask_head(&cl, "/no", 8, 0);
    await(&h, client_has_response, &cl);
    client_send(&cl, COR_STR("eigh"));
    assert_false(cor_loop_run_until(h.loop, client_has_two, &cl, 5));
    client_send(&cl, COR_STR("t...GET /echo HTTP/1.1\r\nHost: x\r\n\r\n"));
    await(&h, client_has_two, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "403 no.200 .");
    guard_deinit(&h, &cl);
}

TEST(heads, a_body_that_is_passed_over_may_not_take_for_ever)
{
    struct http h;
    struct client cl;

    guard_init(&h, &cl, (struct cor_http_limits){.head_timeout_ms = 500});
    ask_head(&cl, "/no", 8, 0);
    await(&h, client_has_ended, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "403 no.");
    guard_deinit(&h, &cl);
}

TEST(heads, a_malformed_rest_of_a_refused_request_ends_the_connection)
{
    struct http h;
    struct client cl;

    guard_init(&h, &cl, (struct cor_http_limits){0});
    client_send(
        &cl, COR_STR("POST /no HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"));
    await(&h, client_has_ended, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "403 no.");
    guard_deinit(&h, &cl);
}

TEST_BOTH(heads, an_answer_to_a_head_that_does_not_fit_follows_as_it_is_read)
{
    struct http h;
    struct client cl;

    guard_init(&h, &cl, (struct cor_http_limits){0});
    cl.forgets = true;
    ask_head(&cl, "/much", LONG_BODY, 0);
    await(&h, client_has_response, &cl);
    assert_int_equal(cl.body_bytes, 400000);
    guard_deinit(&h, &cl);
}

TEST_BOTH(heads, continue_is_said_to_accepted_requests_only)
{
    static const struct cor_http_header headers[] = {{COR_STR("expect"), COR_STR("100-continue")}};
    struct http h;
    struct client cl;

    for (int i = 0; i < 2; i++) {
        const char *target = i ? "/echo" : "/no";
        struct cor_h2_request req = {
            COR_STR("POST"), COR_STR("http"), COR_STR("x"), cor_strz(target), headers, 1, true};
        struct cor_buf in;

        guard_init(&h, &cl, (struct cor_http_limits){0});
        cl.is_raw = protocol == H1;
        cor_buf_init(&in, 1000);
        cor_buf_addf(&in,
                     "POST %s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                     "Content-Length: 2\r\n\r\n",
                     target);
        if (cl.h2)
            assert_int_equal(cor_h2_open(cl.h2, &req, &client_h2_cbs, &cl, &cl.last), 0);
        else
            client_send(&cl, cor_buf_str(&in));
        await(&h, head_was_seen, NULL);
        if (i == 1) {
            while (cl.text.n == 0 && protocol == H1)
                cor_loop_run_until(h.loop, client_has_ended, &cl, 1);
            assert_false(protocol == H1 && strcmp(cor_buf_z(&cl.text), COR_H1_CONTINUE) != 0);
            send_body(&cl, COR_STR("hi"), true);
            await(&h, http_has_seen, &h);
        } else if (protocol == H1) {
            /* It does not know whether the body will come: the connection ends. */
            await(&h, client_has_ended, &cl);
            assert_int_equal(strncmp(cor_buf_z(&cl.text), "HTTP/1.1 403", 12), 0);
        } else {
            await(&h, client_has_response, &cl);
            assert_string_equal(cor_buf_z(&cl.text), "403 no.");
        }
        cor_buf_deinit(&in);
        guard_deinit(&h, &cl);
    }
}

TEST_BOTH(heads, a_client_that_leaves_before_its_body_is_whole_is_told_once)
{
    struct http h;
    struct client cl, next;

    guard_init(&h, &cl, (struct cor_http_limits){0});
    ask_head(&cl, "/echo", LONG_BODY, 0);
    send_body(&cl, COR_STR("some"), false);
    await(&h, head_was_seen, NULL);
    client_close(&cl, &h);
    await(&h, head_is_gone, NULL);
    assert_int_equal(guarded.why, -COR_ECANCELED);
    client_open(&next, &h, NULL);
    client_ask(&next, "POST", "/echo", "hi");
    await(&h, client_has_response, &next);
    assert_int_equal(guarded.ngone, 1);
    guard_deinit(&h, &next);
}

TEST_BOTH(heads, a_body_that_is_refused_is_told_to_its_handler)
{
    struct http h;
    struct client cl;

    guard_init(&h, &cl, (struct cor_http_limits){.body_max = 1000});
    ask_head(&cl, "/echo", 1001, 0);
    await(&h, client_has_response, &cl);
    assert_int_equal(strncmp(cor_buf_z(&cl.text), "413 ", 4), 0);
    assert_int_equal(guarded.ngone, 1);
    guard_deinit(&h, &cl);
}

TEST_BOTH(heads, a_request_that_is_refused_is_not_asked_for_its_length)
{
    struct http h;
    struct client cl;

    guard_init(&h, &cl, (struct cor_http_limits){.body_max = 1000});
    ask_head(&cl, "/no", 1001, 0);
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "403 no.");
    guard_deinit(&h, &cl);
}

TEST_BOTH(heads, a_body_that_takes_too_long_is_told_to_its_handler)
{
    struct http h;
    struct client cl;

    guard_init(&h, &cl, (struct cor_http_limits){.request_timeout_ms = 50});
    ask_head(&cl, "/echo", LONG_BODY, 0);
    await(&h, client_has_response, &cl);
    assert_int_equal(strncmp(cor_buf_z(&cl.text), "504 ", 4), 0);
    assert_int_equal(guarded.ngone, 1);
    assert_int_equal(guarded.why, -COR_ETIMEOUT);
    guard_deinit(&h, &cl);
}

static bool has_ten(void *arg)
{
    return ((struct http *)arg)->nheld == 10;
}

static bool client_has_ten(void *arg)
{
    return ((struct client *)arg)->nresponses == 10;
}

static void ask_ten(struct client *cl, const char *target)
{
    for (int i = 0; i < 10; i++) {
        ask_head(cl, target, 1, 60000);
        send_body(cl, COR_STR("x"), true);
    }
}

/* The first ten fill the network's store of buffers. */
TEST(heads, heads_are_freed_when_their_handler_has_seen_them)
{
    struct http h;
    struct client cl;
    size_t before;

    protocol = H2;
    guard_init(&h, &cl, (struct cor_http_limits){0});
    ask_ten(&cl, "/no");
    await(&h, client_has_ten, &cl);
    before = test_live_bytes();
    h.holds = true;
    ask_ten(&cl, "/hold");
    await(&h, has_ten, &h);
    assert_true(test_live_bytes() < before + 60000);
    guard_deinit(&h, &cl);
    protocol = H1;
}

TEST(heads, a_head_of_http_1_is_freed_when_its_handler_has_seen_it)
{
    struct http h;
    struct client cl;
    size_t before;

    guard_init(&h, &cl, (struct cor_http_limits){0});
    ask_head(&cl, "/echo", 1, 60000);
    send_body(&cl, COR_STR("x"), true);
    await(&h, client_has_response, &cl);
    before = test_live_bytes();
    h.holds = true;
    ask_head(&cl, "/hold", 1, 60000);
    send_body(&cl, COR_STR("x"), true);
    await(&h, has_held, &h);
    assert_true(test_live_bytes() < before + 30000);
    guard_deinit(&h, &cl);
}

TEST_BOTH(heads, every_allocation_may_fail)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct http h;
        struct client cl;

        test_fail_alloc(0, false);
        guard_init(&h, &cl, (struct cor_http_limits){0});
        client_ask(&cl, "GET", "/echo", NULL);
        await(&h, client_has_response, &cl);
        ask_head(&cl, "/echo", 5, 3);
        send_body(&cl, COR_STR("hello"), true);
        ask_head(&cl, "/no", 5, 3);
        send_body(&cl, COR_STR("hello"), true);
        test_fail_alloc(n, false);
        while (cl.nresponses < 3 && !cl.has_ended && cl.nclosed < 3)
            cor_loop_run_until(h.loop, client_has_three, &cl, 1);
        if (!test_alloc_failed())
            assert_non_null(strstr(cor_buf_z(&cl.text), "200 hello."));
        guard_deinit(&h, &cl);
    }
}
