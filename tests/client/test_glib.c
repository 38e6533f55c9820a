/* A pumped runtime inside a GLib main loop: one descriptor, no timeout, no thread. */
#include <glib-unix.h>
#include <stdio.h>

#include "ear.h"
#include "script.h"

struct glib_world {
    struct world w;
    GMainContext *context; /* the default one is never freed, and has a descriptor */
    GMainLoop *loop;
    GSource *runtime, *patience;
    int npumped;
    bool is_late;
};

static gboolean on_runtime(gint fd, GIOCondition condition, gpointer arg)
{
    struct glib_world *g = arg;

    assert_int_equal(cor_runtime_pump(g->w.rt), 0);
    g->npumped++;
    return G_SOURCE_CONTINUE;
}

static gboolean on_patience(gpointer arg)
{
    struct glib_world *g = arg;

    g->is_late = true;
    g_main_loop_quit(g->loop);
    return G_SOURCE_CONTINUE;
}

/* After the world has begun. */
static void attach(struct glib_world *g)
{
    g->context = g_main_context_new();
    g->loop = g_main_loop_new(g->context, FALSE);
    g->runtime = g_unix_fd_source_new(cor_runtime_fd(g->w.rt), G_IO_IN);
    g_source_set_callback(g->runtime, G_SOURCE_FUNC(on_runtime), g, NULL);
    g_source_attach(g->runtime, g->context);
    g->patience = g_timeout_source_new(PATIENCE_MS);
    g_source_set_callback(g->patience, on_patience, g, NULL);
    g_source_attach(g->patience, g->context);
    g->npumped = 0;
    g->is_late = false;
}

static void run(struct glib_world *g)
{
    g_main_loop_run(g->loop);
    assert_false(g->is_late);
}

static void detach(struct glib_world *g)
{
    g_source_destroy(g->runtime);
    g_source_destroy(g->patience);
    g_source_unref(g->runtime);
    g_source_unref(g->patience);
    g_main_loop_unref(g->loop);
    g_main_context_unref(g->context);
}

struct listener {
    struct glib_world *g;
    struct cor_object *next; /* is created when the first add is heard */
    bool has_answer, has_next;
};

static void quit_if_over(struct listener *l)
{
    if (l->has_answer && l->has_next)
        g_main_loop_quit(l->g->loop);
}

static void on_created(void *arg, const struct cor_response *response)
{
    struct listener *l = arg;

    assert_null(response->error);
    l->has_answer = true;
    quit_if_over(l);
}

static void on_add(void *arg, struct cor_object *object, bool in_initial_list)
{
    static const struct cor_request_cbs cbs = {.on_done = on_created};
    struct listener *l = arg;
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = configmaps,
                                    .ns = "default", .object = l->next};

    if (in_initial_list) {
        assert_int_equal(cor_client_send(l->g->w.client, &req, &cbs, l, NULL), 0);
        return;
    }
    assert_str(cor_object_name(object), "two");
    l->has_next = true;
    quit_if_over(l);
}

TEST(glib, an_informer_lives_in_a_main_loop)
{
    struct glib_world g;
    struct listener l = {.g = &g};
    const struct cor_informer_opts of_configmaps = {COR_INFORMER_OPTS, .resource = configmaps,
                                                    .ns = "default"};
    const struct cor_handler_opts handler = {COR_HANDLER_DEFAULTS,
                                             .on = {.on_add = on_add, .arg = &l}};
    struct cor_informers *informers;
    struct cor_informer *inf;

    world_begin(&g.w, COR_RUNTIME_PUMPED);
    world_create(&g.w, "one", "{}", "1");
    attach(&g);
    assert_int_equal(cor_object_from_json(COR_STR("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                                                  "\"metadata\":{\"name\":\"two\"}}"),
                                          &l.next, NULL),
                     0);
    assert_int_equal(cor_informers_new(g.w.client, NULL, &informers), 0);
    assert_int_equal(cor_informers_for_resource(informers, &of_configmaps, &inf, NULL), 0);
    assert_int_equal(cor_informer_add_handler(inf, &handler, NULL), 0);
    cor_informers_start(informers);
    run(&g);
    assert_int_equal(cor_informer_len(inf), 2);
    assert_true(g.npumped > 0);
    cor_informers_free(informers);
    cor_object_unref(l.next);
    detach(&g);
    world_end(&g.w);
}

static void on_late(void *arg, const struct cor_response *response)
{
    struct glib_world *g = arg;

    assert_non_null(response->error);
    assert_int_equal(response->error->err, -COR_ETIMEOUT);
    g_main_loop_quit(g->loop);
}

/* The server says nothing, so only the descriptor's own timer can end the sleep. */
TEST(glib, the_librarys_timers_wake_the_main_loop)
{
    static const struct script_answer silent[] = {{.to = "", .body = "{", .stays_open = true}};
    static const struct cor_request_cbs cbs = {.on_done = on_late};
    const struct cor_request req = {COR_REQUEST,     .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = "one",        .timeout_ms = 200};
    struct glib_world g;
    struct script script;

    SCRIPT_BEGIN(&script, silent);
    world_begin_at(&g.w, COR_RUNTIME_PUMPED, script.url);
    attach(&g);
    assert_int_equal(cor_client_send(g.w.client, &req, &cbs, &g, NULL), 0);
    run(&g);
    detach(&g);
    world_end(&g.w);
    script_end(&script);
}
