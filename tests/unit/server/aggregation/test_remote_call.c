/* What a controller asks an aggregated server through the port inside the server: what that server
 * sees, what comes back, and how little a server that does not behave can make ours hold. */
#include "server/aggregation/remote_call.h"

#include <stdio.h>

#include "base/err.h"
#include "remote_fixture.h"

#define THINGS WARDLE "/namespaces/n/things"

/* One request of the controller. */
struct asked {
    struct rfx *f;
    struct cor_api_request req;
    char *seen; /* kind of callback and name of the object, a line each */
    size_t nseen, nitems, nevents, nopen, ndone;
    enum cor_api_end end;
    int err, code;
    char message[300], rv[32], token[32], name[64];
    int64_t remaining;
};

static struct asked *asked_of(struct cor_api_request *req)
{
    return COR_CONTAINER_OF(req, struct asked, req);
}

/* Kept outside of the counting allocator. */
static void see(struct asked *q, const char *what, const struct cor_object *object)
{
    struct cor_str name = object ? cor_object_name(object) : COR_STR("");
    size_t n = strlen(what) + name.n + 2;

    q->seen = realloc(q->seen, q->nseen + n + 1);
    assert_non_null(q->seen);
    q->nseen += (size_t)snprintf(q->seen + q->nseen, n + 1, "%s:%.*s\n", what, COR_STR_ARG(name));
}

static int on_item(struct cor_api_request *req, struct cor_object *item)
{
    asked_of(req)->nitems++;
    see(asked_of(req), "item", item);
    return 0;
}

static int on_open(struct cor_api_request *req)
{
    asked_of(req)->nopen++;
    return 0;
}

static int on_event(struct cor_api_request *req, const struct cor_watch_event *event)
{
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"};

    asked_of(req)->nevents++;
    see(asked_of(req), types[event->type], event->object);
    if (event->type == COR_WATCH_ERROR)
        asked_of(req)->code = event->status->code;
    return 0;
}

static void on_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct asked *q = asked_of(req);

    q->ndone++;
    q->end = answer->end;
    q->err = answer->error ? answer->error->err : 0;
    q->code = answer->error ? answer->error->code : q->code;
    q->remaining = answer->remaining;
    snprintf(q->message, sizeof(q->message), "%s",
             answer->error ? cor_status_message(answer->error) : "");
    snprintf(q->rv, sizeof(q->rv), "%.*s", COR_STR_ARG(answer->resource_version));
    snprintf(q->token, sizeof(q->token), "%.*s", COR_STR_ARG(answer->continue_token));
    if (answer->object)
        snprintf(q->name, sizeof(q->name), "%.*s", COR_STR_ARG(cor_object_kind(answer->object)));
}

static const struct cor_api_request_cbs cbs = {on_item, on_open, on_event, on_done};

static struct cor_api_port *port_of(struct rfx *f)
{
    return &f->p.ip.port;
}

/* About a resource of the aggregated server; `name` may be empty. */
static void asked_init(struct asked *q, struct rfx *f, const char *resource, const char *name)
{
    *q = (struct asked){
        .f = f,
        .req = {.at = {.gvr = {COR_STR(WARDLE_GROUP), COR_STR(WARDLE_VERSION), cor_strz(resource)},
                       .ns = COR_STR("n"),
                       .name = cor_strz(name)},
                .cbs = &cbs}};
}

static void asked_deinit(struct asked *q)
{
    assert_false(cor_api_is_under_way(&q->req));
    free(q->seen);
    q->seen = NULL;
}

static bool is_done(void *arg)
{
    return ((struct asked *)arg)->ndone > 0;
}

static void await_end(struct asked *q, enum cor_api_end end, int err)
{
    pfx_wait(&q->f->p, is_done, q);
    if (q->err != err)
        fail_msg("%d instead of %d: %s", q->err, err, q->message);
    assert_int_equal(q->end, end);
    assert_int_equal(q->ndone, 1);
}

static void list(struct asked *q, struct rfx *f, const char *resource)
{
    asked_init(q, f, resource, "");
    cor_api_list(port_of(f), &q->req, &(struct cor_list_query){.list.limit = 500});
}

static void watch(struct asked *q, struct rfx *f, const char *resource)
{
    asked_init(q, f, resource, "");
    cor_api_watch(port_of(f), &q->req, &(struct cor_list_query){0});
}

static bool is_held(void *arg)
{
    return ((struct rfx *)arg)->rec.held != NULL;
}

/* The answer to what was asked has begun, and the test goes on with it. */
static struct cor_http_response *begun(struct rfx *f)
{
    struct cor_http_response *resp;

    pfx_wait(&f->p, is_held, f);
    resp = f->rec.held;
    f->rec.held = NULL;
    return resp;
}

static bool never(void *arg)
{
    return false;
}

static void turn(struct rfx *f)
{
    (void)cor_loop_run_until(f->p.a.fx.loop, never, NULL, 1);
}

static void say(struct cor_http_response *resp, const char *bytes)
{
    assert_int_equal(cor_http_response_write(resp, cor_strz(bytes)), strlen(bytes));
}

/* The controller acts as its account, with the certificate of the front proxy. */
TEST(remote_call, lists_as_the_controller_behind_the_front_proxy)
{
    struct cor_http_response *resp;
    struct asked q;
    struct rfx f;

    rfx_open(&f, RFX_PLAIN);
    asked_init(&q, &f, "stream", "");
    q.req.metadata_only = true;
    cor_api_list(port_of(&f), &q.req,
                 &(struct cor_list_query){.label_selector = COR_STR("a=b"), .list.limit = 500});
    resp = begun(&f);
    say(resp,
        "{\"kind\":\"ThingList\",\"apiVersion\":\"wardle.example.com/v1alpha1\",\"metadata\":{"
        "\"resourceVersion\":\"7\",\"continue\":\"c\",\"remainingItemCount\":3},\"items\":["
        "{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{\"name\":\"b\"},\"spec\":{}}]}");
    cor_http_response_end(resp);
    await_end(&q, COR_API_ANSWERED, 0);
    assert_string_equal(q.seen, "item:a\nitem:b\n");
    assert_string_equal(q.rv, "7");
    assert_string_equal(q.token, "c");
    assert_int_equal(q.remaining, 3);
    assert_true(recording_saw(&f.rec, "GET " WARDLE "/namespaces/n/stream?labelSelector=a%3Db&"
                                      "limit=500\n"));
    assert_true(recording_saw(
        &f.rec, "x-remote-user: system:serviceaccount:kube-system:sample-controller\n"));
    assert_true(recording_saw(&f.rec, "x-remote-group: system:masters\n"));
    assert_true(recording_saw(&f.rec, "user-agent: kube-controller-manager\n"));
    assert_true(recording_saw(&f.rec, "as=PartialObjectMetadataList"));
    assert_string_equal(f.rec.client_cn, "front-proxy-client");
    asked_deinit(&q);
    rfx_close(&f);
}

/* More of them than may wait at once, in pieces that end anywhere. */
TEST(remote_call, gives_every_object_of_a_long_list_once_and_in_order)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body, wanted;
    struct cor_http_response *resp;
    struct asked q;
    struct rfx f;

    cor_buf_init(&body, 1 << 20);
    cor_buf_init(&wanted, 1 << 20);
    cor_buf_addz(&body, "{\"kind\":\"ThingList\",\"apiVersion\":\"v1\",\"items\":[");
    for (unsigned i = 0; i < 700; i++) {
        cor_buf_addf(&body, "%s{\"metadata\":{\"name\":\"t%u\"}}", i ? "," : "", i);
        cor_buf_addf(&wanted, "item:t%u\n", i);
    }
    cor_buf_addz(&body, "]}");
    rfx_open(&f, RFX_PLAIN);
    list(&q, &f, "stream");
    resp = begun(&f);
    for (size_t at = 0, n = 1; at < body.n; at += n, n = n * 3 % 1009 + 1) {
        struct cor_str rest = cor_str_from(cor_buf_str(&body), at);

        n = n < rest.n ? n : rest.n;
        assert_int_equal(cor_http_response_write(resp, cor_str(rest.p, n)), n);
        turn(&f);
    }
    cor_http_response_end(resp);
    await_end(&q, COR_API_ANSWERED, 0);
    assert_int_equal(q.nitems, 700);
    assert_string_equal(q.seen, cor_buf_z(&wanted));
    asked_deinit(&q);
    rfx_close(&f);
}

TEST(remote_call, items_as_small_as_items_can_be_all_arrive)
{
    static const char items[] =
        "[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},"
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},"
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},"
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},"
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},"
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]";
    struct cor_http_response *resp;
    struct asked q;
    struct rfx f;

    rfx_open(&f, RFX_PLAIN);
    list(&q, &f, "stream");
    resp = begun(&f);
    say(resp, "{\"kind\":\"ThingList\",\"apiVersion\":\"v1\",\"items\":");
    say(resp, items);
    say(resp, "}");
    cor_http_response_end(resp);
    await_end(&q, COR_API_ANSWERED, 0);
    assert_int_equal(q.nitems, (sizeof(items) - 2) / 3);
    asked_deinit(&q);
    rfx_close(&f);
}

static bool has_events(void *arg)
{
    struct asked *q = arg;

    return q->nevents >= 3 || q->ndone > 0;
}

static bool target_saw_it_go(void *arg)
{
    return ((struct rfx *)arg)->rec.ngone > 0;
}

TEST(remote_call, watches_until_an_error_or_a_cancel)
{
    struct cor_http_response *resp;
    struct asked q;
    struct rfx f;

    rfx_open(&f, RFX_PLAIN);
    watch(&q, &f, "stream");
    resp = begun(&f);
    say(resp,
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Thing\",\"apiVersion\":\"a/v1\",\"metadata\":{"
        "\"name\":\"a\"}}}\n{\"type\":\"MODI");
    say(resp,
        "FIED\",\"object\":{\"kind\":\"Thing\",\"apiVersion\":\"a/v1\",\"metadata\":{\"name\":"
        "\"a\"}}}\n{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
        "\"status\":\"Failure\",\"reason\":\"Expired\",\"code\":410}}\n");
    pfx_wait(&f.p, has_events, &q);
    await_end(&q, COR_API_ANSWERED, 0);
    assert_string_equal(q.seen, "ADDED:a\nMODIFIED:a\nERROR:\n");
    assert_int_equal(q.code, 410);
    assert_int_equal(q.nopen, 1);
    asked_deinit(&q);
    pfx_wait(&f.p, target_saw_it_go, &f);

    f.rec.ngone = 0;
    watch(&q, &f, "stream");
    (void)begun(&f);
    cor_api_cancel(port_of(&f), &q.req);
    pfx_wait(&f.p, target_saw_it_go, &f);
    assert_int_equal(q.ndone, 0);
    asked_deinit(&q);
    rfx_close(&f);
}

/* A watch that is cut is a plain end, as over HTTP; so is the end of our own server. */
TEST(remote_call, a_watch_ends_with_its_server_and_with_ours)
{
    struct cor_http_response *resp;
    struct asked q;
    struct rfx f;

    rfx_open(&f, RFX_PLAIN);
    watch(&q, &f, "stream");
    resp = begun(&f);
    say(resp, "{\"type\":\"AD");
    cor_http_response_abort(resp);
    await_end(&q, COR_API_ANSWERED, 0);
    asked_deinit(&q);

    watch(&q, &f, "stream");
    (void)begun(&f);
    while (q.nopen == 0)
        turn(&f);
    cor_inner_port_drain(&f.p.ip);
    await_end(&q, COR_API_ANSWERED, 0);
    asked_deinit(&q);
    rfx_close(&f);
}

/* Contract controllers 1.3.2, 1.3.3: a deletion sends its options, and needs no objects back. */
TEST(remote_call, deletes_an_object_and_a_collection)
{
    const struct cor_removal_options opts = {.propagation = COR_STR("Background")};
    struct asked q;
    struct rfx f;

    rfx_open(&f, RFX_PLAIN);
    asked_init(&q, &f, "things", "a");
    cor_api_remove(port_of(&f), &q.req, &opts);
    await_end(&q, COR_API_ANSWERED, 0);
    assert_true(recording_saw(&f.rec, "DELETE " THINGS "/a\n"));
    assert_true(recording_saw(&f.rec, "content-type: application/json\n"));
    assert_true(recording_saw(&f.rec, "\"propagationPolicy\":\"Background\""));
    assert_string_equal(q.name, "Echo");
    asked_deinit(&q);

    asked_init(&q, &f, "big", "");
    cor_api_remove_collection(port_of(&f), &q.req, &opts, NULL);
    await_end(&q, COR_API_ANSWERED, 0);
    assert_true(recording_saw(&f.rec, "DELETE " WARDLE "/namespaces/n/big\n"));
    asked_deinit(&q);
    rfx_close(&f);
}

/* What is no Status says what client-go makes of the code. */
TEST(remote_call, reports_what_the_server_refuses_and_what_it_should_not_say)
{
    static const struct {
        const char *name;
        int err, code;
    } cases[] = {
        {"teapot", -COR_EINVAL, 418},
        {"redirect", -COR_EIO, 502},
        {"break", -COR_EUNAVAILABLE, 503},
    };
    struct asked q;
    struct rfx f;

    rfx_open(&f, RFX_PLAIN);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        asked_init(&q, &f, "things", cases[i].name);
        cor_api_get(port_of(&f), &q.req, COR_STR(""));
        pfx_wait(&f.p, is_done, &q);
        assert_int_equal(q.end, COR_API_ANSWERED);
        assert_int_equal(q.code, cases[i].code);
        assert_true(q.err < 0);
        asked_deinit(&q);
    }
    /* 64 MB of zeros are no list. */
    list(&q, &f, "huge");
    await_end(&q, COR_API_UNANSWERED, -COR_EBROKEN);
    asked_deinit(&q);
    rfx_close(&f);
}

TEST(remote_call, asks_no_service_that_is_not_available)
{
    struct asked q;
    struct rfx f;

    rfx_open(&f, RFX_PLAIN);
    atomic_store(&f.service->is_available, false);
    list(&q, &f, "things");
    pfx_wait(&f.p, is_done, &q);
    assert_int_equal(q.code, 503);
    assert_int_equal(f.rec.nrequests, 0);
    asked_deinit(&q);
    rfx_close(&f);
}

/* What finds the services is asked as the server itself, and must not ask them. */
TEST(remote_call, what_the_server_asks_for_itself_stays_here)
{
    struct cor_inner_port own;
    struct asked q;
    struct rfx f;

    rfx_open(&f, RFX_PLAIN);
    cor_inner_port_init(&own, cor_api_loop(f.p.a.fx.api, 0), COR_STR(""), COR_STR("x"), 0);
    asked_init(&q, &f, "things", "a");
    cor_api_get(&own.port, &q.req, COR_STR(""));
    await_end(&q, COR_API_ANSWERED, -COR_ENOTFOUND);
    assert_int_equal(f.rec.nrequests, 0);
    while (!cor_inner_port_is_idle(&own))
        turn(&f);
    cor_inner_port_deinit(&own);
    asked_deinit(&q);
    rfx_close(&f);
}

/* Each has its time, and five in a row that were not answered open the circuit: then nobody waits
 * for the service any more. */
TEST(remote_call, a_service_that_hangs_costs_its_time_five_times)
{
    struct asked q;
    struct rfx f;

    rfx_open(&f, RFX_ON_CLOCK);
    for (unsigned i = 0; i < COR_TARGET_FAILURES; i++) {
        list(&q, &f, "hang");
        (void)begun(&f);
        cor_clock_manual_advance(&f.p.a.fx.clock, COR_REMOTE_CALL_MS - 1);
        turn(&f);
        assert_int_equal(q.ndone, 0);
        cor_clock_manual_advance(&f.p.a.fx.clock, 1);
        pfx_wait(&f.p, is_done, &q);
        assert_int_equal(q.code, 503);
        asked_deinit(&q);
    }
    list(&q, &f, "hang");
    pfx_wait(&f.p, is_done, &q);
    assert_int_equal(q.code, 503);
    assert_int_equal(f.rec.nrequests, COR_TARGET_FAILURES);
    asked_deinit(&q);
    rfx_close(&f);
}

/* A list that has begun and does not go on ends after the same time; a watch does not. */
TEST(remote_call, only_a_watch_may_be_silent)
{
    struct asked q, w;
    struct rfx f;

    rfx_open(&f, RFX_ON_CLOCK);
    watch(&w, &f, "stream");
    (void)begun(&f);
    while (w.nopen == 0)
        turn(&f);
    list(&q, &f, "stream");
    say(begun(&f), "{\"kind\":\"ThingList\",\"items\":[");
    cor_clock_manual_advance(&f.p.a.fx.clock, COR_REMOTE_CALL_MS);
    await_end(&q, COR_API_UNANSWERED, -COR_EBROKEN);
    assert_int_equal(w.ndone, 0);
    cor_api_cancel(port_of(&f), &w.req);
    asked_deinit(&q);
    asked_deinit(&w);
    rfx_close(&f);
}

/* Sends blanks, which are part of any JSON, as long as they are taken. */
struct flood {
    struct cor_http_response *resp;
    struct rfx *until_gone; /* until one of its answers is cut */
    size_t sent, max;
};

static bool flood_is_over(void *arg)
{
    static char blanks[16384];
    struct flood *flood = arg;
    size_t taken = sizeof(blanks);

    if (!blanks[0])
        memset(blanks, ' ', sizeof(blanks));
    while (flood->until_gone->rec.ngone == 0 && flood->sent < flood->max &&
           taken == sizeof(blanks)) {
        taken = cor_http_response_write(flood->resp, cor_str(blanks, sizeof(blanks)));
        flood->sent += taken;
    }
    return flood->until_gone->rec.ngone > 0 || flood->sent >= flood->max;
}

TEST(remote_call, a_list_without_end_is_cut)
{
    struct flood flood = {.max = 2 * (size_t)COR_REMOTE_CALL_BYTES_MAX};
    struct asked q;
    struct rfx f;

    rfx_open(&f, RFX_PLAIN);
    list(&q, &f, "stream");
    flood.resp = begun(&f);
    flood.until_gone = &f;
    pfx_wait(&f.p, flood_is_over, &flood);
    await_end(&q, COR_API_UNANSWERED, -COR_EBROKEN);
    assert_uint_in_range(flood.sent, COR_REMOTE_CALL_BYTES_MAX,
                         COR_REMOTE_CALL_BYTES_MAX + (4u << 20));
    asked_deinit(&q);
    rfx_close(&f);
}

/* Objects that never come to their end: three of less than 4 MB, and one that would be larger. */
TEST(remote_call, what_all_calls_hold_of_a_service_is_bounded)
{
    struct flood flood[4];
    struct asked q[4];
    struct rfx f;

    rfx_open(&f, RFX_PLAIN);
    for (size_t i = 0; i < 4; i++) {
        watch(&q[i], &f, "stream");
        flood[i] = (struct flood){
            .resp = begun(&f), .until_gone = &f, .max = i < 3 ? 7u << 19 : 64u << 20};
        say(flood[i].resp, "{\"type\":\"ADDED\",\"object\":{\"a\":");
    }
    for (size_t i = 0; i < 4; i++)
        pfx_wait(&f.p, flood_is_over, &flood[i]);
    /* The one that wants more is cut, as a watch that broke. */
    await_end(&q[3], COR_API_ANSWERED, 0);
    assert_uint_in_range(flood[3].sent, 1u << 20, 6u << 20);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(q[i].ndone, 0);
        cor_api_cancel(port_of(&f), &q[i].req);
    }
    for (size_t i = 0; i < 4; i++)
        asked_deinit(&q[i]);
    rfx_close(&f);
}

TEST(remote_call, without_memory_a_list_is_whole_or_fails)
{
    struct asked q;
    struct rfx f;

    rfx_open(&f, RFX_PLAIN);
    FOR_EACH_FAILED_ALLOC(n) {
        asked_init(&q, &f, "things", "a");
        cor_api_remove(port_of(&f), &q.req, NULL);
        pfx_wait(&f.p, is_done, &q);
        pfx_wait(&f.p, pfx_is_idle, &f.p);
        assert_true(q.err < 0 || cor_str_eqz(cor_strz(q.name), "Echo"));
        asked_deinit(&q);
    }
    assert_int_equal(q.err, 0);
    rfx_close(&f);
}
