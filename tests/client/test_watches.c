/* Watches that resume, and those that are waited for, on both kinds of runtime. */
#include <stdatomic.h>
#include <stdio.h>

#include "configmap_words.h"
#include "script.h"
#include "world.h"

struct heard {
    pthread_mutex_t lock;
    char text[1024];
    const char *awaited; /* a part of it */
    atomic_int ndone;
    int err;
};

static void hear(struct heard *h, const char *what, struct cor_str name)
{
    pthread_mutex_lock(&h->lock);
    snprintf(h->text + strlen(h->text), sizeof(h->text) - strlen(h->text), "%s%.*s ", what,
             COR_STR_ARG(name));
    pthread_mutex_unlock(&h->lock);
}

static int on_event(void *arg, const struct cor_watch_event *event)
{
    static const char *const names[] = {"+", "~", "-", "#", "!", "?"};

    hear(arg, names[event->type],
         event->object ? cor_object_name(event->object) : COR_STR("error"));
    return 0;
}

static void on_done(void *arg, const struct cor_response *response)
{
    struct heard *h = arg;

    h->err = response->error ? response->error->err : 0;
    atomic_fetch_add(&h->ndone, 1);
}

static const struct cor_request_cbs cbs = {.on_event = on_event, .on_done = on_done};

static bool is_done(void *arg)
{
    return atomic_load(&((struct heard *)arg)->ndone) > 0;
}

static bool has_heard(void *arg)
{
    struct heard *h = arg;
    bool has;

    pthread_mutex_lock(&h->lock);
    has = strstr(h->text, h->awaited) != NULL;
    pthread_mutex_unlock(&h->lock);
    return has;
}

static void await(struct world *w, struct heard *h, const char *part)
{
    h->awaited = part;
    world_run(w, has_heard, h);
}

static bool is_reachable(void *arg)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps,
                                    .ns = "default"};
    struct cor_object_list list = {0};
    int r = cor_client_list(((struct world *)arg)->client, &req, &list, NULL);

    cor_object_list_deinit(&list);
    return r == 0;
}

static void version_now(struct world *w, char to[32])
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps,
                                    .ns = "default"};
    struct cor_object_list list = {0};

    assert_int_equal(cor_client_list(w->client, &req, &list, NULL), 0);
    snprintf(to, 32, "%s", list.resource_version);
    cor_object_list_deinit(&list);
}

/* Contract client 1.24.2, 1.24.5, 1.24.8: each event once and in order, however the server comes
 * and goes; cancelled twice, it ends once. */
TEST(watches, one_that_resumes_outlives_the_server)
{
    FOR_EACH_KIND(kind)
    {
        struct heard h = {.lock = PTHREAD_MUTEX_INITIALIZER};
        struct cor_client_call *call;
        struct cor_request req;
        struct world w;
        char version[32], rv[32];

        world_begin(&w, kind);
        world_create(&w, "before", "{}", "1");
        version_now(&w, version);
        req = watch_from(version, true);
        assert_int_equal(cor_client_send(w.client, &req, &cbs, &h, &call), 0);
        world_create(&w, "one", "{}", "1");
        await(&w, &h, "+one ");
        server_process_kill(&w.server);
        assert_true(server_process_start(&w.server));
        world_run(&w, is_reachable, &w);
        world_update(&w, "one", "2", rv);
        world_delete(&w, "one");
        await(&w, &h, "-one ");
        cor_client_call_cancel(call);
        cor_client_call_cancel(call);
        world_run(&w, is_done, &h);
        assert_int_equal(h.err, -COR_ECANCELED);
        cor_client_call_unref(call);
        world_end(&w);
        assert_string_equal(h.text, "+one ~one -one ");
        assert_int_equal(atomic_load(&h.ndone), 1);
    }
}

/* Contract client 1.24.1, 1.24.6. */
TEST(watches, one_that_resumes_ends_with_its_revision)
{
    static const struct script_answer answers[] = {
        {.to = "resourceVersion=5", .body = EVENT("ADDED", MAP("one", "6")) EXPIRED},
    };

    FOR_EACH_KIND(kind)
    {
        struct heard h = {.lock = PTHREAD_MUTEX_INITIALIZER}, refused = h;
        const struct cor_request req = watch_from("5", true), zero = watch_from("0", true);
        struct script script;
        struct world w;

        SCRIPT_BEGIN(&script, answers);
        world_begin_at(&w, kind, script.url);
        assert_int_equal(cor_client_send(w.client, &req, &cbs, &h, NULL), 0);
        world_run(&w, is_done, &h);
        assert_string_equal(h.text, "+one !error ");
        assert_int_equal(h.err, -COR_EEXPIRED);
        assert_int_equal(cor_client_send(w.client, &zero, &cbs, &refused, NULL), 0);
        world_run(&w, is_done, &refused);
        assert_int_equal(refused.err, -COR_EINVAL);
        assert_int_equal(script_count(&script, "watch=true"), 1);
        world_end(&w);
        script_end(&script);
    }
}

/* While it waits for its next start, an hour away: the request's time, and the client's end. */
TEST(watches, one_that_rests_has_a_deadline_and_goes_with_its_client)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true",
         .body = EVENT("ADDED", MAP("one", "6"))
             EVENT("ERROR", "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
                            "\"code\":429,\"details\":{\"retryAfterSeconds\":3600}}")},
    };

    FOR_EACH_KIND(kind)
    {
        struct heard late = {.lock = PTHREAD_MUTEX_INITIALIZER}, gone = late;
        struct cor_request req = watch_from("5", true);
        struct script script;
        struct world w;

        SCRIPT_BEGIN(&script, answers);
        world_begin_at(&w, kind, script.url);
        assert_int_equal(cor_client_send(w.client, &req, &cbs, &gone, NULL), 0);
        await(&w, &gone, "+one ");
        req.timeout_ms = 300;
        assert_int_equal(cor_client_send(w.client, &req, &cbs, &late, NULL), 0);
        world_run(&w, is_done, &late);
        assert_int_equal(late.err, -COR_ETIMEOUT);
        world_end(&w);
        assert_int_equal(atomic_load(&gone.ndone), 1);
        assert_int_equal(gone.err, -COR_ECANCELED);
        assert_true(script_count(&script, "watch=true") <= 2);
        script_end(&script);
    }
}
