/* An informer over HTTP: client, list-watch, reflector, FIFO, indexer and a handler on one loop,
 * with a scripted server on the same loop. */
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "cache/informers/shared_informer.h"
#include "client/informers/http_list_watch.h"
#include "http/http_server.h"
#include "kit/rest/rest_client.h"
#include "loop/loop.h"
#include "net/stream/net.h"
#include "test.h"

#define PATIENCE_MS 60000

struct world {
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_http_server *server;
    struct cor_rest_client *client;
    struct cor_http_list_watch *lw;
    struct cor_shared_informer *inf;
    struct cor_buf asked; /* "target\n" of each request */
    char accepts[512];    /* the Accept of each */
    const char *list;     /* what a list is answered with */
    const char *last;     /* and what one that goes on; NULL: the same */
    int watch_status;
    struct cor_http_response *watch; /* that is open */
    char heard[1024];
    const char *awaited;
    bool server_closed, client_closed, net_closed;
};

static void on_gone(struct cor_http_response *resp, int why, void *arg)
{
    ((struct world *)arg)->watch = NULL;
}

static void on_writable(struct cor_http_response *resp, void *arg)
{
}

static void on_drain(struct cor_http_response *resp, void *arg)
{
    ((struct world *)arg)->watch = NULL;
    cor_http_response_end(resp);
}

static const struct cor_http_response_cbs watch_cbs = {on_writable, on_gone, on_drain};
static const struct cor_http_header json_headers[] = {
    {COR_STR("Content-Type"), COR_STR("application/json")}};

static void note_accept(struct world *w, const struct cor_http_request *req)
{
    size_t n = strlen(w->accepts);
    struct cor_str accept = cor_http_request_header(req, COR_STR("accept"));

    snprintf(w->accepts + n, sizeof(w->accepts) - n, "%.*s\n", COR_STR_ARG(accept));
}

static void on_request(const struct cor_http_request *req, struct cor_http_response *resp,
                       void *arg)
{
    struct world *w = arg;
    bool is_watch = memmem(req->query.p, req->query.n, "watch=true", 10) != NULL;

    cor_buf_addf(&w->asked, "%.*s?%.*s\n", COR_STR_ARG(req->path), COR_STR_ARG(req->query));
    note_accept(w, req);
    if (!is_watch) {
        bool goes_on = w->last && memmem(req->query.p, req->query.n, "continue=", 9);

        cor_http_response_send(resp, 200, json_headers, 1, cor_strz(goes_on ? w->last : w->list));
    } else if (w->watch_status != 200) {
        cor_http_response_send(resp, w->watch_status, json_headers, 1,
                               COR_STR("{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":"
                                       "\"Expired\",\"code\":410,\"message\":\"too old\"}"));
        w->watch_status = 200;
    } else {
        cor_http_response_set_cbs(resp, &watch_cbs, w);
        cor_http_response_set_deadline(resp, COR_HTTP_NO_DEADLINE);
        cor_http_response_start(resp, 200, json_headers, 1, COR_HTTP_LENGTH_UNKNOWN);
        w->watch = resp;
    }
}

static void hear(struct world *w, const char *what, struct cor_object *o)
{
    size_t n = strlen(w->heard);

    snprintf(w->heard + n, sizeof(w->heard) - n, "%s(%.*s@%.*s) ", what,
             COR_STR_ARG(cor_object_name(o)), COR_STR_ARG(cor_object_resource_version(o)));
}

static void hear_add(void *arg, struct cor_object *o, bool in_initial_list)
{
    assert_true(cor_str_eqz(cor_object_kind(o), "ConfigMap") ||
                cor_str_eqz(cor_object_kind(o), "PartialObjectMetadata"));
    hear(arg, in_initial_list ? "add!" : "add", o);
}

static void hear_update(void *arg, struct cor_object *old, struct cor_object *o)
{
    hear(arg, "update", o);
}

static void hear_delete(void *arg, struct cor_str key, struct cor_object *o, bool unknown)
{
    hear(arg, unknown ? "lost" : "delete", o);
}

static int refuse_bad(void *arg, struct cor_object **o, struct cor_status *reterr)
{
    return cor_str_eqz(cor_object_name(*o), "bad")
               ? cor_status_set(reterr, -COR_EINVALID, "a bad object")
               : 0;
}

static void on_work(void *arg)
{
}

static const struct cor_gvr configmaps = {COR_STR(""), COR_STR("v1"), COR_STR("configmaps")};

static void begin_with(struct world *w, const char *list, struct cor_http_list_watch_opts lw)
{
    struct cor_http_server_opts server = {.nloops = 1, .on_request = on_request, .arg = w};
    char secret[] = "secret", url[64];
    struct cor_client_config config = {.token = secret};
    struct cor_rest_client_opts client = {.config = &config, .qps = -1};
    uint16_t port;
    struct cor_cache_controller_opts inf = {.on_work = on_work, .transform = refuse_bad};
    struct cor_registration_opts handler = {
        .handler = {hear_add, hear_update, hear_delete, NULL, w}};
    struct cor_registration *reg;

    *w = (struct world){.list = list, .watch_status = 200};
    cor_buf_init(&w->asked, 1u << 16);
    assert_int_equal(cor_loop_new(64, &w->loop), 0);
    assert_int_equal(cor_net_open(w->loop, &w->net), 0);
    server.loops = &w->loop;
    assert_int_equal(cor_http_server_new(&server, &w->server), 0);
    assert_int_equal(cor_http_server_listen(w->server, "127.0.0.1", 0, NULL, &port), 0);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
    config.server = url;
    assert_int_equal(cor_rest_client_open(w->net, &client, &w->client, NULL), 0);
    lw.loop = w->loop;
    lw.client = w->client;
    assert_int_equal(cor_http_list_watch_new(&lw, &w->lw), 0);
    inf.driver = &cor_http_list_watch_base(w->lw)->driver;
    assert_int_equal(cor_shared_informer_new(&inf, &w->inf), 0);
    cor_http_list_watch_base(w->lw)->reflector = cor_shared_informer_reflector(w->inf);
    assert_int_equal(cor_shared_informer_add_handler(w->inf, &handler, &reg), 0);
    cor_shared_informer_start(w->inf);
}

static void begin(struct world *w, const char *list)
{
    begin_with(w, list,
               (struct cor_http_list_watch_opts){.at = {.gvr = configmaps},
                                                 .label_selector = COR_STR("app=a b")});
}

static void set_flag(void *arg)
{
    *(bool *)arg = true;
}

static bool is_flag(void *arg)
{
    return *(bool *)arg;
}

static void end(struct world *w)
{
    cor_shared_informer_stop(w->inf);
    cor_http_list_watch_free(w->lw);
    cor_shared_informer_free(w->inf);
    cor_rest_client_close(w->client, set_flag, &w->client_closed);
    assert_true(cor_loop_run_until(w->loop, is_flag, &w->client_closed, PATIENCE_MS));
    cor_http_server_close(w->server, 1000, set_flag, &w->server_closed);
    assert_true(cor_loop_run_until(w->loop, is_flag, &w->server_closed, PATIENCE_MS));
    cor_http_server_free(w->server);
    cor_net_close(w->net, set_flag, &w->net_closed);
    assert_true(cor_loop_run_until(w->loop, is_flag, &w->net_closed, PATIENCE_MS));
    cor_loop_free(w->loop);
    cor_buf_deinit(&w->asked);
}

static bool has_heard(void *arg)
{
    struct world *w = arg;

    while (cor_shared_informer_step(w->inf, 10))
        ;
    return strstr(w->heard, w->awaited) != NULL;
}

static void await(struct world *w, const char *what)
{
    w->awaited = what;
    assert_true(cor_loop_run_until(w->loop, has_heard, w, PATIENCE_MS));
}

static bool has_watch(void *arg)
{
    return ((struct world *)arg)->watch != NULL;
}

static void send_raw(struct world *w, const char *bytes)
{
    assert_true(cor_loop_run_until(w->loop, has_watch, w, PATIENCE_MS));
    assert_int_equal(cor_http_response_write(w->watch, cor_strz(bytes)), strlen(bytes));
}

static void tell(struct world *w, const char *type, const char *name, int rv)
{
    char event[256];

    snprintf(event, sizeof(event),
             "{\"type\":\"%s\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\","
             "\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%d\"}}}\n",
             type, name, rv);
    send_raw(w, event);
}

static const char two[] = "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
                          "\"resourceVersion\":\"10\"},\"items\":[{\"metadata\":{\"name\":\"a\","
                          "\"resourceVersion\":\"3\"}},{\"metadata\":{\"name\":\"b\","
                          "\"resourceVersion\":\"7\"}}]}";

static struct cor_reflector_stats stats_of(struct world *w)
{
    struct cor_reflector_stats stats;

    cor_shared_informer_stats(w->inf, &stats);
    return stats;
}

/* Contract client 1.11.3, 3.2.1. */
TEST(http_list_watch, an_informer_follows_a_server)
{
    static const char requests[] =
        "/api/v1/configmaps?labelSelector=app%3Da+b&resourceVersion=0&limit=500\n"
        "/api/v1/configmaps?labelSelector=app%3Da+b&watch=true&allowWatchBookmarks=true&"
        "resourceVersion=10&timeoutSeconds=";
    struct world w;

    begin(&w, two);
    await(&w, "add!(a@3) add!(b@7)");
    tell(&w, "MODIFIED", "a", 11);
    tell(&w, "ADDED", "c", 12);
    tell(&w, "DELETED", "b", 13);
    await(&w, "update(a@11) add(c@12) delete(b@13)");
    assert_true(cor_str_starts(cor_buf_str(&w.asked), cor_strz(requests)));
    assert_int_equal(cor_indexer_len(cor_shared_informer_indexer(w.inf)), 2);
    end(&w);
}

/* Contract client 1.11.3: one namespace, one object by its name. */
TEST(http_list_watch, asks_for_a_namespace_and_a_name)
{
    static const char requests[] =
        "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da&resourceVersion=0&"
        "limit=500\n"
        "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Da&watch=true&";
    struct world w;

    begin_with(
        &w, two,
        (struct cor_http_list_watch_opts){.at = {.gvr = configmaps, .ns = COR_STR("default")},
                                          .field_selector = COR_STR("metadata.name=a")});
    await(&w, "add!(a@3)");
    tell(&w, "MODIFIED", "a", 11);
    await(&w, "update(a@11)");
    assert_true(cor_str_starts(cor_buf_str(&w.asked), cor_strz(requests)));
    assert_string_equal(w.accepts, "application/json\napplication/json\n");
    end(&w);
}

static void change_all(void *arg, struct cor_informer_request *req)
{
    bool is_list = req->verb == COR_VERB_LIST;

    assert_str(req->label_selector, "app=a");
    assert_str(req->field_selector, "metadata.name=a");
    assert_str(req->resource_version, is_list ? "0" : "10");
    assert_int_equal(req->limit, is_list ? 500 : 0);
    assert_int_equal(req->allow_bookmarks, !is_list);
    assert_int_equal(req->server_timeout > 0, !is_list);
    req->label_selector = COR_STR("app=b");
    req->field_selector = COR_STR("");
    req->resource_version = COR_STR("5");
    req->resource_version_match = is_list ? COR_STR("NotOlderThan") : COR_STR("");
    req->limit = is_list ? 7 : 0;
    req->allow_bookmarks = false;
    req->server_timeout = 3;
}

/* Tells what it is; that is all it may do. */
static void change_what_it_is(void *arg, struct cor_informer_request *req)
{
    assert_str(req->label_selector, "app=b");
    *(int *)arg += 1;
    req->verb = COR_VERB_DELETE;
    req->send_initial_events = true;
}

/* Contract client 3.1.3: on every list and watch, after the reflector filled the options. */
TEST(http_list_watch, tweaks_change_what_is_asked)
{
    static const char requests[] =
        "/api/v1/configmaps?labelSelector=app%3Db&resourceVersion=5&"
        "resourceVersionMatch=NotOlderThan&limit=7&timeoutSeconds=3\n"
        "/api/v1/configmaps?labelSelector=app%3Db&watch=true&resourceVersion=5&timeoutSeconds=3\n";
    int ncalls = 0;
    struct world w;

    begin_with(&w, two,
               (struct cor_http_list_watch_opts){
                   .at = {.gvr = configmaps},
                   .label_selector = COR_STR("app=a"),
                   .field_selector = COR_STR("metadata.name=a"),
                   .tweaks = {{change_all, NULL}, {change_what_it_is, &ncalls}}});
    await(&w, "add!(a@3)");
    tell(&w, "MODIFIED", "a", 11);
    await(&w, "update(a@11)");
    assert_str(cor_buf_str(&w.asked), requests);
    assert_int_equal(ncalls, 2);
    end(&w);
}

/* Contract client 3.3.1, 4.14.9. */
TEST(http_list_watch, asks_for_metadata_only)
{
    static const char list[] =
        "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"
        "\"resourceVersion\":\"10\"},\"items\":[{\"metadata\":{\"name\":\"a\","
        "\"resourceVersion\":\"3\"}}]}";
    struct world w;

    begin_with(&w, list,
               (struct cor_http_list_watch_opts){.at = {.gvr = configmaps}, .metadata_only = true});
    await(&w, "add!(a@3)");
    tell(&w, "MODIFIED", "a", 11);
    await(&w, "update(a@11)");
    assert_string_equal(
        w.accepts,
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json\n"
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json\n");
    end(&w);
}

/* A resourceVersion is a text, and what comes from a server is escaped on its way back. */
TEST(http_list_watch, resource_versions_and_tokens_are_no_more_than_texts)
{
    struct world w;

    begin(&w, "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
              "\"resourceVersion\":\"a/1 b\",\"continue\":\"t&+/=\"},\"items\":[{\"metadata\":{"
              "\"name\":\"a\",\"resourceVersion\":\"x-1\"}}]}");
    w.last = "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"resourceVersion\":\"a/1 b\"},\"items\":[]}";
    await(&w, "add!(a@x-1)");
    send_raw(&w, "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\","
                 "\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"x-0\"}}}\n");
    await(&w, "update(a@x-0)");
    assert_non_null(strstr(w.asked.p, "continue=t%26%2B%2F%3D"));
    assert_non_null(strstr(w.asked.p, "resourceVersion=a%2F1+b&timeoutSeconds="));
    end(&w);
}

TEST(http_list_watch, a_stream_that_breaks_goes_on_from_its_last_event)
{
    struct world w;

    begin(&w, two);
    tell(&w, "MODIFIED", "a", 21);
    await(&w, "update(a@21)");
    cor_http_response_abort(w.watch);
    w.watch = NULL;
    tell(&w, "MODIFIED", "a", 22);
    await(&w, "update(a@22)");
    assert_non_null(strstr(w.asked.p, "resourceVersion=21"));
    assert_int_equal(stats_of(&w).lists, 1);
    assert_int_equal(stats_of(&w).watches, 2);
    end(&w);
}

TEST(http_list_watch, an_expired_watch_leads_to_a_list)
{
    struct world w;

    begin(&w, two);
    w.watch_status = 410;
    await(&w, "add!(b@7)");
    w.list = "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{\"name\":"
             "\"a\",\"resourceVersion\":\"30\"}}],\"metadata\":{\"resourceVersion\":\"31\"}}";
    await(&w, "lost(b@7) update(a@30)");
    assert_int_equal(stats_of(&w).lists, 2);
    end(&w);
}

TEST(http_list_watch, an_answer_that_is_no_list_is_asked_for_again)
{
    struct world w;

    begin(&w, "<html>no</html>");
    w.awaited = "never";
    while (stats_of(&w).lists < 2)
        cor_loop_run_until(w.loop, has_heard, &w, 100);
    w.list = two;
    await(&w, "add!(a@3) add!(b@7)");
    end(&w);
}

/* The server gives the same page, and the same token, to whatever it is asked. */
TEST(http_list_watch, a_server_that_repeats_a_page_is_asked_again_later)
{
    static const char page[] =
        "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
        "\"10\",\"continue\":\"t\"},\"items\":[{\"metadata\":{\"name\":\"a\"}}]}";
    static const char first[] =
        "/api/v1/configmaps?labelSelector=app%3Da+b&resourceVersion=0&limit=500\n";
    static const char second[] =
        "/api/v1/configmaps?labelSelector=app%3Da+b&limit=500&continue=t\n";
    struct world w;

    begin(&w, page);
    w.awaited = "never";
    while (stats_of(&w).lists < 2)
        cor_loop_run_until(w.loop, has_heard, &w, 100);
    assert_string_equal(w.heard, "");
    w.list = two;
    await(&w, "add!(b@7)"); /* the page may have been given once more before it */
    assert_int_equal(strncmp(w.asked.p, first, strlen(first)), 0);
    assert_int_equal(strncmp(w.asked.p + strlen(first), second, strlen(second)), 0);
    assert_int_equal(strncmp(w.asked.p + strlen(first) + strlen(second), first, strlen(first)), 0);
    end(&w);
}

/* The reflector cancels the request while its answer is being cut. */
TEST(http_list_watch, a_list_is_given_up_midway_when_the_cache_refuses_an_object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list;
    struct world w;

    cor_buf_init(&list, 1u << 20);
    cor_buf_addz(&list, "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
                        "\"resourceVersion\":\"10\"},\"items\":[{\"metadata\":{\"name\":\"bad\"}}");
    for (int i = 0; i < 3 * COR_HTTP_LIST_WATCH_BATCH; i++)
        cor_buf_addf(&list, ",{\"metadata\":{\"name\":\"o%d\"}}", i);
    assert_int_equal(cor_buf_addz(&list, "]}"), 0);
    begin(&w, list.p);
    w.awaited = "never";
    while (stats_of(&w).lists < 2)
        cor_loop_run_until(w.loop, has_heard, &w, 100);
    assert_string_equal(w.heard, "");
    w.list = two;
    await(&w, "add!(a@3) add!(b@7)");
    end(&w);
}

/* Contract client 1.15.6, and an event that nobody can read. */
TEST(http_list_watch, an_error_event_leads_to_a_list)
{
    static const char expired[] =
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":"
        "\"Expired\",\"code\":410,\"message\":\"too old\"}}\n";
    const char *const events[] = {expired, "{\"type\":\"ADDED\"}\n", "}\n"};

    for (size_t i = 0; i < COR_ARRAY_LEN(events); i++) {
        struct world w;

        begin(&w, two);
        await(&w, "add!(b@7)");
        send_raw(&w, events[i]);
        w.list = "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
                 "\"resourceVersion\":\"31\"},\"items\":[]}";
        await(&w, "lost(a@3) lost(b@7)");
        assert_int_equal(stats_of(&w).lists, 2);
        end(&w);
    }
}
