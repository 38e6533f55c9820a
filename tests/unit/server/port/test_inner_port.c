/* The API port in process: what each verb answers, how each kind of end is reported, and that a
 * request can be cancelled at every point. The rules that all ports share:
 * tests/unit/kit/test_api_port.c. */
#include "port_fixture.h"

#include <stdio.h>

#include "base/err.h"
#include "coracle/managed_fields.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

struct sender {
    struct pfx p;
    struct cor_api_request req;
    char *seen; /* what the callbacks got, one line each */
    size_t nseen;
    char *json;                          /* of the last object that on_done got */
    struct cor_api_resources *resources; /* likewise; a reference */
    char rv[32], token[512], message[512];
    char conflict[512]; /* the first owner and field of a conflict of fields; "": there is none */
    int64_t remaining;
    unsigned nitems, nevents, ndone, nopen;
    unsigned awaits;
    unsigned cancels_at; /* the callback that cancels the request, counted from 1; 0: none */
    int returns;         /* what on_item and on_event return */
    enum cor_api_end end;
    int err, code;
};

static struct sender *sender_of(struct cor_api_request *req)
{
    return COR_CONTAINER_OF(req, struct sender, req);
}

/* Kept outside of the counting allocator. */
static void see(struct sender *s, const char *what, const struct cor_object *object)
{
    struct cor_str name = object ? cor_object_name(object) : COR_STR("");
    size_t n = strlen(what) + name.n + 2;

    s->seen = realloc(s->seen, s->nseen + n + 1);
    assert_non_null(s->seen);
    s->nseen += (size_t)snprintf(s->seen + s->nseen, n + 1, "%s:%.*s\n", what, COR_STR_ARG(name));
}

static int called(struct sender *s)
{
    if (s->nopen + s->nitems + s->nevents == s->cancels_at)
        cor_api_cancel(&s->p.ip.port, &s->req);
    return s->returns;
}

static int on_item(struct cor_api_request *req, struct cor_object *item)
{
    struct sender *s = sender_of(req);

    assert_true(cor_object_kind(item).n > 0);
    s->nitems++;
    see(s, "item", item);
    return called(s);
}

static int on_open(struct cor_api_request *req)
{
    sender_of(req)->nopen++;
    return called(sender_of(req));
}

static int on_event(struct cor_api_request *req, const struct cor_watch_event *event)
{
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"};
    struct sender *s = sender_of(req);

    s->nevents++;
    see(s, types[event->type], event->object);
    if (event->type == COR_WATCH_ERROR) {
        assert_non_null(event->status);
        s->code = event->status->code;
    } else {
        snprintf(s->rv, sizeof(s->rv), "%.*s",
                 COR_STR_ARG(cor_object_resource_version(event->object)));
    }
    return called(s);
}

static void on_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct sender *s = sender_of(req);
    struct cor_field_conflict conflict;

    assert_false(cor_api_is_under_way(req));
    s->ndone++;
    s->end = answer->end;
    s->err = answer->error ? answer->error->err : 0;
    s->code = answer->error ? answer->error->code : s->code;
    snprintf(s->message, sizeof(s->message), "%s",
             answer->error ? cor_status_message(answer->error) : "");
    s->conflict[0] = '\0';
    if (answer->error && cor_status_field_conflict(answer->error, 0, &conflict))
        snprintf(s->conflict, sizeof(s->conflict), "%s %s", conflict.manager, conflict.field);
    s->remaining = answer->remaining;
    snprintf(s->rv, sizeof(s->rv), "%.*s", COR_STR_ARG(answer->resource_version));
    snprintf(s->token, sizeof(s->token), "%.*s", COR_STR_ARG(answer->continue_token));
    free(s->json);
    s->json = NULL;
    if (answer->object) {
        struct cor_str json = cor_object_json(answer->object);

        s->json = strndup(json.p, json.n);
    }
    if (answer->resources)
        s->resources = cor_api_resources_ref(answer->resources);
}

static const struct cor_api_request_cbs cbs = {on_item, on_open, on_event, on_done};

static void forget(struct sender *s)
{
    free(s->seen);
    free(s->json);
    s->seen = s->json = NULL;
    s->resources = cor_api_resources_unref(s->resources);
    s->nseen = 0;
    s->nitems = s->nevents = s->ndone = s->nopen = 0;
    s->err = s->code = 0;
}

static void name_is(struct sender *s, const char *plural, const char *name)
{
    forget(s);
    s->req = (struct cor_api_request){
        .at = {.gvr = {COR_STR(""), COR_STR("v1"), cor_strz(plural)},
               .ns = COR_STR("default"),
               .name = cor_strz(name)},
        .cbs = &cbs,
    };
}

static void begin(struct sender *s, bool is_cached)
{
    *s = (struct sender){0};
    pfx_open(&s->p, is_cached);
    name_is(s, "configmaps", "a");
}

static void end(struct sender *s)
{
    forget(s);
    pfx_close(&s->p);
}

static bool is_done(void *arg)
{
    return ((struct sender *)arg)->ndone > 0;
}

static bool has_awaited(void *arg)
{
    struct sender *s = arg;

    return !cor_api_is_under_way(&s->req) || (s->awaits > 0 && s->nevents >= s->awaits);
}

/* Waits for so many events, or for the end of the request; 0: for the end. */
static void await_events(struct sender *s, unsigned n)
{
    s->awaits = n;
    pfx_wait(&s->p, has_awaited, s);
}

static bool is_open(void *arg)
{
    return ((struct sender *)arg)->nopen > 0;
}

/* The request has not ended inside the call that sent it; it ends once, with these. */
static void assert_ends(struct sender *s, enum cor_api_end how, int err)
{
    assert_int_equal(s->ndone, 0);
    assert_true(cor_api_is_under_way(&s->req));
    pfx_wait(&s->p, is_done, s);
    assert_int_equal(s->ndone, 1);
    if (s->err != err)
        fail_msg("%d instead of %d: %s", s->err, err, s->message);
    assert_int_equal(s->end, how);
    /* An error with a code is one that the server answered with. */
    if (err < 0)
        assert_int_equal(s->code > 0, how == COR_API_ANSWERED || how == COR_API_REFUSED);
}

static void create(struct sender *s, const char *json, const struct cor_write_options *opts)
{
    struct cor_object *object = NULL;

    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    cor_api_create(&s->p.ip.port, &s->req, object, opts);
    cor_object_unref(object);
}

static void update(struct sender *s, const char *json)
{
    struct cor_object *object = NULL;

    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    cor_api_update(&s->p.ip.port, &s->req, object, NULL);
    cor_object_unref(object);
}

static void make(struct sender *s, unsigned from, unsigned n)
{
    char body[64];

    for (unsigned i = from; i < from + n; i++) {
        snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"m%03u\"}}", i);
        fx_do(&s->p.a.fx, 201, "POST", CONFIGMAPS, body);
    }
}

TEST(inner_port, writes_pass_every_stage_and_answer_with_the_object)
{
    struct sender s;

    begin(&s, false);
    create(&s, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\"}}", NULL);
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_string_equal(fx_at(s.json, "kind"), "ConfigMap");
    assert_string_not_equal(fx_at(s.json, "metadata.uid"), "");
    name_is(&s, "configmaps", "");
    update(&s, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"2\"}}");
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_string_equal(fx_at(s.json, "data.k"), "2");
    name_is(&s, "configmaps", "a");
    cor_api_patch(&s.p.ip.port, &s.req, COR_PATCH_MERGE, COR_STR("{\"data\":{\"l\":\"3\"}}"), NULL);
    assert_ends(&s, COR_API_ANSWERED, 0);
    name_is(&s, "configmaps", "a");
    cor_api_get(&s.p.ip.port, &s.req, COR_STR(""));
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_string_equal(fx_at(s.json, "data.k"), "2");
    assert_string_equal(fx_at(s.json, "data.l"), "3");
    name_is(&s, "configmaps", "a");
    cor_api_remove(&s.p.ip.port, &s.req, NULL);
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_string_equal(fx_at(s.json, "status"), "Success");
    fx_do(&s.p.a.fx, 404, "GET", CONFIGMAPS "/a", "");

    /* Defaults and allocation. */
    name_is(&s, "services", "");
    create(&s, "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"ports\":[{\"port\":80}]}}", NULL);
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_string_equal(fx_at(s.json, "spec.type"), "ClusterIP");
    assert_string_not_equal(fx_at(s.json, "spec.clusterIP"), "");
    end(&s);
}

/* The answer's conflicts, as a controller reads them. Contract apply 9.1 */
TEST(inner_port, an_apply_creates_meets_conflicts_and_takes_by_force)
{
    struct cor_write_options opts = {.field_manager = COR_STR("one")};
    struct sender s;
#define APPLIED(v)                                                                                 \
    COR_STR("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},"         \
            "\"data\":{\"k\":\"" v "\"}}")

    begin(&s, false);
    name_is(&s, "configmaps", "a");
    cor_api_patch(&s.p.ip.port, &s.req, COR_PATCH_APPLY, APPLIED("1"), &opts);
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_string_equal(fx_at(s.json, "metadata.managedFields[0].manager"), "one");
    assert_string_equal(fx_at(s.json, "metadata.managedFields[0].operation"), "Apply");
    opts.field_manager = COR_STR("two");
    name_is(&s, "configmaps", "a");
    cor_api_patch(&s.p.ip.port, &s.req, COR_PATCH_APPLY, APPLIED("2"), &opts);
    assert_ends(&s, COR_API_ANSWERED, -COR_ECONFLICT);
    assert_string_equal(s.conflict, "one .data.k");
    opts.force = COR_TRUE;
    name_is(&s, "configmaps", "a");
    cor_api_patch(&s.p.ip.port, &s.req, COR_PATCH_APPLY, APPLIED("2"), &opts);
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_string_equal(fx_at(s.json, "data.k"), "2");
    assert_string_equal(fx_at(s.json, "metadata.managedFields[0].manager"), "two");
    end(&s);
}

TEST(inner_port, a_write_with_dry_run_writes_nothing)
{
    const struct cor_write_options dry_run = {.dry_run = true};
    struct sender s;

    begin(&s, false);
    create(&s, "{\"metadata\":{\"name\":\"a\"}}", &dry_run);
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_string_equal(fx_at(s.json, "metadata.name"), "a");
    fx_do(&s.p.a.fx, 404, "GET", CONFIGMAPS "/a", "");
    end(&s);
}

TEST(inner_port, acts_as_a_service_account_of_kube_system)
{
    struct sender s;

    begin(&s, false);
    name_is(&s, "", "");
    s.req.at = (struct cor_resource_path){
        .gvr = {COR_STR("authentication.k8s.io"), COR_STR("v1"), COR_STR("selfsubjectreviews")}};
    create(&s, "{}", NULL);
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_string_equal(fx_at(s.json, "status.userInfo.username"),
                        "system:serviceaccount:kube-system:sample-controller");
    assert_string_equal(fx_at(s.json, "status.userInfo.groups[0]"), "system:masters");
    end(&s);
}

TEST(inner_port, without_an_account_acts_as_the_server_itself)
{
    struct sender s;

    begin(&s, false);
    cor_inner_port_deinit(&s.p.ip);
    cor_inner_port_init(&s.p.ip, cor_api_loop(s.p.a.fx.api, 0), COR_STR(""),
                        COR_STR("kube-apiserver"), 0);
    name_is(&s, "", "");
    s.req.at = (struct cor_resource_path){
        .gvr = {COR_STR("authentication.k8s.io"), COR_STR("v1"), COR_STR("selfsubjectreviews")}};
    create(&s, "{}", NULL);
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_string_equal(fx_at(s.json, "status.userInfo.username"), "system:apiserver");
    assert_string_equal(fx_at(s.json, "status.userInfo.groups[0]"), "system:masters");
    end(&s);
}

TEST(inner_port, errors_are_the_servers_status)
{
    struct sender s;

    begin(&s, false);
    cor_api_get(&s.p.ip.port, &s.req, COR_STR(""));
    assert_ends(&s, COR_API_ANSWERED, -COR_ENOTFOUND);
    assert_int_equal(s.code, 404);
    assert_string_equal(s.message, "configmaps \"a\" not found");
    make(&s, 0, 1);
    name_is(&s, "configmaps", "");
    create(&s, "{\"metadata\":{\"name\":\"m000\"}}", NULL);
    assert_ends(&s, COR_API_ANSWERED, -COR_EEXIST);
    name_is(&s, "configmaps", "");
    create(&s, "{\"metadata\":{\"name\":\"M\"}}", NULL);
    assert_ends(&s, COR_API_ANSWERED, -COR_EINVALID);
    name_is(&s, "configmaps", "m000");
    update(&s, "{\"metadata\":{\"name\":\"m000\",\"resourceVersion\":\"1\"}}");
    assert_ends(&s, COR_API_ANSWERED, -COR_ECONFLICT);
    name_is(&s, "configmaps", "m000");
    cor_api_remove(&s.p.ip.port, &s.req, &(struct cor_removal_options){.uid = COR_STR("other")});
    assert_ends(&s, COR_API_ANSWERED, -COR_ECONFLICT);
    name_is(&s, "nothings", "");
    cor_api_list(&s.p.ip.port, &s.req, &(struct cor_list_query){0});
    assert_ends(&s, COR_API_ANSWERED, -COR_ENOTFOUND);
    name_is(&s, "nothings", "");
    cor_api_watch(&s.p.ip.port, &s.req, &(struct cor_list_query){0});
    assert_ends(&s, COR_API_ANSWERED, -COR_ENOTFOUND);
    assert_int_equal(s.nopen, 0);
    end(&s);
}

TEST(inner_port, refuses_what_has_no_path)
{
    struct sender s;

    begin(&s, false);
    name_is(&s, "configmaps", "");
    cor_api_get(&s.p.ip.port, &s.req, COR_STR(""));
    assert_ends(&s, COR_API_REFUSED, -COR_EINVAL);
    assert_string_equal(s.message, "name is required");
    name_is(&s, "configmaps", "a/b");
    cor_api_remove(&s.p.ip.port, &s.req, NULL);
    assert_ends(&s, COR_API_REFUSED, -COR_EINVAL);
    name_is(&s, "configmaps", "a/b");
    cor_api_remove(&s.p.ip.port, &s.req, NULL);
    cor_api_cancel(&s.p.ip.port, &s.req);
    end(&s);
    assert_int_equal(s.ndone, 0);
}

TEST(inner_port, serves_what_discovery_has)
{
    struct sender s;

    begin(&s, false);
    cor_api_serves(&s.p.ip.port, &s.req);
    assert_ends(&s, COR_API_ANSWERED, 0);
    name_is(&s, "events", "");
    s.req.at.gvr.group = COR_STR("events.k8s.io");
    cor_api_serves(&s.p.ip.port, &s.req);
    assert_ends(&s, COR_API_ANSWERED, 0);
    name_is(&s, "events", "");
    s.req.at.gvr.group = COR_STR("sample.io");
    cor_api_serves(&s.p.ip.port, &s.req);
    assert_ends(&s, COR_API_ANSWERED, -COR_ENOTFOUND);
    end(&s);
}

/* More objects than may wait: the verb waits for room twice in each page. */
static const struct cor_port_resource *find(const struct sender *s, const char *group,
                                            const char *version, const char *resource)
{
    const struct cor_gvr gvr = {cor_strz(group), cor_strz(version), cor_strz(resource)};

    return cor_api_resources_find(s->resources, &gvr);
}

/* Contract controllers 1.3.1 */
TEST(inner_port, enumerates_what_the_catalog_has)
{
    const struct cor_gvk deployment = {COR_STR("apps"), COR_STR("v1"), COR_STR("Deployment")};
    struct cor_api_resources *before;
    const struct cor_port_resource *row;
    struct sender s;

    begin(&s, false);
    cor_api_resources(&s.p.ip.port, &s.req);
    assert_ends(&s, COR_API_ANSWERED, 0);
    row = find(&s, "", "v1", "configmaps");
    assert_true(row && row->is_namespaced && row->is_preferred);
    assert_str(row->kind, "ConfigMap");
    assert_int_equal(row->verbs, COR_API_VERBS_ALL);
    assert_false(find(&s, "", "v1", "namespaces")->is_namespaced);
    assert_false(find(&s, "", "v1", "bindings")->verbs & COR_API_VERB_BIT(DELETE));
    assert_true(find(&s, "autoscaling", "v2", "horizontalpodautoscalers")->is_preferred);
    assert_false(find(&s, "autoscaling", "v1", "horizontalpodautoscalers")->is_preferred);
    assert_str(cor_api_resources_of_kind(s.resources, &deployment)->gvr.resource, "deployments");

    /* The same list as long as the catalog is the same. */
    before = cor_api_resources_ref(s.resources);
    name_is(&s, "configmaps", "");
    cor_api_resources(&s.p.ip.port, &s.req);
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_ptr_equal(before, s.resources);
    cor_api_resources_unref(before);

    name_is(&s, "configmaps", "");
    cor_inner_port_drain(&s.p.ip);
    cor_api_resources(&s.p.ip.port, &s.req);
    assert_ends(&s, COR_API_REFUSED, -COR_EUNREACHABLE);
    end(&s);
}

TEST(inner_port, a_list_gives_its_items_one_by_one_page_by_page)
{
    struct cor_list_query query = {.list.limit = 2 * COR_INNER_WAITING_MAX + 10};
    struct sender s;
    char token[512], rv[32];

    for (int is_cached = 0; is_cached < 2; is_cached++) {
        begin(&s, is_cached);
        make(&s, 0, 2 * COR_INNER_WAITING_MAX + 30);
        cor_api_list(&s.p.ip.port, &s.req, &query);
        assert_ends(&s, COR_API_ANSWERED, 0);
        assert_int_equal(s.nitems, 2 * COR_INNER_WAITING_MAX + 10);
        assert_int_equal(s.remaining, 20);
        assert_memory_equal(s.seen, "item:m000\nitem:m001\n", 20);
        snprintf(token, sizeof(token), "%s", s.token);
        snprintf(rv, sizeof(rv), "%s", s.rv);
        assert_string_not_equal(rv, "");
        make(&s, 500, 1);
        name_is(&s, "configmaps", "");
        cor_api_list(
            &s.p.ip.port, &s.req,
            &(struct cor_list_query){.list = {.limit = 100, .continue_token = cor_strz(token)}});
        assert_ends(&s, COR_API_ANSWERED, 0);
        assert_int_equal(s.nitems, 20);
        assert_string_equal(s.rv, rv);
        assert_string_equal(s.token, "");
        assert_int_equal(s.remaining, -1);
        name_is(&s, "configmaps", "");
        cor_api_list(&s.p.ip.port, &s.req,
                     &(struct cor_list_query){.field_selector = COR_STR("metadata.name=m001")});
        assert_ends(&s, COR_API_ANSWERED, 0);
        assert_string_equal(s.seen, "item:m001\n");
        end(&s);
    }
}

/* No more of them wait at once than COR_INNER_WAITING_BYTES, and the one that reaches it. */
TEST(inner_port, large_items_wait_by_their_bytes)
{
    static char body[900u << 10];
    const unsigned n = 20, most = COR_INNER_WAITING_BYTES / (sizeof(body) - 100) + 1;
    struct sender s;

    begin(&s, true);
    for (unsigned i = 0; i < n; i++) {
        int head = snprintf(body, sizeof(body),
                            "{\"metadata\":{\"name\":\"m%03u\"},\"data\":{\"k\":\"", i);

        memset(body + head, 'x', sizeof(body) - (size_t)head);
        memcpy(body + sizeof(body) - 4, "\"}}", 4);
        fx_do(&s.p.a.fx, 201, "POST", CONFIGMAPS, body);
    }
    cor_api_list(&s.p.ip.port, &s.req, &(struct cor_list_query){.timeout_s = 0});
    while (s.ndone == 0) {
        unsigned before = s.nitems;

        (void)cor_loop_run_until(s.p.a.fx.loop, is_done, &s, 0);
        assert_true(s.nitems - before <= most);
    }
    assert_int_equal(s.nitems, n);
    end(&s);
}

/* Items over 64 KiB are converted by a thread. */
TEST(inner_port, lists_and_watches_in_another_version_than_the_stored_one)
{
    static const char *const head =
        "{\"spec\":{\"maxReplicas\":2,\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"d\"}},"
        "\"metadata\":{\"name\":\"%s\",\"annotations\":{\"a\":\"%s\"}}}";
    static char large[100 * 1024], body[110 * 1024];
    const struct cor_list_query all = {.timeout_s = 0};
    struct sender s;

    memset(large, 'x', sizeof(large) - 1);
    begin(&s, false);
    for (int i = 0; i < 3; i++) {
        char name[2] = {(char)('a' + i), '\0'};

        snprintf(body, sizeof(body), head, name, i == 1 ? large : "");
        fx_do(&s.p.a.fx, 201, "POST",
              "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", body);
    }
    for (int v = 1; v <= 2; v++) {
        name_is(&s, "horizontalpodautoscalers", "");
        s.req.at.gvr.group = COR_STR("autoscaling");
        s.req.at.gvr.version = v == 1 ? COR_STR("v1") : COR_STR("v2");
        cor_api_list(&s.p.ip.port, &s.req, &all);
        assert_ends(&s, COR_API_ANSWERED, 0);
        assert_string_equal(s.seen, "item:a\nitem:b\nitem:c\n");
        forget(&s);
        s.returns = 0;
        s.cancels_at = 4; /* on_open, and three events */
        cor_api_watch(&s.p.ip.port, &s.req, &all);
        await_events(&s, 0);
        assert_string_equal(s.seen, "ADDED:a\nADDED:b\nADDED:c\n");
        s.cancels_at = 0;
    }
    end(&s);
}

TEST(inner_port, a_watch_gives_events_as_they_come)
{
    struct sender s;
    const char *gone;

    for (int is_cached = 0; is_cached < 2; is_cached++) {
        begin(&s, is_cached);
        make(&s, 0, 2 * COR_INNER_WAITING_MAX + 5);
        cor_api_watch(&s.p.ip.port, &s.req, &(struct cor_list_query){0});
        assert_int_equal(s.nopen, 0);
        await_events(&s, 2 * COR_INNER_WAITING_MAX + 5);
        assert_int_equal(s.nopen, 1);
        free(s.seen);
        s.seen = NULL;
        s.nseen = 0;
        fx_do(&s.p.a.fx, 200, "PATCH", CONFIGMAPS "/m001", "{\"data\":{\"a\":\"b\"}}");
        fx_do(&s.p.a.fx, 200, "DELETE", CONFIGMAPS "/m001", "");
        await_events(&s, 2 * COR_INNER_WAITING_MAX + 7);
        assert_string_equal(s.seen, "MODIFIED:m001\nDELETED:m001\n");
        /* The last state, at the revision of the deletion. */
        gone = fx_at(fx_do(&s.p.a.fx, 200, "GET", CONFIGMAPS, ""), "metadata.resourceVersion");
        assert_string_equal(s.rv, gone);
        assert_int_equal(s.ndone, 0);
        cor_api_cancel(&s.p.ip.port, &s.req);
        end(&s);
    }
}

TEST(inner_port, a_watch_that_begins_with_the_state_has_a_bookmark_after_it)
{
    const struct cor_list_query query = {
        .list = {.send_initial_events = COR_TRUE,
                 .allow_bookmarks = true,
                 .resource_version_match = COR_STR("NotOlderThan")}};
    struct sender s;

    begin(&s, true);
    make(&s, 0, 2);
    cor_api_watch(&s.p.ip.port, &s.req, &query);
    await_events(&s, 3);
    assert_string_equal(s.seen, "ADDED:m000\nADDED:m001\nBOOKMARK:\n");
    cor_api_cancel(&s.p.ip.port, &s.req);
    end(&s);
}

TEST(inner_port, an_error_of_a_watch_is_its_last_event)
{
    struct sender s;

    begin(&s, false);
    cor_api_watch(&s.p.ip.port, &s.req, &(struct cor_list_query){0});
    pfx_wait(&s.p, is_open, &s);
    fx_put_raw(&s.p.a.fx, "/registry/configmaps/default/bad", "garbage");
    pfx_wait(&s.p, is_done, &s); /* perhaps while the value was stored */
    assert_int_equal(s.ndone, 1);
    assert_int_equal(s.err, 0);
    assert_string_equal(s.seen, "ERROR:\n");
    assert_int_equal(s.code, 500);
    end(&s);
}

TEST(inner_port, gives_only_metadata_when_no_more_is_asked_for)
{
    struct sender s;

    begin(&s, false);
    fx_do(&s.p.a.fx, 201, "POST", CONFIGMAPS,
          "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"y\"}},\"data\":{\"k\":\"1\"}}");
    s.req.metadata_only = true;
    cor_api_get(&s.p.ip.port, &s.req, COR_STR(""));
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_string_equal(fx_at(s.json, "kind"), "PartialObjectMetadata");
    assert_string_equal(fx_at(s.json, "metadata.labels.x"), "y");
    assert_string_not_equal(fx_at(s.json, "metadata.resourceVersion"), "");
    assert_string_equal(fx_at(s.json, "data.k"), "");
    name_is(&s, "configmaps", "");
    s.req.metadata_only = true;
    cor_api_list(&s.p.ip.port, &s.req, &(struct cor_list_query){0});
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_string_equal(s.seen, "item:a\n");
    end(&s);
}

TEST(inner_port, a_collection_is_removed_without_items)
{
    struct sender s;

    begin(&s, false);
    make(&s, 0, 3);
    cor_api_remove_collection(
        &s.p.ip.port, &s.req, NULL,
        &(struct cor_list_query){.field_selector = COR_STR("metadata.name!=m001")});
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_null(s.json);
    assert_int_equal(s.nitems, 0);
    name_is(&s, "configmaps", "");
    cor_api_list(&s.p.ip.port, &s.req, &(struct cor_list_query){0});
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_string_equal(s.seen, "item:m001\n");
    end(&s);
}

/* The loop is not held while the objects of the answer are dropped. */
TEST(inner_port, a_large_collection_is_removed_in_several_turns)
{
    struct sender s;

    begin(&s, true);
    make(&s, 0, 2100);
    name_is(&s, "configmaps", "");
    cor_api_remove_collection(&s.p.ip.port, &s.req, NULL, NULL);
    assert_ends(&s, COR_API_ANSWERED, 0);
    assert_int_equal(s.nitems, 0);
    assert_string_equal(fx_at(fx_do(&s.p.a.fx, 200, "GET", CONFIGMAPS, ""), "items[0]"), "");
    end(&s);
}

TEST(inner_port, what_a_callback_returns_ends_the_request)
{
    struct sender s;

    begin(&s, false);
    make(&s, 0, 3);
    s.returns = -COR_ETOOBIG;
    cor_api_list(&s.p.ip.port, &s.req, &(struct cor_list_query){0});
    assert_ends(&s, COR_API_UNANSWERED, -COR_ETOOBIG);
    assert_int_equal(s.nitems, 1);
    name_is(&s, "configmaps", "");
    cor_api_watch(&s.p.ip.port, &s.req, &(struct cor_list_query){0});
    assert_ends(&s, COR_API_UNANSWERED, -COR_ETOOBIG);
    assert_int_equal(s.nopen, 1);
    assert_int_equal(s.nevents, 0);
    end(&s);
}

TEST(inner_port, a_request_whose_time_is_over_ends_without_its_answer)
{
    struct sender s;

    begin(&s, false);
    pfx_hold(&s.p, COR_ENGINE_RANGE, "configmaps/default/a");
    s.req.timeout_ms = 60000;
    s.req.deadline_ms = 1;
    cor_api_get(&s.p.ip.port, &s.req, COR_STR(""));
    assert_ends(&s, COR_API_UNANSWERED, -COR_ETIMEOUT);
    pfx_let_go(&s.p);
    name_is(&s, "configmaps", "");
    pfx_hold(&s.p, COR_ENGINE_WRITE, "configmaps/default/a");
    s.req.timeout_ms = 1;
    create(&s, "{\"metadata\":{\"name\":\"a\"}}", NULL);
    assert_ends(&s, COR_API_UNANSWERED, -COR_ETIMEOUT);
    pfx_let_go(&s.p);
    name_is(&s, "configmaps", "");
    s.req.deadline_ms = 1;
    cor_api_watch(&s.p.ip.port, &s.req, &(struct cor_list_query){0});
    pfx_wait(&s.p, is_done, &s);
    /* A watch that was open by then has a plain end. */
    assert_int_equal(s.err, s.nopen > 0 ? 0 : -COR_ETIMEOUT);
    end(&s);
}

static int ignore_event(struct cor_api_request *req, const struct cor_watch_event *event)
{
    return 0;
}

static void fail_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    fail_msg("a watch has ended");
}

TEST(inner_port, more_requests_than_its_maximum_are_refused)
{
    static const struct cor_api_request_cbs watch_cbs = {.on_event = ignore_event,
                                                         .on_done = fail_done};
    struct cor_api_request more[2] = {0};
    struct sender s;

    begin(&s, false);
    s.p.ip.sender.requests_max = 2;
    for (int i = 0; i < 2; i++) {
        more[i].at = s.req.at;
        more[i].cbs = &watch_cbs;
        cor_api_watch(&s.p.ip.port, &more[i], &(struct cor_list_query){0});
    }
    cor_api_get(&s.p.ip.port, &s.req, COR_STR(""));
    assert_ends(&s, COR_API_REFUSED, -COR_EBUSY);
    for (int i = 0; i < 2; i++)
        cor_api_cancel(&s.p.ip.port, &more[i]);
    end(&s);
}

TEST(inner_port, watches_end_and_nothing_is_sent_when_the_server_shuts_down)
{
    struct sender s;

    for (int has_begun = 0; has_begun < 2; has_begun++) {
        begin(&s, has_begun);
        make(&s, 0, 1);
        cor_api_watch(&s.p.ip.port, &s.req, &(struct cor_list_query){0});
        if (has_begun)
            await_events(&s, 1);
        cor_inner_port_drain(&s.p.ip);
        cor_inner_port_drain(&s.p.ip);
        assert_ends(&s, COR_API_ANSWERED, 0);
        name_is(&s, "configmaps", "m000");
        cor_api_get(&s.p.ip.port, &s.req, COR_STR(""));
        assert_ends(&s, COR_API_REFUSED, -COR_EUNREACHABLE);
        end(&s);
    }
}

/* An answer that is on its way when the server begins to shut down still comes. */
TEST(inner_port, a_write_under_way_is_answered_while_the_server_shuts_down)
{
    struct sender s;

    begin(&s, false);
    pfx_hold(&s.p, COR_ENGINE_WRITE, "configmaps/default/a");
    name_is(&s, "configmaps", "");
    create(&s, "{\"metadata\":{\"name\":\"a\"}}", NULL);
    afx_wait_held(&s.p.a, &s.p.hold);
    cor_inner_port_drain(&s.p.ip);
    pfx_let_go(&s.p);
    assert_ends(&s, COR_API_ANSWERED, 0);
    end(&s);
}

/* Sends the request of verb `i`. False: there is no such verb. */
static bool send_verb(struct sender *s, int i)
{
    const struct cor_write_options dry_run = {.dry_run = true};
    const struct cor_removal_options dry_removal = {.dry_run = true};
    struct cor_api_port *port = &s->p.ip.port;

    name_is(s, "configmaps", "m000");
    switch (i) {
    case 0:
        cor_api_get(port, &s->req, COR_STR(""));
        return true;
    case 1:
        cor_api_list(port, &s->req, &(struct cor_list_query){0});
        return true;
    case 2:
        cor_api_watch(port, &s->req, &(struct cor_list_query){0});
        return true;
    case 3:
        cor_api_patch(port, &s->req, COR_PATCH_MERGE, COR_STR("{\"data\":{\"k\":\"v\"}}"),
                      &dry_run);
        return true;
    case 4:
        cor_api_remove(port, &s->req, &dry_removal);
        return true;
    case 5:
        cor_api_remove_collection(port, &s->req, &dry_removal, NULL);
        return true;
    case 6:
        cor_api_serves(port, &s->req);
        return true;
    case 7:
        s->req.metadata_only = true;
        cor_api_get(port, &s->req, COR_STR("0"));
        return true;
    case 8:
        /* As if the catalog was another one than at the last time. */
        s->p.ip.resources = cor_api_resources_unref(s->p.ip.resources);
        cor_api_resources(port, &s->req);
        return true;
    case 9:
        s->req.metadata_only = true;
        cor_api_list(port, &s->req, &(struct cor_list_query){0});
        return true;
    }
    return false;
}

#define WATCH     2
#define RESOURCES 8

TEST(inner_port, nothing_is_called_after_a_cancel_at_any_turn)
{
    struct sender s;

    begin(&s, false);
    make(&s, 0, COR_INNER_WAITING_MAX + 3);
    for (int i = 0; send_verb(&s, i); i++) {
        cor_api_cancel(&s.p.ip.port, &s.req);
        for (int turns = 1; turns < 12; turns++) {
            assert_true(send_verb(&s, i));
            for (int t = 0; t < turns; t++)
                (void)cor_loop_run_ready(s.p.a.fx.loop, 1);
            s.ndone = s.nitems = s.nevents = s.nopen = 0;
            cor_api_cancel(&s.p.ip.port, &s.req);
            assert_false(cor_api_is_under_way(&s.req));
            for (int t = 0; t < 4; t++)
                (void)cor_loop_run_ready(s.p.a.fx.loop, 1);
            assert_int_equal(s.ndone + s.nitems + s.nevents + s.nopen, 0);
        }
    }
    end(&s);
}

TEST(inner_port, a_request_may_be_cancelled_inside_each_of_its_callbacks)
{
    struct sender s;

    begin(&s, false);
    make(&s, 0, COR_INNER_WAITING_MAX + 3);
    for (int i = 1; i <= WATCH; i++) {
        for (unsigned at = 1; at <= COR_INNER_WAITING_MAX + 3; at++) {
            assert_true(send_verb(&s, i));
            s.cancels_at = at;
            await_events(&s, 0);
            assert_int_equal(s.nopen + s.nitems + s.nevents, at);
            assert_int_equal(s.ndone, 0);
        }
    }
    s.cancels_at = 0;
    end(&s);
}

/* A success has everything that it has with memory; a failure is one that says so. */
TEST(inner_port, survives_failed_allocations)
{
    struct sender s;
    char *json, *seen;

    begin(&s, false);
    make(&s, 0, 5);
    for (int i = 0; send_verb(&s, i); i++) {
        unsigned whole = i == WATCH ? 5 : 0;

        await_events(&s, whole);
        cor_api_cancel(&s.p.ip.port, &s.req);
        assert_int_equal(s.err, 0);
        json = s.json ? strdup(s.json) : NULL;
        seen = s.seen ? strdup(s.seen) : NULL;
        FOR_EACH_FAILED_ALLOC(n) {
            assert_true(send_verb(&s, i));
            await_events(&s, whole);
            cor_api_cancel(&s.p.ip.port, &s.req);
            pfx_wait(&s.p, pfx_is_idle, &s.p);
            if (s.ndone > 0 && s.err < 0)
                continue;
            /* A watch ends with an error event, or with its plain end. */
            if (whole > 0 && s.ndone > 0)
                continue;
            assert_int_equal(s.err, 0);
            assert_true(i != RESOURCES || s.resources->n > 0);
            assert_int_equal(!json, !s.json);
            if (json && i != 3) /* a patch has the time of the moment */
                assert_string_equal(json, s.json);
            assert_int_equal(!seen, !s.seen);
            if (seen)
                assert_string_equal(seen, s.seen);
        }
        free(json);
        free(seen);
    }
    end(&s);
}

TEST(inner_port, a_create_without_memory_fails_or_is_whole)
{
    const struct cor_write_options dry_run = {.dry_run = true};
    struct cor_object *object = NULL;
    struct sender s;

    begin(&s, false);
    assert_int_equal(
        cor_object_from_json(COR_STR("{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\"}}"),
                             &object, NULL),
        0);
    FOR_EACH_FAILED_ALLOC(n) {
        name_is(&s, "configmaps", "");
        cor_api_create(&s.p.ip.port, &s.req, object, &dry_run);
        pfx_wait(&s.p, is_done, &s);
        pfx_wait(&s.p, pfx_is_idle, &s.p);
        if (s.err < 0)
            continue;
        assert_non_null(strstr(s.json, "\"data\":{\"k\":\"1\"}"));
        assert_non_null(strstr(s.json, "\"name\":\"a\",\"namespace\":\"default\",\"uid\":"));
    }
    cor_object_unref(object);
    end(&s);
}
