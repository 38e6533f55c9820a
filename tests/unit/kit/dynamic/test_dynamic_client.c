#include "kit/dynamic/dynamic_client.h"

#include "kit/dynamic/list_reader.h"
#include "kit/dynamic/watch_reader.h"
#include "meta/names/patch_type.h"
#include "rest_fixture.h"

#define POD(name, rv)                                                                              \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name                       \
    "\",\"namespace\":\"x\",\"resourceVersion\":\"" rv "\"}}"
#define FAILURE(code, reason, message)                                                             \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","           \
    "\"message\":\"" message "\",\"reason\":\"" reason "\",\"code\":" #code "}"
#define SUCCESS "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\"}"

static const struct cor_gvr pods = {COR_STR(""), COR_STR("v1"), COR_STR("pods")};

/* What a request has told. */
struct told {
    struct world *w;
    struct cor_dynamic_request *req;
    struct cor_buf text; /* names and versions of objects, types of events */
    int max;             /* items before on_item refuses; 0: never */
    int left;            /* items before it is cancelled; 0: never */
    bool is_done, is_open;
    int err, code;
    char message[256];
    char rv[32], token[32];
    int64_t remaining;
    const struct cor_wire_type *wire; /* asked for */
};

static void note(struct told *t, const char *what, const struct cor_object *o)
{
    cor_buf_addf(&t->text, "%s%.*s@%.*s ", what, COR_STR_ARG(cor_object_name(o)),
                 COR_STR_ARG(cor_object_resource_version(o)));
}

static void note_error(struct told *t, const struct cor_status *error)
{
    assert_false(t->is_done);
    t->is_done = true;
    if (!error)
        return;
    t->err = error->err;
    t->code = error->code;
    snprintf(t->message, sizeof(t->message), "%s", cor_status_message(error));
}

static void on_done(void *arg, const struct cor_response *response)
{
    struct told *t = arg;

    note_error(t, response->error);
    assert_true(!response->error || !response->object);
    if (response->object)
        note(t, "", response->object);
    snprintf(t->rv, sizeof(t->rv), "%.*s", COR_STR_ARG(response->resource_version));
    snprintf(t->token, sizeof(t->token), "%.*s", COR_STR_ARG(response->continue_token));
    t->remaining = response->remaining;
}

static int on_item(void *arg, struct cor_object *object)
{
    struct told *t = arg;

    assert_str(cor_object_kind(object), "Pod");
    assert_str(cor_object_api_version(object), "v1");
    note(t, "", object);
    if (t->max > 0 && --t->max == 0)
        return -COR_ETOOBIG;
    if (t->left > 0 && --t->left == 0) {
        cor_dynamic_cancel(t->req);
        return -COR_ECANCELED;
    }
    return 0;
}

static int on_open(void *arg)
{
    ((struct told *)arg)->is_open = true;
    return 0;
}

static int on_event(void *arg, const struct cor_watch_event *event)
{
    static const char *const names[] = {
        [COR_WATCH_ADDED] = "+",    [COR_WATCH_MODIFIED] = "~", [COR_WATCH_DELETED] = "-",
        [COR_WATCH_BOOKMARK] = "#", [COR_WATCH_ERROR] = "!",    [COR_WATCH_UNKNOWN] = "?"};
    struct told *t = arg;

    if (event->type == COR_WATCH_ERROR)
        cor_buf_addf(&t->text, "!%d %s ", event->status->code, event->status->reason);
    else
        note(t, names[event->type], event->object);
    if (t->left > 0 && --t->left == 0) {
        cor_dynamic_cancel(t->req);
        return -COR_ECANCELED;
    }
    return 0;
}

static void begin(struct world *w, const struct answer *script, size_t n)
{
    world_begin(w, NULL);
    world_connect_freely(w);
    world_script(w, script, n);
}

static struct told told(struct world *w)
{
    struct told t = {.w = w};

    cor_buf_init(&t.text, 4096);
    return t;
}

static struct cor_api_operation op_of(enum cor_api_verb verb, const char *name)
{
    return (struct cor_api_operation){
        .verb = verb, .at = {.gvr = pods, .ns = COR_STR("x"), .name = cor_strz(name)}};
}

/* The refusal is in the message, which is otherwise that of the error. */
static int send_op(struct told *t, struct cor_api_operation op)
{
    static const struct cor_dynamic_cbs cbs = {on_open, on_item, on_event, on_done};
    const struct cor_dynamic_call call = {
        .client = t->w->rc, .wire = t->wire, .cbs = &cbs, .arg = t};
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    int r = cor_dynamic_send(&call, &op, &t->req, &why);

    if (r < 0)
        snprintf(t->message, sizeof(t->message), "%s", cor_status_message(&why));
    return r;
}

static struct cor_object *object_of(const char *json)
{
    struct cor_object *object;

    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &object, NULL), 0);
    return object;
}

/* Waits for the end; then `t` is ready for another. */
static void expect(struct told *t, int r, const char *text, int err)
{
    assert_int_equal(r, 0);
    assert_false(t->is_done);
    world_until(t->w, is_flag, &t->is_done);
    assert_str(cor_buf_str(&t->text), text);
    assert_int_equal(t->err, err);
    cor_buf_reset(&t->text);
    t->is_done = false;
}

/* Contract client 4.14.1, 4.14.2. */
TEST(dynamic_client, all_verbs_on_an_object)
{
    static const struct answer script[] = {
        {.body = POD("a", "5")},
        {.status = 201, .body = POD("b", "6")},
        {.body = POD("b", "7")},
        {.body = POD("b", "8")},
        {.body = POD("a", "9")},
        {.body = POD("a", "10")},
        {.body = POD("a", "11")},
        {.body = POD("a", "12")},
        {.body = SUCCESS},
        {.body = POD("a", "13")},
        {.body = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":[]}"},
        {.status = 201, .body = SUCCESS},
    };
    struct cor_object *b = object_of("{\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\"}}");
    struct cor_api_operation op;
    struct world w;
    struct told t;

    begin(&w, script, COR_ARRAY_LEN(script));
    t = told(&w);
    op = op_of(COR_API_VERB_GET, "a");
    op.query.list.resource_version = COR_STR("0");
    expect(&t, send_op(&t, op), "a@5 ", 0);
    op = op_of(COR_API_VERB_CREATE, "");
    op.object = b;
    expect(&t, send_op(&t, op), "b@6 ", 0);
    op.verb = COR_API_VERB_UPDATE;
    op.write.dry_run = true;
    expect(&t, send_op(&t, op), "b@7 ", 0);
    op.write.dry_run = false;
    op.at.subresource = COR_STR("status");
    expect(&t, send_op(&t, op), "b@8 ", 0);
    op = op_of(COR_API_VERB_PATCH, "a");
    op.patch_type = COR_PATCH_JSON;
    op.patch = COR_STR("[]");
    expect(&t, send_op(&t, op), "a@9 ", 0);
    op.patch_type = COR_PATCH_MERGE;
    op.patch = COR_STR("{}");
    expect(&t, send_op(&t, op), "a@10 ", 0);
    op.patch_type = COR_PATCH_STRATEGIC;
    expect(&t, send_op(&t, op), "a@11 ", 0);
    op.patch_type = COR_PATCH_APPLY;
    op.write = (struct cor_write_options){.field_manager = COR_STR("me"), .force = COR_TRUE};
    expect(&t, send_op(&t, op), "a@12 ", 0);
    op = op_of(COR_API_VERB_DELETE, "a");
    expect(&t, send_op(&t, op), "@ ", 0);
    op.removal.propagation = COR_STR("Orphan");
    expect(&t, send_op(&t, op), "a@13 ", 0);
    op = op_of(COR_API_VERB_DELETECOLLECTION, "a");
    op.query.label_selector = COR_STR("a=b");
    expect(&t, send_op(&t, op), "", 0);
    op = op_of(COR_API_VERB_CREATE, "a");
    op.object = b;
    op.at.subresource = COR_STR("eviction");
    expect(&t, send_op(&t, op), "@ ", 0);
    assert_str(cor_buf_str(&w.asked),
               "GET /api/v1/namespaces/x/pods/a?resourceVersion=0\n"
               "POST /api/v1/namespaces/x/pods\n"
               "PUT /api/v1/namespaces/x/pods/b?dryRun=All\n"
               "PUT /api/v1/namespaces/x/pods/b/status\n"
               "PATCH /api/v1/namespaces/x/pods/a\n"
               "PATCH /api/v1/namespaces/x/pods/a\n"
               "PATCH /api/v1/namespaces/x/pods/a\n"
               "PATCH /api/v1/namespaces/x/pods/a?force=true&fieldManager=me\n"
               "DELETE /api/v1/namespaces/x/pods/a\n"
               "DELETE /api/v1/namespaces/x/pods/a\n"
               "DELETE /api/v1/namespaces/x/pods?labelSelector=a%3Db\n"
               "POST /api/v1/namespaces/x/pods/a/eviction\n");
    assert_non_null(strstr(w.headers.p, "application/json-patch+json"));
    assert_non_null(strstr(w.headers.p, "application/merge-patch+json"));
    assert_non_null(strstr(w.headers.p, "application/strategic-merge-patch+json"));
    assert_non_null(strstr(w.headers.p, "application/apply-patch+yaml"));
    assert_non_null(strstr(w.bodies.p, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                                       "\"propagationPolicy\":\"Orphan\"}"));
    cor_object_unref(b);
    cor_buf_deinit(&t.text);
    world_end(&w);
}

/* Contract client 4.14.8, 4.10.5. */
TEST(dynamic_client, a_failure_is_the_servers_status)
{
    static const struct answer script[] = {
        {.status = 409, .body = FAILURE(409, "Conflict", "the object has been modified")},
        {.body = FAILURE(404, "NotFound", "gone")},
        {.body = "{\"kind\":\"Status\"}"},
        {.body = "nothing"},
        {.body = ""},
    };
    const struct cor_api_operation get = op_of(COR_API_VERB_GET, "a");
    struct world w;
    struct told t;

    begin(&w, script, COR_ARRAY_LEN(script));
    t = told(&w);
    expect(&t, send_op(&t, op_of(COR_API_VERB_DELETE, "a")), "", -COR_ECONFLICT);
    assert_string_equal(t.message, "the object has been modified");
    expect(&t, send_op(&t, get), "", -COR_ENOTFOUND);
    assert_int_equal(t.code, 404);
    expect(&t, send_op(&t, get), "", -COR_EINTERNAL);
    expect(&t, send_op(&t, get), "", -COR_EPROTOCOL);
    expect(&t, send_op(&t, get), "", -COR_EPROTOCOL);
    cor_buf_deinit(&t.text);
    world_end(&w);
}

/* Contract client 4.14.3 to 4.14.5: nothing is sent. */
TEST(dynamic_client, refuses_before_it_asks)
{
    static const enum cor_api_verb named[] = {COR_API_VERB_GET, COR_API_VERB_UPDATE,
                                              COR_API_VERB_PATCH, COR_API_VERB_DELETE};
    struct cor_object *nameless = object_of("{\"kind\":\"Pod\"}");
    struct cor_api_operation op;
    struct world w;
    struct told t;

    begin(&w, NULL, 0);
    t = told(&w);
    for (size_t i = 0; i < COR_ARRAY_LEN(named); i++) {
        op = op_of(named[i], "");
        op.object = named[i] == COR_API_VERB_UPDATE ? nameless : NULL;
        t.message[0] = '\0';
        assert_int_equal(send_op(&t, op), -COR_EINVAL);
        assert_string_equal(t.message, "name is required");
    }
    op = op_of(COR_API_VERB_CREATE, "");
    op.object = nameless;
    op.at.subresource = COR_STR("eviction");
    t.message[0] = '\0';
    assert_int_equal(send_op(&t, op), -COR_EINVAL);
    assert_string_equal(t.message, "name is required");
    assert_int_equal(send_op(&t, op_of(COR_API_VERB_GET, "a/b")), -COR_EINVAL);
    assert_string_equal(t.message, "invalid resource name \"a/b\": [may not contain '/']");
    op = op_of(COR_API_VERB_PATCH, "a");
    op.patch_type = COR_PATCH_APPLY;
    op.patch = COR_STR("{\"metadata\":{\"name\":\"a\",\"managedFields\":[{}]}}");
    assert_int_equal(send_op(&t, op), -COR_EINVAL);
    assert_string_equal(t.message, "cannot apply an object with managed fields already set");
    op.patch_type = COR_PATCH_TYPES;
    assert_int_equal(send_op(&t, op), -COR_EINVAL);
    assert_string_equal(t.message, "there is no patch type 4");
    assert_int_equal(send_op(&t, op_of(COR_API_VERB_NONE, "a")), -COR_EINVAL);
    assert_int_equal(w.nasked, 0);
    cor_object_unref(nameless);
    cor_buf_deinit(&t.text);
    world_end(&w);
}

static int list(struct told *t, struct cor_list_query query)
{
    return send_op(t, (struct cor_api_operation){
                          .verb = COR_API_VERB_LIST, .at = {.gvr = pods}, .query = query});
}

#define ITEM(name, rv) "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" rv "\"}}"

TEST(dynamic_client, a_list_comes_item_by_item)
{
    static const struct answer script[] = {
        {.body = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
                 "\"9\",\"continue\":\"tok\",\"remainingItemCount\":3},\"items\":[" ITEM(
                     "a", "1") "," ITEM("b", "2") "]}"},
        {.body = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
                 "\"9\"},\"items\":null}"},
        {.status = 410, .body = FAILURE(410, "Expired", "too old")},
        {.body = POD("a", "1")},
        {.body = FAILURE(500, "InternalError", "no")},
        {.body = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[" ITEM("a", "1") ",7]}"},
        {.body = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[" ITEM("a", "1")},
    };
    struct cor_list_query page = {.list = {.limit = 2}};
    struct world w;
    struct told t;

    begin(&w, script, COR_ARRAY_LEN(script));
    t = told(&w);
    expect(&t, list(&t, page), "a@1 b@2 ", 0);
    assert_string_equal(t.rv, "9");
    assert_string_equal(t.token, "tok");
    assert_int_equal(t.remaining, 3);
    expect(&t, list(&t, page), "", 0);
    assert_string_equal(t.token, "");
    assert_int_equal(t.remaining, -1);
    expect(&t, list(&t, page), "", -COR_EEXPIRED);
    expect(&t, list(&t, page), "", -COR_EPROTOCOL);
    expect(&t, list(&t, page), "", -COR_EPROTOCOL);
    expect(&t, list(&t, page), "a@1 ", -COR_EPROTOCOL);
    expect(&t, list(&t, page), "a@1 ", -COR_EPROTOCOL);
    assert_non_null(strstr(w.asked.p, "GET /api/v1/pods?limit=2\n"));
    cor_buf_deinit(&t.text);
    world_end(&w);
}

static bool is_at_the_end(void *arg)
{
    return ((struct told *)arg)->left == 0;
}

TEST(dynamic_client, a_list_is_ended_from_inside)
{
    static const struct answer script[] = {
        {.body = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[" ITEM("a", "1") "," ITEM(
             "b", "2") "," ITEM("c", "3") "]}"},
        {.body = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[" ITEM("a", "1") "," ITEM(
             "b", "2") "," ITEM("c", "3") "]}"},
    };
    struct world w;
    struct told t;

    begin(&w, script, COR_ARRAY_LEN(script));
    t = told(&w);
    t.max = 2;
    expect(&t, list(&t, (struct cor_list_query){0}), "a@1 b@2 ", -COR_ETOOBIG);
    t.left = 2;
    assert_int_equal(list(&t, (struct cor_list_query){0}), 0);
    world_until(&w, is_at_the_end, &t);
    assert_false(t.is_done);
    assert_str(cor_buf_str(&t.text), "a@1 b@2 ");
    cor_buf_deinit(&t.text);
    world_end(&w);
}

static int watch(struct told *t)
{
    struct cor_api_operation op = op_of(COR_API_VERB_WATCH, "");

    op.query = (struct cor_list_query){
        .list = {.resource_version = COR_STR("5"), .allow_bookmarks = true}, .timeout_s = 300};
    return send_op(t, op);
}

#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"

/* Contract client 4.11.3, 4.14.7. */
TEST(dynamic_client, a_watch_gives_events)
{
    static const struct answer script[] = {
        {.body = EVENT("ADDED", POD("a", "6")) EVENT("MODIFIED", POD("a", "7"))
             EVENT("BOOKMARK", ITEM("", "8")) EVENT("DELETED", POD("a", "9"))
                 EVENT("ERROR", FAILURE(410, "Expired", "too old"))},
        {.status = 403, .body = FAILURE(403, "Forbidden", "no")},
        {.body = EVENT("ADDED", "7")},
        {.body = "{\"type\":7}\n"},
        {.body = EVENT("ADDED", POD("a", "6")) "}"},
    };
    struct world w;
    struct told t;

    begin(&w, script, COR_ARRAY_LEN(script));
    t = told(&w);
    expect(&t, watch(&t), "+a@6 ~a@7 #@8 -a@9 !410 Expired ", 0);
    assert_true(t.is_open);
    assert_str(
        cor_buf_str(&w.asked),
        "GET /api/v1/namespaces/x/pods?watch=true&allowWatchBookmarks=true&resourceVersion=5&"
        "timeoutSeconds=300\n");
    t.is_open = false;
    expect(&t, watch(&t), "", -COR_EFORBIDDEN);
    assert_false(t.is_open);
    expect(&t, watch(&t), "", -COR_EPROTOCOL);
    expect(&t, watch(&t), "", -COR_EPROTOCOL);
    expect(&t, watch(&t), "+a@6 ", -COR_EPROTOCOL);
    cor_buf_deinit(&t.text);
    world_end(&w);
}

/* A server may be newer than this library. */
TEST(dynamic_client, a_watch_gives_an_event_of_a_type_that_is_not_known)
{
    static const struct answer script[] = {
        {.body = EVENT("RENAMED", POD("a", "6")) EVENT("added", POD("a", "7"))
             EVENT("ADDED", POD("a", "8"))},
    };
    struct world w;
    struct told t;

    begin(&w, script, COR_ARRAY_LEN(script));
    t = told(&w);
    expect(&t, watch(&t), "?a@6 ?a@7 +a@8 ", 0);
    cor_buf_deinit(&t.text);
    world_end(&w);
}

/* ---- protobuf ---- */

static const struct cor_wire_field meta_fields[] = {
    {"annotations", NULL, 12, {0, 0}, 11, COR_WIRE_STRING, COR_WIRE_MAP | COR_WIRE_OMITEMPTY},
    {"name", NULL, 1, {0, 0}, 4, COR_WIRE_STRING, COR_WIRE_OMITEMPTY},
    {"namespace", NULL, 3, {0, 0}, 9, COR_WIRE_STRING, COR_WIRE_OMITEMPTY},
    {"resourceVersion", NULL, 6, {0, 0}, 15, COR_WIRE_STRING, COR_WIRE_OMITEMPTY},
};
static const struct cor_wire_type meta_type = {NULL, NULL, meta_fields, 4};
static const struct cor_wire_field pod_fields[] = {
    {"metadata", &meta_type, 1, {0, 0}, 8, COR_WIRE_STRUCT, 0},
};
static const struct cor_wire_type pod_type = {"v1", "Pod", pod_fields, 1};

/* A pod with a name and a version of one byte each: 11 bytes. */
#define WIRE_POD(name, rv) "\x0a\x09\x0a\x01" name "\x1a\x01x\x32\x01" rv
#define WIRE_TAIL          "\x1a\0\x22\0"
#define WIRE_LIST(kind)                                                                            \
    "k8s\0\x0a\x0d\x0a\x02v1\x12\x07" kind "\x12\x26"                                              \
    "\x0a\x0a\x12\x01"                                                                             \
    "9\x1a\x03tok\x20\x03\x12\x0b" WIRE_POD("a", "1") "\x12\x0b" WIRE_POD("b", "2") WIRE_TAIL
#define WIRE_OBJECT(name, rv)                                                                      \
    "k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x0b" WIRE_POD(name, rv) WIRE_TAIL
/* An event with its length, whose type has 5, 7 or 8 bytes. */
#define WIRE_EVENT5(type, name, rv) "\0\0\0\x2b\x0a\x05" type "\x12\x22\x0a " WIRE_OBJECT(name, rv)
#define WIRE_EVENT7(type, name, rv) "\0\0\0\x2d\x0a\x07" type "\x12\x22\x0a " WIRE_OBJECT(name, rv)
#define WIRE_EVENT8(type, name, rv) "\0\0\0\x2e\x0a\x08" type "\x12\x22\x0a " WIRE_OBJECT(name, rv)
#define WIRE_STATUS                                                                                \
    "k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12\x15\x12\x07"                                        \
    "Failure\"\x07"                                                                                \
    "Expired\x30\x9a\x03" WIRE_TAIL
#define WIRE_ERROR                                                                                 \
    "\0\0\0\x38\x0a\x05"                                                                           \
    "ERROR\x12\x2f\x0a\x2d" WIRE_STATUS
#define PROTOBUF "application/vnd.kubernetes.protobuf"
#define BYTES(s) .body = s, .n = sizeof(s) - 1

TEST(dynamic_client, a_list_comes_in_protobuf_where_the_server_has_it)
{
    static const struct answer script[] = {
        {BYTES(WIRE_LIST("PodList")), .content_type = PROTOBUF},
        {.body = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
                 "\"7\"},\"items\":[" ITEM("c", "3") "]}"},
        {BYTES(WIRE_STATUS), .status = 410, .content_type = PROTOBUF},
        {.status = 403, .body = FAILURE(403, "Forbidden", "no")},
        {BYTES(WIRE_LIST("JobList")), .content_type = PROTOBUF},
        {.body = WIRE_LIST("PodList"), .n = 40, .content_type = PROTOBUF},
        {.body = "k8s", .content_type = PROTOBUF},
    };
    struct world w;
    struct told t;

    begin(&w, script, COR_ARRAY_LEN(script));
    t = told(&w);
    t.wire = &pod_type;
    expect(&t, list(&t, (struct cor_list_query){0}), "a@1 b@2 ", 0);
    assert_string_equal(t.rv, "9");
    assert_string_equal(t.token, "tok");
    assert_int_equal(t.remaining, 3);
    assert_non_null(strstr(cor_buf_z(&w.headers), PROTOBUF ",application/json\n"));
    expect(&t, list(&t, (struct cor_list_query){0}), "c@3 ", 0);
    assert_string_equal(t.rv, "7");
    expect(&t, list(&t, (struct cor_list_query){0}), "", -COR_EEXPIRED);
    assert_int_equal(t.code, 410);
    expect(&t, list(&t, (struct cor_list_query){0}), "", -COR_EFORBIDDEN);
    expect(&t, list(&t, (struct cor_list_query){0}), "", -COR_EPROTOCOL);
    assert_string_equal(t.message,
                        "unable to decode the list: it is not the protobuf of such a list");
    expect(&t, list(&t, (struct cor_list_query){0}), "", -COR_EPROTOCOL);
    expect(&t, list(&t, (struct cor_list_query){0}), "", -COR_EPROTOCOL);
    /* What was not asked for in protobuf is not read as such. */
    cor_buf_deinit(&t.text);
    world_end(&w);
}

TEST(dynamic_client, a_watch_comes_in_protobuf_where_the_server_has_it)
{
    static const struct answer script[] = {
        {BYTES(WIRE_EVENT5("ADDED", "a", "6") WIRE_EVENT8("MODIFIED", "a", "7")
                   WIRE_EVENT8("BOOKMARK", "a", "8") WIRE_EVENT7("DELETED", "a", "9") WIRE_ERROR),
         .content_type = PROTOBUF ";stream=watch"},
        {.body = EVENT("ADDED", POD("a", "6"))},
        {BYTES(WIRE_STATUS), .status = 410, .content_type = PROTOBUF},
        {BYTES("\0\0\0\x03\x0a\x01x"), .content_type = PROTOBUF ";stream=watch"},
        {BYTES("\x7f\0\0\0\x0a\x01x"), .content_type = PROTOBUF ";stream=watch"},
    };
    struct world w;
    struct told t;

    begin(&w, script, COR_ARRAY_LEN(script));
    t = told(&w);
    t.wire = &pod_type;
    expect(&t, watch(&t), "+a@6 ~a@7 #a@8 -a@9 !410 Expired ", 0);
    assert_true(t.is_open);
    expect(&t, watch(&t), "+a@6 ", 0);
    expect(&t, watch(&t), "", -COR_EEXPIRED);
    expect(&t, watch(&t), "", -COR_EPROTOCOL);
    expect(&t, watch(&t), "", -COR_ETOOBIG);
    cor_buf_deinit(&t.text);
    world_end(&w);
}

static int count_item(void *arg, struct cor_object *object)
{
    ++*(int *)arg;
    return 0;
}

static int count_event(void *arg, const struct cor_watch_event *event)
{
    ++*(int *)arg;
    return 0;
}

/* However the bytes are cut, and whichever allocation fails. */
TEST(dynamic_client, readers_of_protobuf_take_any_pieces_and_fail_without_memory)
{
    static const char list_bytes[] = WIRE_LIST("PodList");
    static const char watch_bytes[] =
        WIRE_EVENT5("ADDED", "a", "6") WIRE_ERROR WIRE_EVENT8("BOOKMARK", "a", "8");

    for (size_t step = 1; step < 60; step++) {
        FOR_EACH_FAILED_ALLOC(n) {
            COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
            int items = 0, r = 0;
            struct cor_list_reader lr;
            struct cor_watch_reader wr;

            cor_list_reader_init(&lr, count_item, &items);
            lr.wire.type = &pod_type;
            for (size_t at = 0, size = sizeof(list_bytes) - 1; r == 0 && at < size; at += step)
                r = cor_list_reader_feed(
                    &lr, cor_str(list_bytes + at, size - at < step ? size - at : step), &why);
            if (r == 0)
                r = cor_list_reader_end(&lr, &why);
            cor_list_reader_deinit(&lr);
            if (r == 0)
                assert_int_equal(items, 2);
            cor_watch_reader_init(&wr, count_event, &items);
            wr.wire = &pod_type;
            for (size_t at = 0, size = sizeof(watch_bytes) - 1; r == 0 && at < size; at += step)
                r = cor_watch_reader_feed(
                    &wr, cor_str(watch_bytes + at, size - at < step ? size - at : step), &why);
            cor_watch_reader_deinit(&wr);
            /* A Status loses its texts rather than the event. */
            if (r == 0)
                assert_int_equal(items, 5);
            else
                assert_int_equal(r, -COR_ENOMEM);
            assert_true(r == 0 || test_alloc_failed());
        }
    }
}

static bool has_held(void *arg)
{
    return ((struct world *)arg)->held != NULL;
}

static bool has_text(void *arg)
{
    return ((struct told *)arg)->text.n > 0;
}

TEST(dynamic_client, a_watch_that_breaks_has_ended)
{
    static const struct answer script[] = {{.move = HOLD, .body = EVENT("ADDED", POD("a", "6"))}};
    struct world w;
    struct told t;

    begin(&w, script, COR_ARRAY_LEN(script));
    t = told(&w);
    assert_int_equal(watch(&t), 0);
    world_until(&w, has_held, &w);
    world_until(&w, has_text, &t);
    cor_http_response_abort(w.held);
    w.held = NULL;
    expect(&t, 0, "+a@6 ", 0);
    cor_buf_deinit(&t.text);
    world_end(&w);
}

static bool is_left(void *arg)
{
    return ((struct world *)arg)->ngone > 0;
}

TEST(dynamic_client, a_watch_is_cancelled_from_inside_and_outside)
{
    static const struct answer script[] = {
        {.move = HOLD, .body = EVENT("ADDED", POD("a", "6")) EVENT("ADDED", POD("b", "7"))},
        {.move = HOLD, .body = EVENT("ADDED", POD("a", "6"))}};
    struct world w;
    struct told t;

    begin(&w, script, COR_ARRAY_LEN(script));
    t = told(&w);
    t.left = 1;
    assert_int_equal(watch(&t), 0);
    world_until(&w, is_left, &w);
    assert_str(cor_buf_str(&t.text), "+a@6 ");
    w.ngone = 0;
    cor_buf_reset(&t.text);
    assert_int_equal(watch(&t), 0);
    world_until(&w, has_text, &t);
    cor_dynamic_cancel(t.req);
    world_until(&w, is_left, &w);
    assert_false(t.is_done);
    cor_buf_deinit(&t.text);
    world_end(&w);
}

TEST(dynamic_client, survives_failed_allocations)
{
    static const struct answer list_script[] = {
        {.body = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
                 "\"9\",\"continue\":\"t\"},\"items\":[" ITEM("a", "1") "]}"}};
    static const struct answer get_script[] = {{.body = POD("a", "5")}};
    static const struct answer watch_script[] = {{.body = EVENT("ADDED", POD("a", "6"))}};
    static const struct answer *const scripts[] = {get_script, list_script, watch_script};
    static const char *const told_of[] = {"a@5 ", "a@1 ", "+a@6 "};
    struct world w;
    struct told t;

    begin(&w, NULL, 0);
    t = told(&w);
    cor_buf_reserve(&t.text, 100);
    for (size_t verb = 0; verb < COR_ARRAY_LEN(scripts); verb++) {
        FOR_EACH_FAILED_ALLOC(n) {
            int r;

            world_arm(&w, n);
            world_script(&w, scripts[verb], 1);
            t.is_done = false;
            r = verb == 0   ? send_op(&t, op_of(COR_API_VERB_GET, "a"))
                : verb == 1 ? list(&t, (struct cor_list_query){.list = {.limit = 2}})
                            : watch(&t);
            if (r == 0)
                world_until(&w, is_flag, &t.is_done);
            assert_true(r == 0 || (r == -COR_ENOMEM && test_alloc_failed()));
            assert_true((r == 0 && t.err == 0) || test_alloc_failed());
            if (r == 0 && t.err == 0)
                assert_str(cor_buf_str(&t.text), told_of[verb]);
            t.err = 0;
            cor_buf_reset(&t.text);
        }
    }
    cor_buf_deinit(&t.text);
    world_end(&w);
}
