/* A client of the delegate: which answers are repeated and which are final, what is counted against
 * the delegate, and its ends. The delegate is played on the same loop. */
#include "server/access/delegate.h"

#include "rest_fixture.h"

#define QUESTION "{\"kind\":\"Review\",\"apiVersion\":\"a.b/v1\",\"metadata\":{},\"spec\":{}}"
#define ANSWER                                                                                     \
    "{\"kind\":\"Review\",\"apiVersion\":\"a.b/v1\",\"metadata\":{},\"status\":{\"ok\":true}}"
#define REFUSED                                                                                    \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"you may "     \
    "not\",\"reason\":\"Forbidden\",\"code\":403}"

struct asker {
    struct world w;
    struct cor_delegate *delegate;
    struct cor_delegate_call call;
    bool is_done, is_closed;
    int r;
    char answer[200], text[300];
};

static void asker_on_done(struct cor_delegate_call *call, int r, struct cor_object *answer,
                          const char *text)
{
    struct asker *a = COR_CONTAINER_OF(call, struct asker, call);

    assert_false(a->is_done);
    a->is_done = true;
    a->r = r;
    snprintf(a->text, sizeof(a->text), "%s", text);
    if (answer)
        snprintf(a->answer, sizeof(a->answer), "%.*s", COR_STR_ARG(cor_object_json(answer)));
    assert_true((r == 0) == (answer != NULL));
}

static void asker_begin(struct asker *a, const struct answer *script, size_t n)
{
    *a = (struct asker){0};
    world_begin(&a->w, NULL);
    world_script(&a->w, script, n);
    assert_int_equal(cor_delegate_open(a->w.net, &a->w.config, &a->delegate, NULL), 0);
}

static void asker_close(struct asker *a)
{
    cor_delegate_close(a->delegate, set_flag, &a->is_closed);
    world_until(&a->w, is_flag, &a->is_closed);
    world_end(&a->w);
}

static int asker_send(struct asker *a, uint64_t limit_ms)
{
    a->is_done = false;
    a->answer[0] = '\0';
    a->call = (struct cor_delegate_call){
        .on_done = asker_on_done,
        .req.at.gvr = {COR_STR("a.b"), COR_STR("v1"), COR_STR("reviews")}};
    return cor_delegate_send(a->delegate, &a->call, COR_STR(QUESTION), limit_ms);
}

static void asker_ask(struct asker *a, uint64_t limit_ms)
{
    assert_int_equal(asker_send(a, limit_ms), 0);
    assert_false(a->is_done); /* never inside the call */
    world_until(&a->w, is_flag, &a->is_done);
}

TEST(delegate, a_question_is_created_and_its_answer_is_an_object)
{
    static const struct answer script[] = {{.status = 201, .body = ANSWER}};
    struct asker a;

    asker_begin(&a, script, COR_ARRAY_LEN(script));
    asker_ask(&a, 10000);
    assert_int_equal(a.r, 0);
    assert_string_equal(a.answer, ANSWER);
    assert_str(cor_buf_str(&a.w.asked), "POST /apis/a.b/v1/reviews?timeout=10s\n");
    assert_str(cor_buf_str(&a.w.bodies), QUESTION);
    asker_close(&a);
}

TEST(delegate, what_may_pass_is_asked_again_and_a_decision_is_not)
{
    static const struct answer script[] = {
        {.move = CUT},
        {.status = 503, .body = "{}", .header = "Retry-After", .value = "2"},
        {.status = 429, .body = "{}"},
        {.status = 201, .body = ANSWER},
        {.status = 403, .body = REFUSED},
        {.status = 503, .body = "{}"},
        {.status = 201, .body = "no object"}};
    uint64_t began_ms;
    struct asker a;

    asker_begin(&a, script, COR_ARRAY_LEN(script));
    began_ms = cor_loop_now_ms(a.w.loop);
    asker_ask(&a, 30000);
    assert_int_equal(a.r, 0);
    assert_int_equal(a.w.nasked, 4);
    /* The second pause is what was asked for, and the third is longer than half a second. */
    assert_true(cor_loop_now_ms(a.w.loop) - began_ms >= 2000 + 500 + 500);
    asker_ask(&a, 10000);
    assert_int_equal(a.r, -COR_EINTERNAL);
    assert_string_equal(a.text, "you may not");
    asker_ask(&a, 10000);
    assert_int_equal(a.r, -COR_EINTERNAL);
    asker_ask(&a, 10000);
    assert_int_equal(a.r, -COR_EINTERNAL);
    assert_int_equal(a.w.nasked, 7);
    asker_close(&a);
}

TEST(delegate, no_attempt_begins_after_the_limit)
{
    static const struct answer script[] = {{.status = 429, .body = "{}"},
                                           {.status = 201, .body = ANSWER}};
    struct asker a;

    asker_begin(&a, script, COR_ARRAY_LEN(script));
    asker_ask(&a, 300); /* less than the first pause */
    assert_int_equal(a.r, -COR_EINTERNAL);
    assert_int_equal(a.w.nasked, 1);
    asker_close(&a);
}

/* With less time than the first pause each question is one attempt. */
static void asker_ask_once(struct asker *a)
{
    asker_ask(a, 450);
}

TEST(delegate, failures_in_a_row_open_the_circuit_and_an_answer_ends_the_row)
{
    struct answer script[2 * COR_DELEGATE_FAILURES];
    struct asker a;

    for (size_t i = 0; i < COR_ARRAY_LEN(script); i++)
        script[i] = (struct answer){.move = CUT};
    script[COR_DELEGATE_FAILURES - 1] = (struct answer){.status = 201, .body = ANSWER};
    asker_begin(&a, script, COR_ARRAY_LEN(script));
    for (size_t i = 1; i < COR_DELEGATE_FAILURES; i++)
        asker_ask_once(&a);
    asker_ask(&a, 10000);
    assert_int_equal(a.r, 0);
    for (size_t i = 0; i < COR_DELEGATE_FAILURES; i++) {
        asker_ask_once(&a);
        assert_true(a.r < 0);
    }
    assert_int_equal(asker_send(&a, 10000), -COR_EUNREACHABLE);
    assert_non_null(strstr(cor_delegate_why(a.delegate), "Post \"http://127.0.0.1:"));
    asker_close(&a);
}

/* An answer that is too long says nothing against the delegate: it is asked again, always. */
TEST(delegate, an_answer_beyond_the_maximum_fails_its_own_call)
{
    char *body = malloc(COR_DELEGATE_ANSWER_MAX + 1);
    struct answer script[COR_DELEGATE_FAILURES + 2];
    struct asker a;

    memset(body, ' ', COR_DELEGATE_ANSWER_MAX + 1);
    for (size_t i = 0; i < COR_ARRAY_LEN(script); i++)
        script[i] = (struct answer){.status = 201, .body = body, .n = COR_DELEGATE_ANSWER_MAX + 1};
    script[COR_DELEGATE_FAILURES + 1] = (struct answer){.status = 201, .body = ANSWER};
    asker_begin(&a, script, COR_ARRAY_LEN(script));
    for (size_t i = 0; i <= COR_DELEGATE_FAILURES; i++) {
        asker_ask(&a, 10000);
        assert_int_equal(a.r, -COR_ETOOBIG);
    }
    asker_ask(&a, 10000);
    assert_int_equal(a.r, 0);
    asker_close(&a);
    free(body);
}

TEST(delegate, so_many_calls_are_under_way_at_once)
{
    static struct cor_delegate_call calls[COR_DELEGATE_CALLS_MAX];
    struct asker a;

    asker_begin(&a, NULL, 0);
    for (size_t i = 0; i < COR_DELEGATE_CALLS_MAX; i++) {
        calls[i] = (struct cor_delegate_call){
            .on_done = asker_on_done,
            .req.at.gvr = {COR_STR("a.b"), COR_STR("v1"), COR_STR("reviews")}};
        assert_int_equal(cor_delegate_send(a.delegate, &calls[i], COR_STR(QUESTION), 10000), 0);
    }
    assert_int_equal(asker_send(&a, 10000), -COR_EBUSY);
    for (size_t i = 0; i < COR_DELEGATE_CALLS_MAX; i++) {
        cor_delegate_call_cancel(&calls[i]);
        cor_delegate_call_cancel(&calls[i]);
    }
    asker_close(&a);
}

/* The port tells of a request that it could not send by a mail; here the client closes before it
 * has come. */
TEST(delegate, closes_while_a_refusal_is_on_its_way)
{
    struct asker a;

    asker_begin(&a, NULL, 0);
    test_fail_alloc(2, true); /* the question is made, and cannot be sent */
    assert_int_equal(asker_send(&a, 10000), 0);
    test_fail_alloc(0, false);
    cor_delegate_call_cancel(&a.call);
    asker_close(&a);
    assert_false(a.is_done);
}

TEST(delegate, without_memory_a_call_fails_and_the_next_one_works)
{
    struct answer script[200];
    struct asker a;

    for (size_t i = 0; i < COR_ARRAY_LEN(script); i++)
        script[i] = (struct answer){.status = 201, .body = ANSWER};
    asker_begin(&a, script, COR_ARRAY_LEN(script));
    FOR_EACH_FAILED_ALLOC(n) {
        int r = asker_send(&a, 10000);

        a.w.nasked = 0;
        if (r == 0)
            world_until(&a.w, is_flag, &a.is_done);
        assert_true(r == 0 || r == -COR_ENOMEM);
        if (r == 0 && a.r == 0)
            assert_string_equal(a.answer, ANSWER);
        else
            assert_true(test_alloc_failed());
        test_fail_alloc(0, false);
        cor_buf_reset(&a.w.asked);
        cor_buf_reset(&a.w.headers);
        cor_buf_reset(&a.w.bodies);
    }
    asker_close(&a);
}

TEST(delegate, without_memory_none_is_opened)
{
    struct asker a;

    asker_begin(&a, NULL, 0);
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
        struct cor_delegate *more;
        int r = cor_delegate_open(a.w.net, &a.w.config, &more, &why);

        if (r == 0) {
            cor_delegate_close(more, set_flag, &a.is_closed);
            world_until(&a.w, is_flag, &a.is_closed);
            a.is_closed = false;
            continue;
        }
        assert_int_equal(r, -COR_ENOMEM);
        assert_true(test_alloc_failed());
    }
    asker_close(&a);
}
