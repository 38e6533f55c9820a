/* The API port over HTTP: what each call of the port sends, and how each kind of end is reported.
 * The rules that all ports share: tests/unit/kit/test_api_port.c. */
#include "kit/dynamic/api_port_http.h"

#include "discovery_documents.h"
#include "rest_fixture.h"

#define POD(name)                                                                                  \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name                       \
    "\",\"namespace\":\"x\",\"resourceVersion\":\"7\"}}"

struct sender {
    struct world w;
    struct cor_http_port hp;
    struct cor_api_request req;
    char seen[128]; /* names of objects, items and events */
    char rv[16];
    struct cor_api_resources *resources; /* a reference */
    bool is_done, is_open, cancels;
    enum cor_api_end end;
    int err;
};

static void see(struct sender *s, const char *what, const struct cor_object *object)
{
    size_t n = strlen(s->seen);

    snprintf(s->seen + n, sizeof(s->seen) - n, "%s%.*s ", what,
             COR_STR_ARG(cor_object_name(object)));
}

static struct sender *sender_of(struct cor_api_request *req)
{
    return COR_CONTAINER_OF(req, struct sender, req);
}

static int on_item(struct cor_api_request *req, struct cor_object *item)
{
    see(sender_of(req), "item:", item);
    if (sender_of(req)->cancels)
        cor_api_cancel(&sender_of(req)->hp.port, req);
    return 0;
}

static int on_open(struct cor_api_request *req)
{
    sender_of(req)->is_open = true;
    return 0;
}

static int on_event(struct cor_api_request *req, const struct cor_watch_event *event)
{
    see(sender_of(req), "event:", event->object);
    return 0;
}

static void on_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct sender *s = sender_of(req);

    assert_false(s->is_done);
    s->is_done = true;
    s->end = answer->end;
    s->err = answer->error ? answer->error->err : 0;
    if (answer->object)
        see(s, "", answer->object);
    snprintf(s->rv, sizeof(s->rv), "%.*s", COR_STR_ARG(answer->resource_version));
    if (answer->resources)
        s->resources = cor_api_resources_ref(answer->resources);
}

static const struct cor_api_request_cbs cbs = {on_item, on_open, on_event, on_done};

static void begin(struct sender *s, const struct answer *script, size_t n)
{
    *s = (struct sender){0};
    world_begin(&s->w, NULL);
    world_connect_freely(&s->w);
    world_script(&s->w, script, n);
    cor_http_port_init(&s->hp, s->w.rc);
}

static void prepare(struct sender *s, const char *name)
{
    s->is_done = false;
    s->seen[0] = '\0';
    s->resources = cor_api_resources_unref(s->resources);
    s->req = (struct cor_api_request){.at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("pods")},
                                             .ns = COR_STR("x"),
                                             .name = cor_strz(name)},
                                      .cbs = &cbs};
}

static bool is_done(void *arg)
{
    return ((struct sender *)arg)->is_done;
}

static bool has_seen(void *arg)
{
    return ((struct sender *)arg)->seen[0] != '\0';
}

static void wait_done(struct sender *s)
{
    assert_false(s->is_done); /* never inside the call */
    assert_true(cor_loop_run_until(s->w.loop, is_done, s, PATIENCE_MS));
}

static void end(struct sender *s)
{
    cor_api_resources_unref(s->resources);
    cor_http_port_deinit(&s->hp);
    world_end(&s->w);
}

TEST(api_port_http, each_verb_is_its_request)
{
    static const struct answer script[] = {
        {.body = POD("a")}, {.body = POD("b")}, {.body = POD("c")},
        {.body = POD("d")}, {.body = POD("e")}, {.body = "{\"kind\":\"PodList\",\"items\":[]}"},
        {.body = "{}"},     {.body = "{}"},
    };
    const struct cor_write_options write = {.field_manager = COR_STR("me")};
    const struct cor_removal_options removal = {.propagation = COR_STR("Foreground")};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *pod = NULL;
    struct sender s;

    assert_int_equal(cor_object_from_json(COR_STR(POD("b")), &pod, NULL), 0);
    begin(&s, script, COR_ARRAY_LEN(script));
    prepare(&s, "a");
    s.req.timeout_ms = 5000;
    cor_api_get(&s.hp.port, &s.req, COR_STR("0"));
    wait_done(&s);
    assert_string_equal(s.seen, "a ");
    prepare(&s, "");
    cor_api_create(&s.hp.port, &s.req, pod, &write);
    wait_done(&s);
    prepare(&s, "");
    cor_api_update(&s.hp.port, &s.req, pod, NULL);
    wait_done(&s);
    prepare(&s, "d");
    s.req.at.subresource = COR_STR("status");
    cor_api_patch(&s.hp.port, &s.req, COR_PATCH_MERGE, COR_STR("{}"), NULL);
    wait_done(&s);
    prepare(&s, "e");
    cor_api_remove(&s.hp.port, &s.req, &removal);
    wait_done(&s);
    assert_string_equal(s.seen, "e ");
    prepare(&s, "");
    cor_api_remove_collection(&s.hp.port, &s.req, NULL, NULL);
    wait_done(&s);
    prepare(&s, "");
    s.req.at.gvr = (struct cor_gvr){COR_STR("events.k8s.io"), COR_STR("v1"), COR_STR("events")};
    cor_api_serves(&s.hp.port, &s.req);
    wait_done(&s);
    prepare(&s, "");
    cor_api_serves(&s.hp.port, &s.req);
    wait_done(&s);
    assert_int_equal(s.err, 0);
    assert_int_equal(s.end, COR_API_ANSWERED);
    assert_str(cor_buf_str(&s.w.asked),
               "GET /api/v1/namespaces/x/pods/a?resourceVersion=0&timeout=5s\n"
               "POST /api/v1/namespaces/x/pods?fieldManager=me\n"
               "PUT /api/v1/namespaces/x/pods/b\n"
               "PATCH /api/v1/namespaces/x/pods/d/status\n"
               "DELETE /api/v1/namespaces/x/pods/e\n"
               "DELETE /api/v1/namespaces/x/pods\n"
               "GET /apis/events.k8s.io/v1\n"
               "GET /api/v1\n");
    end(&s);
}

TEST(api_port_http, lists_and_watches_give_what_comes_in)
{
    static const struct answer script[] = {
        {.body =
             "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\"},"
             "\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{\"name\":\"b\"}}]}"},
        {.body = "{\"type\":\"ADDED\",\"object\":" POD("c") "}\n"},
    };
    const struct cor_list_query query = {.list.resource_version = COR_STR("9")};
    struct sender s;

    begin(&s, script, COR_ARRAY_LEN(script));
    prepare(&s, "");
    cor_api_list(&s.hp.port, &s.req, &(struct cor_list_query){0});
    wait_done(&s);
    assert_string_equal(s.seen, "item:a item:b ");
    assert_string_equal(s.rv, "9");
    prepare(&s, "");
    cor_api_watch(&s.hp.port, &s.req, &query);
    wait_done(&s);
    assert_true(s.is_open);
    assert_string_equal(s.seen, "event:c ");
    assert_int_equal(s.err, 0);
    end(&s);
}

TEST(api_port_http, an_item_may_cancel_its_list)
{
    static const struct answer script[] = {
        {.body =
             "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\"},"
             "\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{\"name\":\"b\"}}]}"},
        {.body = POD("z")},
    };
    struct sender s;

    begin(&s, script, COR_ARRAY_LEN(script));
    prepare(&s, "");
    s.cancels = true;
    cor_api_list(&s.hp.port, &s.req, &(struct cor_list_query){0});
    assert_true(cor_loop_run_until(s.w.loop, has_seen, &s, PATIENCE_MS));
    assert_false(s.is_done);
    assert_false(cor_api_is_under_way(&s.req));
    prepare(&s, "z");
    cor_api_get(&s.hp.port, &s.req, COR_STR(""));
    wait_done(&s);
    assert_string_equal(s.seen, "z ");
    end(&s);
}

/* Contract controllers 1.3.1, 1.3.3 */
TEST(api_port_http, enumerates_resources_by_asking_the_server_each_time)
{
    static const struct answer script[] = {
        {.body = AGGREGATED_CORE, .content_type = AGGREGATED},
        {.body = AGGREGATED_APPS("Current"), .content_type = AGGREGATED},
        /* A version that is stale is asked for a second time. */
        {.body = AGGREGATED_CORE, .content_type = AGGREGATED},
        {.body = AGGREGATED_APPS("Stale"), .content_type = AGGREGATED},
        {.body = AGGREGATED_CORE, .content_type = AGGREGATED},
        {.body = AGGREGATED_APPS("Stale"), .content_type = AGGREGATED},
        {.status = 403, .body = "{}"},
    };
    const struct cor_gvk deployment = {COR_STR("apps"), COR_STR("v1"), COR_STR("Deployment")};
    const struct cor_gvr pods = {COR_STR(""), COR_STR("v1"), COR_STR("pods")};
    const struct cor_port_resource *found;
    struct sender s;

    begin(&s, script, COR_ARRAY_LEN(script));
    prepare(&s, "");
    cor_api_resources(&s.hp.port, &s.req);
    wait_done(&s);
    assert_int_equal(s.err, 0);
    assert_int_equal(s.resources->n, 4); /* pods, nodes, deployments, pods of metrics */
    assert_int_equal(s.resources->nfailures, 0);
    found = cor_api_resources_of_kind(s.resources, &deployment);
    assert_non_null(found);
    assert_str(found->gvr.resource, "deployments");
    found = cor_api_resources_find(s.resources, &pods);
    assert_true(found && found->is_namespaced && found->is_preferred);
    assert_int_equal(found->verbs, COR_API_VERB_BIT(GET) | COR_API_VERB_BIT(LIST));

    prepare(&s, "");
    cor_api_resources(&s.hp.port, &s.req);
    wait_done(&s);
    assert_int_equal(s.err, 0);
    assert_int_equal(s.resources->n, 3);
    assert_int_equal(s.resources->nfailures, 1);
    assert_str(s.resources->failures[0].gv.group, "metrics.k8s.io");
    assert_str(s.resources->failures[0].message,
               "stale GroupVersion discovery: metrics.k8s.io/v1beta1");

    prepare(&s, "");
    cor_api_resources(&s.hp.port, &s.req);
    cor_api_cancel(&s.hp.port, &s.req);
    cor_api_resources(&s.hp.port, &s.req);
    wait_done(&s);
    assert_int_equal(s.err, -COR_EFORBIDDEN);
    assert_int_equal(s.end, COR_API_ANSWERED);
    assert_null(s.resources);
    end(&s);
}

TEST(api_port_http, tells_answers_from_broken_connections_and_refusals)
{
    static const struct answer script[] = {{.status = 404, .body = "{}"}};
    struct sender s;

    begin(&s, script, COR_ARRAY_LEN(script));
    prepare(&s, "a");
    cor_api_get(&s.hp.port, &s.req, COR_STR(""));
    wait_done(&s);
    assert_int_equal(s.err, -COR_ENOTFOUND);
    assert_int_equal(s.end, COR_API_ANSWERED);

    prepare(&s, "a/b"); /* no path segment */
    cor_api_get(&s.hp.port, &s.req, COR_STR(""));
    wait_done(&s);
    assert_int_equal(s.err, -COR_EINVAL);
    assert_int_equal(s.end, COR_API_REFUSED);
    assert_int_equal(s.w.nasked, 1);

    prepare(&s, "a/b");
    cor_api_get(&s.hp.port, &s.req, COR_STR(""));
    cor_api_cancel(&s.hp.port, &s.req);
    prepare(&s, "");
    s.req.at.gvr.version = COR_STR("v9");
    s.req.deadline_ms = 1;
    cor_api_get(&s.hp.port, &s.req, COR_STR("")); /* without a name; the mail is posted already */
    wait_done(&s);
    assert_int_equal(s.end, COR_API_REFUSED);
    end(&s);
}

TEST(api_port_http, a_server_that_is_silent_is_given_up_at_the_deadline)
{
    static const struct answer script[] = {{.move = HOLD}, {.move = HOLD}};
    struct sender s;

    begin(&s, script, COR_ARRAY_LEN(script));
    prepare(&s, "a");
    s.req.deadline_ms = 20;
    cor_api_get(&s.hp.port, &s.req, COR_STR(""));
    wait_done(&s);
    assert_int_equal(s.err, -COR_ETIMEOUT);
    assert_int_equal(s.end, COR_API_UNANSWERED);
    end(&s);
}

TEST(api_port_http, a_request_without_memory_ends_with_that_error)
{
    static const struct answer script[] = {{.body = POD("a")}};
    struct sender s;

    begin(&s, script, COR_ARRAY_LEN(script));
    FOR_EACH_FAILED_ALLOC(n) {
        bool failed;

        prepare(&s, "a");
        cor_api_get(&s.hp.port, &s.req, COR_STR(""));
        failed = test_alloc_failed();
        if (failed) {
            wait_done(&s);
            assert_int_equal(s.err, -COR_ENOMEM);
            assert_int_not_equal(s.end, COR_API_ANSWERED);
        } else {
            cor_api_cancel(&s.hp.port, &s.req);
        }
    }
    end(&s);
}
