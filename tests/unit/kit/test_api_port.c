/* The rules of kit/api_port.h, shown on the scripted port: how a request ends, and when. */
#include "base/err.h"
#include "scripted_port.h"
#include "test.h"

struct sender {
    struct scripted_port sp;
    struct cor_api_request req;
    int ndone, nitems, nevents;
    int err;
    enum cor_api_end end;
    char name[64];
    bool sends_again, cancels;
};

static struct sender *sender_of(struct cor_api_request *req)
{
    return COR_CONTAINER_OF(req, struct sender, req);
}

static void on_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct sender *s = sender_of(req);

    assert_false(cor_api_is_under_way(req));
    s->ndone++;
    s->end = answer->end;
    s->err = answer->error ? answer->error->err : 0;
    if (answer->object) {
        struct cor_str name = cor_object_name(answer->object);

        memcpy(s->name, name.p, name.n);
    }
    if (s->sends_again) {
        s->sends_again = false;
        cor_api_get(&s->sp.port, req, COR_STR(""));
    }
}

static int on_item(struct cor_api_request *req, struct cor_object *item)
{
    sender_of(req)->nitems++;
    return 0;
}

static int on_event(struct cor_api_request *req, const struct cor_watch_event *event)
{
    struct sender *s = sender_of(req);

    s->nevents++;
    if (s->cancels)
        cor_api_cancel(&s->sp.port, req);
    return 0;
}

static const struct cor_api_request_cbs object_cbs = {.on_done = on_done};
static const struct cor_api_request_cbs list_cbs = {.on_item = on_item, .on_done = on_done};
static const struct cor_api_request_cbs watch_cbs = {.on_event = on_event, .on_done = on_done};

static const char pod_a[] =
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"}}";
static const char *two_pods[] = {pod_a, pod_a, NULL};

static void begin(struct sender *s, const struct cor_api_request_cbs *cbs)
{
    *s = (struct sender){.req = {.at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("pods")},
                                        .ns = COR_STR("default"),
                                        .name = COR_STR("a")},
                                 .cbs = cbs}};
    scripted_port_init(&s->sp);
}

TEST(api_port, answers_after_the_call_has_returned)
{
    struct sender s;

    begin(&s, &object_cbs);
    scripted_answer(&s.sp, 0, pod_a);
    cor_api_get(&s.sp.port, &s.req, COR_STR(""));
    assert_int_equal(s.ndone, 0);
    assert_true(cor_api_is_under_way(&s.req));
    scripted_run(&s.sp, 0);
    assert_int_equal(s.ndone, 1);
    assert_string_equal(s.name, "a");
    assert_int_equal(s.end, COR_API_ANSWERED);
    scripted_assert_log(&s.sp, "GET v1 pods default/a\n");
    scripted_port_deinit(&s.sp);
}

TEST(api_port, a_request_that_cannot_be_sent_ends_with_on_done_too)
{
    struct sender s;

    begin(&s, &object_cbs);
    scripted_refuse(&s.sp, -COR_ENOMEM);
    cor_api_get(&s.sp.port, &s.req, COR_STR(""));
    assert_int_equal(s.ndone, 0);
    assert_true(cor_api_is_under_way(&s.req));
    scripted_run(&s.sp, 0);
    assert_int_equal(s.ndone, 1);
    assert_int_equal(s.err, -COR_ENOMEM);
    assert_int_equal(s.end, COR_API_REFUSED);
    scripted_port_deinit(&s.sp);
}

TEST(api_port, a_cancelled_request_has_no_callback)
{
    struct sender s;

    begin(&s, &object_cbs);
    scripted_answer(&s.sp, 10, pod_a);
    scripted_refuse(&s.sp, -COR_EBUSY);
    cor_api_get(&s.sp.port, &s.req, COR_STR(""));
    cor_api_cancel(&s.sp.port, &s.req);
    assert_false(cor_api_is_under_way(&s.req));
    cor_api_get(&s.sp.port, &s.req, COR_STR(""));
    cor_api_cancel(&s.sp.port, &s.req); /* of one that was refused */
    cor_api_cancel(&s.sp.port, &s.req); /* of none */
    scripted_run(&s.sp, 1000);
    assert_int_equal(s.ndone, 0);
    scripted_port_deinit(&s.sp);
}

TEST(api_port, a_callback_may_send_its_request_again)
{
    struct sender s;

    begin(&s, &object_cbs);
    scripted_refuse(&s.sp, -COR_EBUSY);
    scripted_refuse(&s.sp, -COR_EBUSY);
    s.sends_again = true;
    cor_api_get(&s.sp.port, &s.req, COR_STR(""));
    scripted_run(&s.sp, 0);
    assert_int_equal(s.ndone, 2);
    scripted_port_deinit(&s.sp);
}

struct pair {
    struct scripted_port sp;
    struct cor_api_request first, second;
    int ndone;
};

static void on_first_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct pair *p = COR_CONTAINER_OF(req, struct pair, first);

    p->ndone++;
    cor_api_cancel(&p->sp.port, &p->second);
}

static void on_second_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    fail_msg("a cancelled request had a callback");
}

TEST(api_port, a_callback_may_cancel_another_request_that_was_refused)
{
    static const struct cor_api_request_cbs first = {.on_done = on_first_done};
    static const struct cor_api_request_cbs second = {.on_done = on_second_done};
    struct pair p = {.first.cbs = &first, .second.cbs = &second};

    scripted_port_init(&p.sp);
    scripted_refuse(&p.sp, -COR_EBUSY);
    scripted_refuse(&p.sp, -COR_EBUSY);
    cor_api_get(&p.sp.port, &p.first, COR_STR(""));
    cor_api_get(&p.sp.port, &p.second, COR_STR(""));
    scripted_run(&p.sp, 0);
    assert_int_equal(p.ndone, 1);
    scripted_port_deinit(&p.sp);
}

TEST(api_port, the_earlier_of_timeout_and_deadline_ends_a_request)
{
    struct sender s;

    begin(&s, &object_cbs);
    s.req.timeout_ms = 5000;
    s.req.deadline_ms = 300;
    cor_api_get(&s.sp.port, &s.req, COR_STR(""));
    scripted_run(&s.sp, 299);
    assert_int_equal(s.ndone, 0);
    scripted_run(&s.sp, 1);
    assert_int_equal(s.err, -COR_ETIMEOUT);
    assert_int_equal(s.end, COR_API_UNANSWERED);
    scripted_port_deinit(&s.sp);
}

TEST(api_port, lists_give_items_and_watches_give_events)
{
    const struct cor_list_query query = {.label_selector = COR_STR("app=web")};
    struct sender s;

    begin(&s, &list_cbs);
    s.req.at.name = COR_STR("");
    scripted_items(&s.sp, 5, two_pods, false);
    cor_api_list(&s.sp.port, &s.req, &query);
    scripted_run(&s.sp, 5);
    assert_int_equal(s.nitems, 2);
    assert_int_equal(s.ndone, 1);

    s.req.cbs = &watch_cbs;
    scripted_items(&s.sp, 0, two_pods, true);
    cor_api_watch(&s.sp.port, &s.req, &query);
    scripted_run(&s.sp, 60000);
    assert_int_equal(s.nevents, 2);
    assert_int_equal(s.ndone, 1);
    assert_true(cor_api_is_under_way(&s.req));
    cor_api_cancel(&s.sp.port, &s.req);
    scripted_assert_log(&s.sp, "LIST v1 pods default/ app=web\n"
                               "WATCH v1 pods default/\n"
                               "CANCEL v1 pods default/\n");
    scripted_port_deinit(&s.sp);
}

TEST(api_port, a_watch_may_be_cancelled_by_its_event)
{
    const struct cor_list_query query = {0};
    struct sender s;

    begin(&s, &watch_cbs);
    s.cancels = true;
    scripted_items(&s.sp, 0, two_pods, true);
    cor_api_watch(&s.sp.port, &s.req, &query);
    scripted_run(&s.sp, 0);
    assert_int_equal(s.nevents, 1);
    assert_int_equal(s.ndone, 0);
    scripted_port_deinit(&s.sp);
}
