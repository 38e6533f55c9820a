/* List-watches, reflectors and informers of a program's own, through the public headers only: over
 * a script in a time that the test moves, over functions that answer from another thread, and over
 * a client. Nothing sleeps. */
#include <coracle.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#include "stage.h"
#include "world.h"

static int note_object(void *arg, struct cor_object *object)
{
    stage_note(arg, "%.*s/%.*s@%.*s ", COR_STR_ARG(cor_object_namespace(object)),
               COR_STR_ARG(cor_object_name(object)),
               COR_STR_ARG(cor_object_resource_version(object)));
    return 0;
}

static const char *content(struct stage *s, struct cor_indexer *ix)
{
    s->seen[0] = '\0';
    assert_int_equal(cor_indexer_each(ix, COR_STR(""), NULL, note_object, s), 0);
    return s->seen;
}

static void note_error(void *arg, const struct cor_status *error)
{
    *(int *)arg = error->err;
}

/* More events than the list-watch keeps: the failure that tells of it must not be lost with them.
 */
TEST(list_watches, a_watch_that_is_too_far_behind_ends_and_is_resumed)
{
    const struct cor_reflector_run_opts opts = {COR_REFLECTOR_RUN_OPTS, .name = "pods"};
    struct cor_object *object = stage_pod("x", "a", "web");
    struct cor_reflector_store *store;
    struct cor_reflector_run *run;
    struct cor_list_watch *lw;
    struct cor_indexer *ix;
    struct stage s;
    char want[64];

    stage_begin(&s);
    assert_int_equal(cor_indexer_new(NULL, 0, &ix), 0);
    assert_int_equal(cor_indexer_store_new(ix, &store), 0);
    assert_int_equal(cor_list_watch_script_list_watch(s.pods, NULL, NULL, &lw, NULL), 0);
    assert_int_equal(cor_reflector_run_new(s.rt, &opts, lw, store, &run), 0);
    stage_pump(&s);
    for (int i = 0; i < COR_LIST_WATCH_ANSWERS_MAX + 10; i++)
        assert_int_equal(cor_list_watch_script_put(s.pods, object), 0);
    stage_pump(&s);
    stage_advance(&s, 60000);
    snprintf(want, sizeof(want), "x/a@%d ", COR_LIST_WATCH_ANSWERS_MAX + 11);
    assert_string_equal(content(&s, ix), want);
    cor_reflector_run_free(run);
    cor_list_watch_free(lw);
    cor_reflector_store_free(store);
    cor_indexer_free(ix);
    cor_object_unref(object);
    stage_end(&s);
}

/* A reflector follows its list-watch into a store: lists, events, failures that it waits out, an
 * end that it resumes from, a 410 after which it lists again; and counts all of it. */
TEST(list_watches, a_reflector_keeps_a_store_equal_to_a_script)
{
    int error = 0;
    const struct cor_reflector_run_opts opts = {COR_REFLECTOR_RUN_OPTS, .name = "pods",
                                                .on_watch_error = note_error, .arg = &error};
    struct cor_reflector_store *store;
    struct cor_reflector_stats stats;
    struct cor_reflector_run *run;
    struct cor_list_watch *lw;
    struct cor_indexer *ix;
    struct stage s;
    char version[COR_REFLECTOR_VERSION_MAX];

    stage_begin(&s);
    stage_put(&s, "x", "a", "web");
    assert_int_equal(cor_indexer_new(NULL, 0, &ix), 0);
    assert_int_equal(cor_indexer_store_new(ix, &store), 0);
    assert_int_equal(cor_list_watch_script_list_watch(s.pods, NULL, NULL, &lw, NULL), 0);
    cor_list_watch_script_fail_next(s.pods, -COR_EUNREACHABLE, 1);
    assert_int_equal(cor_reflector_run_new(s.rt, &opts, lw, store, &run), 0);
    assert_int_equal(
        cor_reflector_run_new(s.rt, &opts, lw, store, &(struct cor_reflector_run *){0}),
        -COR_EINVAL); /* it is in use */
    stage_pump(&s);
    assert_int_equal(error, -COR_EUNREACHABLE);
    assert_int_equal(cor_indexer_len(ix), 0);
    cor_reflector_run_last_version(run, version);
    assert_string_equal(version, "");
    stage_advance(&s, 60000); /* longer than the first pauses */
    assert_string_equal(content(&s, ix), "x/a@2 ");

    stage_put(&s, "x", "b", "web");
    stage_put(&s, "x", "a", "db");
    assert_int_equal(cor_list_watch_script_remove(s.pods, COR_STR("x/b")), 0);
    assert_int_equal(cor_list_watch_script_remove(s.pods, COR_STR("x/b")), -COR_ENOTFOUND);
    stage_put(&s, "y", "c", "web");
    stage_pump(&s);
    assert_string_equal(content(&s, ix), "x/a@4 y/c@6 ");

    cor_list_watch_script_end_watches(s.pods, 0);
    stage_put(&s, "y", "d", "web");
    stage_pump(&s);
    assert_string_equal(content(&s, ix), "x/a@4 y/c@6 y/d@7 ");
    assert_int_equal(cor_list_watch_script_lists(s.pods), 2);
    assert_int_equal(cor_list_watch_script_watches(s.pods), 2);

    cor_list_watch_script_end_watches(s.pods, -COR_EEXPIRED);
    stage_put(&s, "y", "d", "db");
    cor_list_watch_script_compact(s.pods);
    stage_pump(&s);
    stage_advance(&s, 60000);
    assert_string_equal(content(&s, ix), "x/a@4 y/c@6 y/d@8 ");
    cor_reflector_run_last_version(run, version);
    assert_string_equal(version, "8");

    cor_reflector_run_stats(run, &stats);
    assert_int_equal(stats.lists, 3);
    assert_int_equal(stats.list_items, 1 + 3);
    assert_int_equal(stats.list_ms, 0); /* no time passed inside one */
    assert_int_equal(stats.watches, 3);
    assert_int_equal(stats.watch_items, 5);
    assert_int_equal(stats.short_watches, 0);
    assert_int_equal(stats.backlog, 0);
    stage_advance(&s, 5000);
    cor_list_watch_script_end_watches(s.pods, 0);
    stage_pump(&s);
    cor_reflector_run_stats(run, &stats);
    assert_int_equal(stats.watch_ms, 5000);

    assert_null(cor_reflector_run_free(run));
    assert_null(cor_list_watch_free(lw));
    cor_reflector_store_free(store);
    cor_indexer_free(ix);
    stage_end(&s);
}

static void note_add(void *arg, struct cor_object *object, bool in_initial_list)
{
    stage_note(arg, "+%.*s%s ", COR_STR_ARG(cor_object_name(object)), in_initial_list ? "i" : "");
}

static void note_update(void *arg, struct cor_object *old, struct cor_object *object)
{
    stage_note(arg, "~%.*s ", COR_STR_ARG(cor_object_name(object)));
}

static void note_delete(void *arg, struct cor_str key, struct cor_object *object, bool unknown)
{
    stage_note(arg, "-%.*s%s ", COR_STR_ARG(key), unknown ? "?" : "");
}

static int index_by_app(void *arg, const struct cor_object *object, struct cor_index_values *out)
{
    struct cor_str labels = cor_object_labels(object);

    return cor_index_values_add(out, labels);
}

/* One namespace and one label of the script: what leaves the selection is deleted. */
TEST(list_watches, an_indexer_informer_follows_what_a_selector_and_a_namespace_choose)
{
    const struct cor_index_def by_app = {COR_STR("app"), index_by_app, NULL};
    struct cor_plain_informer_run_opts opts = {COR_PLAIN_INFORMER_RUN_OPTS, .indexes = &by_app,
                                               .nindexes = 1, .resync_ms = 3600000};
    struct cor_plain_informer_run *inf;
    struct cor_reflector_stats stats;
    struct cor_list_watch *lw;
    struct stage s;

    stage_begin(&s);
    opts.handler = (struct cor_handler_fns){
        .on_add = note_add, .on_update = note_update, .on_delete = note_delete, .arg = &s};
    stage_put(&s, "x", "a", "web");
    stage_put(&s, "x", "b", "db");
    stage_put(&s, "y", "c", "web");
    assert_int_equal(cor_list_watch_script_list_watch(s.pods, "x", "app in (", &lw, NULL),
                     -COR_EINVAL);
    assert_int_equal(cor_list_watch_script_list_watch(s.pods, "x", "app=web", &lw, NULL), 0);
    assert_int_equal(cor_plain_informer_run_new(s.rt, &opts, lw, &inf), 0);
    assert_false(cor_plain_informer_run_has_synced(inf));
    stage_pump(&s);
    assert_true(cor_plain_informer_run_has_synced(inf));
    stage_put(&s, "x", "b", "web"); /* into the selection */
    stage_put(&s, "x", "b", "web"); /* within */
    stage_put(&s, "x", "a", "db");  /* out of it */
    stage_put(&s, "y", "e", "web"); /* elsewhere */
    cor_plain_informer_run_stats(inf, &stats);
    assert_int_equal(stats.backlog, 0);
    stage_pump(&s);
    assert_string_equal(s.seen, "+ai +b ~b -x/a ");
    s.seen[0] = '\0';
    stage_advance(&s, 3600000);
    assert_string_equal(s.seen, "~b "); /* the resync */
    s.seen[0] = '\0';
    assert_int_equal(cor_indexer_each_by_index(cor_plain_informer_run_indexer(inf), COR_STR("app"),
                                               COR_STR("{\"app\":\"web\"}"), note_object, &s),
                     0);
    assert_string_equal(s.seen, "x/b@6 ");
    assert_null(cor_plain_informer_run_free(inf));
    cor_list_watch_free(lw);
    stage_end(&s);
}

/* Functions that list pods in pages of one, and a thing that is no pod among the events. */
static void list_pages(void *arg, struct cor_list_watch *lw, uint64_t id,
                       const struct cor_informer_request *req)
{
    struct stage *s = arg;
    bool is_last = req->continue_token.n > 0;
    struct cor_object *one = stage_pod("x", is_last ? "b" : "a", "web");
    const struct cor_list_watch_page page = {&one, 1, COR_STR("5"),
                                             is_last ? COR_STR("") : COR_STR("more")};

    stage_note(s, "list%d%.*s ", (int)req->limit, COR_STR_ARG(req->continue_token));
    assert_int_equal(cor_list_watch_page(lw, id, &page), 0);
    cor_object_unref(one);
}

static void watch_nodes(void *arg, struct cor_list_watch *lw, uint64_t id,
                        const struct cor_informer_request *req)
{
    struct cor_watch_event event = {.type = COR_WATCH_ADDED};

    assert_int_equal(
        cor_object_from_json(COR_STR("{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":"
                                     "{\"name\":\"n\",\"resourceVersion\":\"6\"}}"),
                             &event.object, NULL),
        0);
    assert_int_equal(cor_list_watch_opened(lw, id), 0);
    assert_int_equal(cor_list_watch_event(lw, id, &event), 0);
    cor_object_unref(event.object);
}

static void note_report(void *arg, enum cor_reflector_report what, const struct cor_status *status)
{
    stage_note(arg, "%s ", cor_reflector_report_name(what));
}

/* Contract client 1.10.1, 1.10.5, 1.14.4: what NewInformer's controller is told, and what it says.
 * Without an expected type the node would be judged by the list, which has two pods. */
TEST(list_watches, a_plain_informer_has_an_expected_kind_a_page_size_and_a_wait_for_sync)
{
    struct stage s;
    struct cor_plain_informer_run_opts opts = {COR_PLAIN_INFORMER_RUN_OPTS, .page_size = 1,
                                               .on_report = note_report, .arg = &s};
    const struct cor_list_watch_opts source = {COR_LIST_WATCH_OPTS, .list = list_pages,
                                               .watch = watch_nodes, .arg = &s};
    char version[COR_REFLECTOR_VERSION_MAX];

    for (int expects_nodes = 0; expects_nodes < 2; expects_nodes++) {
        struct cor_plain_informer_run *inf;
        struct cor_list_watch *lw;

        stage_begin(&s);
        opts.api_version = "v1";
        opts.kind = expects_nodes ? "Node" : "Pod";
        assert_int_equal(cor_list_watch_new(&source, &lw), 0);
        assert_int_equal(cor_plain_informer_run_new(s.rt, &opts, lw, &inf), 0);
        cor_plain_informer_run_last_version(inf, version);
        assert_string_equal(version, "");
        assert_int_equal(cor_plain_informer_run_wait_for_sync(inf, 0), -COR_ETIMEOUT);
        assert_int_equal(cor_plain_informer_run_wait_for_sync(inf, 60000), 0);
        assert_int_equal(cor_plain_informer_run_wait_for_sync(inf, 0), 0); /* it stays so */
        stage_pump(&s);
        cor_plain_informer_run_last_version(inf, version);
        assert_string_equal(version, expects_nodes ? "6" : "5");
        assert_string_equal(s.seen, expects_nodes ? "list1 list1more "
                                                  : "list1 list1more unexpected type ");
        assert_int_equal(cor_indexer_len(cor_plain_informer_run_indexer(inf)),
                         expects_nodes ? 3 : 2);
        cor_plain_informer_run_free(inf);
        cor_list_watch_free(lw);
        stage_end(&s);
    }
}

/* A wait that ends on a thread of its own, and one that the handler may not begin. */
static void wait_inside(void *arg, struct cor_object *object, bool in_initial_list)
{
    struct cor_plain_informer_run **inf = arg;

    assert_int_equal(cor_plain_informer_run_wait_for_sync(*inf, 1), -COR_EINVAL);
}

TEST(list_watches, a_thread_waits_for_a_plain_informer)
{
    struct cor_plain_informer_run *inf = NULL;
    const struct cor_plain_informer_run_opts opts = {
        COR_PLAIN_INFORMER_RUN_OPTS, .handler = {.on_add = wait_inside, .arg = &inf}};
    struct cor_list_watch_script *pods;
    struct cor_object *object;
    struct cor_list_watch *lw;
    struct cor_runtime *rt;

    assert_int_equal(cor_runtime_new(NULL, &rt), 0);
    assert_int_equal(cor_list_watch_script_new(&pods), 0);
    assert_int_equal(cor_list_watch_script_list_watch(pods, NULL, NULL, &lw, NULL), 0);
    assert_int_equal(cor_plain_informer_run_new(rt, &opts, lw, &inf), 0);
    assert_int_equal(cor_plain_informer_run_wait_for_sync(inf, PATIENCE_MS), 0);
    object = stage_pod("x", "a", "web");
    assert_int_equal(cor_list_watch_script_put(pods, object), 0);
    cor_object_unref(object);
    cor_plain_informer_run_free(inf);
    cor_list_watch_free(lw);
    cor_list_watch_script_free(pods);
    cor_runtime_free(rt);
}

static int store_remove(void *arg, struct cor_str key, struct cor_object *object,
                        struct cor_status *reterr)
{
    return 0;
}

struct resyncing {
    bool is_due;
    int nasked, nresyncs;
};

static bool is_resync_due(void *arg)
{
    struct resyncing *r = arg;

    r->nasked++;
    return r->is_due;
}

static int count_resync(void *arg, struct cor_status *reterr)
{
    ((struct resyncing *)arg)->nresyncs++;
    return 0;
}

static int keep_nothing(void *arg, struct cor_object *object, struct cor_status *reterr)
{
    return 0;
}

static int keep_no_list(void *arg, struct cor_object *const *objects, size_t n,
                        struct cor_str version, struct cor_status *reterr)
{
    return 0;
}

/* Contract client 1.12.8, 1.13.9. */
TEST(list_watches, a_reflector_asks_whether_a_resync_is_wanted)
{
    struct resyncing r = {0};
    const struct cor_reflector_store_fns fns = {COR_REFLECTOR_STORE_FNS,
                                                .add = keep_nothing,
                                                .update = keep_nothing,
                                                .remove = store_remove,
                                                .replace = keep_no_list,
                                                .resync = count_resync,
                                                .arg = &r};
    const struct cor_reflector_run_opts opts = {COR_REFLECTOR_RUN_OPTS, .resync_ms = 1000,
                                                .should_resync = is_resync_due, .arg = &r};
    struct cor_reflector_store *store;
    struct cor_reflector_run *run;
    struct cor_list_watch *lw;
    struct stage s;

    stage_begin(&s);
    assert_int_equal(cor_reflector_store_new(&fns, &store), 0);
    assert_int_equal(cor_list_watch_script_list_watch(s.pods, NULL, NULL, &lw, NULL), 0);
    assert_int_equal(cor_reflector_run_new(s.rt, &opts, lw, store, &run), 0);
    stage_pump(&s);
    stage_advance(&s, 1000);
    stage_advance(&s, 1000);
    assert_int_equal(r.nasked, 2);
    assert_int_equal(r.nresyncs, 0);
    r.is_due = true;
    stage_advance(&s, 1000);
    assert_int_equal(r.nasked, 3);
    assert_int_equal(r.nresyncs, 1);
    cor_reflector_run_free(run);
    cor_list_watch_free(lw);
    cor_reflector_store_free(store);
    stage_end(&s);
}

static int make_scripted(void *arg, const struct cor_informer_opts *opts,
                         struct cor_list_watch **ret_list_watch)
{
    struct stage *s = arg;

    if (strcmp(opts->resource.plural, "pods") != 0)
        return -COR_ENOTFOUND;
    return cor_list_watch_script_list_watch(s->pods, opts->ns, opts->label_selector, ret_list_watch,
                                            NULL);
}

static int make_own(void *arg, const struct cor_informer_opts *opts,
                    struct cor_list_watch **ret_list_watch)
{
    return cor_list_watch_script_list_watch(arg, NULL, NULL, ret_list_watch, NULL);
}

/* A controller's code asks for informers as ever, and gets those of the script; one informer brings
 * a constructor of its own: client-go's InformerFor. */
TEST(list_watches, a_set_without_a_client_has_informers_over_the_programs_list_watches)
{
    const struct cor_informer_opts of_pods = {COR_INFORMER_OPTS, .resource = {"", "v1", "pods"},
                                              .ns = "x"};
    const struct cor_informer_opts of_nodes = {COR_INFORMER_OPTS, .resource = {"", "v1", "nodes"}};
    struct cor_informer_opts own = of_nodes;
    struct cor_informers_opts set_opts = {COR_INFORMERS_OPTS, .make_list_watch = make_scripted};
    struct cor_handler_opts handler = {COR_HANDLER_DEFAULTS};
    struct cor_list_watch_script *nodes;
    struct cor_informer *pods, *again, *inf;
    struct cor_informers *set;
    struct cor_reflector_stats stats;
    struct stage s;

    stage_begin(&s);
    assert_int_equal(cor_list_watch_script_new(&nodes), 0);
    set_opts.arg = &s;
    handler.on = (struct cor_handler_fns){
        .on_add = note_add, .on_update = note_update, .on_delete = note_delete, .arg = &s};
    assert_int_equal(cor_informers_new_on(s.rt, &set_opts, &set), 0);
    assert_int_equal(cor_informers_for_resource(set, &of_nodes, &inf, NULL), -COR_ENOTFOUND);
    own.make_list_watch = make_own;
    own.make_arg = nodes;
    assert_int_equal(cor_informers_for_resource(set, &own, &inf, NULL), 0);
    assert_int_equal(cor_informers_for_resource(set, &own, &again, NULL), 0);
    assert_ptr_equal(inf, again);
    assert_int_equal(cor_informers_for_resource(set, &of_pods, &pods, NULL), 0);
    assert_int_equal(cor_informer_add_handler(pods, &handler, NULL), 0);
    stage_put(&s, "x", "a", "web");
    stage_put(&s, "y", "b", "web");
    cor_list_watch_script_fail_next(s.pods, -COR_EFORBIDDEN, 3);
    cor_informers_start(set);
    stage_pump(&s);
    assert_int_equal(cor_informer_sync_error(pods, NULL), -COR_EFORBIDDEN);
    assert_true(cor_informer_has_synced(inf));
    for (int i = 0; i < 3; i++)
        stage_advance(&s, 60000);
    assert_true(cor_informer_has_synced(pods));
    assert_int_equal(cor_informers_wait_for_sync(set, 0, NULL), 0);
    assert_int_equal(cor_list_watch_script_remove(s.pods, COR_STR("x/a")), 0);
    stage_pump(&s);
    assert_string_equal(s.seen, "+ai -x/a ");
    cor_informer_stats(pods, &stats);
    assert_int_equal(stats.lists, 4);
    assert_int_equal(stats.watches, 1);
    assert_int_equal(stats.backlog, 0);
    cor_informers_free(set);
    cor_list_watch_script_free(nodes);
    stage_end(&s);
}

/* Without a constructor and without a client there is nothing to list. */
TEST(list_watches, a_set_without_a_client_refuses_what_no_constructor_makes)
{
    const struct cor_informer_opts of_pods = {COR_INFORMER_OPTS, .resource = {"", "v1", "pods"}};
    struct cor_informer *inf;
    struct cor_informers *set;
    struct stage s;

    stage_begin(&s);
    assert_int_equal(cor_informers_new_on(s.rt, NULL, &set), 0);
    assert_int_equal(cor_informers_for_resource(set, &of_pods, &inf, NULL), -COR_EINVAL);
    cor_informers_free(set);
    stage_end(&s);
}

/* Functions that hand their work to a thread, which answers when it likes. */
struct answerer {
    struct cor_list_watch *lw;
    pthread_t thread;
    sem_t asked, stored;
    uint64_t id;
    int nlists, nwatches, ncancels;
    enum cor_verb verb;
};

static void ask_thread(void *arg, struct cor_list_watch *lw, uint64_t id,
                       const struct cor_informer_request *req)
{
    struct answerer *a = arg;

    a->id = id;
    a->verb = req->verb;
    assert_true(cor_str_eqz(req->label_selector, "app=web"));
    sem_post(&a->asked);
}

static void on_cancelled(void *arg, struct cor_list_watch *lw, uint64_t id)
{
    ((struct answerer *)arg)->ncancels++;
}

/* Answers a list, and a watch with one event; a second answer to the list comes too late. */
static void *answer(void *arg)
{
    struct answerer *a = arg;
    struct cor_object *one = stage_pod("x", "one", "web"), *two = stage_pod("x", "two", "web");
    const struct cor_list_watch_page page = {&one, 1, COR_STR("5"), COR_STR("")};
    const struct cor_watch_event event = {.type = COR_WATCH_ADDED, .object = two};
    uint64_t list;

    sem_wait(&a->asked);
    assert_int_equal(a->verb, COR_VERB_LIST);
    list = a->id;
    assert_int_equal(cor_list_watch_page(a->lw, list, &page), 0);
    sem_wait(&a->asked);
    assert_int_equal(a->verb, COR_VERB_WATCH);
    assert_int_equal(cor_list_watch_page(a->lw, list, &page), -COR_ECANCELED);
    assert_int_equal(cor_list_watch_event(a->lw, a->id, &event), 0);
    cor_object_unref(one);
    cor_object_unref(two);
    return NULL;
}

static int store_put(void *arg, struct cor_object *object, struct cor_status *reterr)
{
    sem_post(&((struct answerer *)arg)->stored);
    return 0;
}

static int store_replace(void *arg, struct cor_object *const *objects, size_t n,
                         struct cor_str version, struct cor_status *reterr)
{
    assert_int_equal(n, 1);
    sem_post(&((struct answerer *)arg)->stored);
    return 0;
}

TEST(list_watches, functions_of_a_program_answer_from_another_thread)
{
    struct answerer a = {0};
    const struct cor_list_watch_opts opts = {COR_LIST_WATCH_OPTS, .list = ask_thread,
                                             .watch = ask_thread, .cancel = on_cancelled,
                                             .arg = &a,           .label_selector = "app=web"};
    const struct cor_reflector_store_fns fns = {COR_REFLECTOR_STORE_FNS,  .add = store_put,
                                                .update = store_put,      .remove = store_remove,
                                                .replace = store_replace, .arg = &a};
    struct cor_reflector_store *store;
    struct cor_reflector_run *run;
    struct cor_runtime *rt;

    sem_init(&a.asked, 0, 0);
    sem_init(&a.stored, 0, 0);
    assert_int_equal(cor_list_watch_new(&(struct cor_list_watch_opts){COR_LIST_WATCH_OPTS}, &a.lw),
                     -COR_EINVAL);
    assert_int_equal(cor_list_watch_new(&opts, &a.lw), 0);
    assert_int_equal(cor_reflector_store_new(&fns, &store), 0);
    assert_int_equal(cor_runtime_new(NULL, &rt), 0);
    assert_int_equal(pthread_create(&a.thread, NULL, answer, &a), 0);
    assert_int_equal(cor_reflector_run_new(rt, NULL, a.lw, store, &run), 0);
    sem_wait(&a.stored); /* the list */
    sem_wait(&a.stored); /* the event */
    pthread_join(a.thread, NULL);
    cor_reflector_run_free(run);
    assert_int_equal(a.ncancels, 1); /* of the watch */
    cor_list_watch_free(a.lw);
    cor_reflector_store_free(store);
    cor_runtime_free(rt);
    sem_destroy(&a.asked);
    sem_destroy(&a.stored);
}

static bool was_added(void *arg)
{
    return sem_trywait(arg) == 0;
}

static void post_stored(void *arg, struct cor_object *object, bool in_initial_list)
{
    sem_post(arg);
}

/* Over HTTP, on both kinds of runtime. */
TEST(list_watches, a_collection_of_a_server_is_a_list_watch)
{
    FOR_EACH_KIND(kind)
    {
        const struct cor_informer_opts scope = {
            COR_INFORMER_OPTS, .resource = {"", "v1", "configmaps"}, .label_selector = "color=red"};
        const struct cor_informer_opts no_resource = {COR_INFORMER_OPTS};
        struct cor_plain_informer_run_opts opts = {COR_PLAIN_INFORMER_RUN_OPTS};
        struct cor_plain_informer_run *inf;
        struct cor_list_watch *lw;
        struct world w;
        sem_t added;

        world_begin(&w, kind);
        sem_init(&added, 0, 0);
        opts.handler = (struct cor_handler_fns){.on_add = post_stored, .arg = &added};
        world_create(&w, "one", "{\"color\":\"red\"}", "1");
        world_create(&w, "two", "{\"color\":\"blue\"}", "1");
        assert_int_equal(cor_list_watch_from_client(w.client, &no_resource, &lw), -COR_EINVAL);
        assert_int_equal(cor_list_watch_from_client(w.client, &scope, &lw), 0);
        assert_int_equal(cor_plain_informer_run_new(w.rt, &opts, lw, &inf), 0);
        world_run(&w, was_added, &added);
        world_create(&w, "three", "{\"color\":\"red\"}", "1");
        world_run(&w, was_added, &added);
        assert_int_equal(cor_indexer_len(cor_plain_informer_run_indexer(inf)), 2);
        cor_plain_informer_run_free(inf);
        cor_list_watch_free(lw);
        sem_destroy(&added);
        world_end(&w);
    }
}

/* Each allocation fails once: what cannot be made is refused, an answer that is lost is asked for
 * again, and in the end the cache has everything. */
TEST(list_watches, an_informer_over_a_script_survives_failed_allocations)
{
    for (int for_good = 0; for_good < 2; for_good++)
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_plain_informer_run_opts opts = {COR_PLAIN_INFORMER_RUN_OPTS};
            struct cor_plain_informer_run *inf = NULL;
            struct cor_list_watch *lw = NULL;
            struct cor_object *a, *b;
            struct stage s;
            int r, r_put = 0, r_wait = 0;

            test_fail_alloc(0, false);
            stage_begin(&s);
            a = stage_pod("x", "a", "web");
            b = stage_pod("x", "b", "web");
            assert_int_equal(cor_list_watch_script_put(s.pods, a), 0);
            test_fail_alloc(n, for_good);
            r = cor_list_watch_script_list_watch(s.pods, "x", "app=web", &lw, NULL);
            if (r == 0)
                r = cor_plain_informer_run_new(s.rt, &opts, lw, &inf);
            if (r == 0) {
                r_wait = cor_plain_informer_run_wait_for_sync(inf, 0);
                stage_pump(&s);
                r_put = cor_list_watch_script_put(s.pods, b);
                stage_pump(&s);
            }
            test_fail_alloc(0, false);
            if (!test_alloc_failed())
                assert_true(r == 0 && r_put == 0);
            assert_true(r == 0 || r == -COR_ENOMEM);
            assert_true(r_put == 0 || r_put == -COR_ENOMEM);
            assert_true(r_wait == 0 || r_wait == -COR_ETIMEOUT || r_wait == -COR_ENOMEM);
            for (int i = 0; r == 0 && i < 3; i++)
                stage_advance(&s, 60000);
            if (r == 0)
                assert_string_equal(content(&s, cor_plain_informer_run_indexer(inf)),
                                    r_put == 0 ? "x/a@2 x/b@3 " : "x/a@2 ");
            cor_plain_informer_run_free(inf);
            cor_list_watch_free(lw);
            cor_object_unref(a);
            cor_object_unref(b);
            stage_end(&s);
        }
}

TEST(list_watches, a_reflector_and_a_set_are_made_or_not)
{
    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_informer_opts of_pods = {COR_INFORMER_OPTS,
                                                  .resource = {"", "v1", "pods"}};
        struct cor_informers_opts set_opts = {COR_INFORMERS_OPTS, .make_list_watch = make_scripted};
        struct cor_reflector_run *run = NULL;
        struct cor_reflector_store *store;
        struct cor_list_watch *lw;
        struct cor_informers *set = NULL;
        struct cor_informer *inf;
        struct cor_indexer *ix;
        struct stage s;
        int r;

        test_fail_alloc(0, false);
        stage_begin(&s);
        set_opts.arg = &s;
        stage_put(&s, "x", "a", "web");
        assert_int_equal(cor_indexer_new(NULL, 0, &ix), 0);
        assert_int_equal(cor_indexer_store_new(ix, &store), 0);
        assert_int_equal(cor_list_watch_script_list_watch(s.pods, NULL, NULL, &lw, NULL), 0);
        test_fail_alloc(n, false);
        r = cor_reflector_run_new(s.rt, NULL, lw, store, &run);
        if (r == 0)
            r = cor_informers_new_on(s.rt, &set_opts, &set);
        if (r == 0)
            r = cor_informers_for_resource(set, &of_pods, &inf, NULL);
        test_fail_alloc(0, false);
        assert_true(r == 0 || (r == -COR_ENOMEM && test_alloc_failed()));
        /* An answer that was lost is asked for again. */
        if (r == 0)
            cor_informers_start(set);
        for (int i = 0; r == 0 && i < 3; i++)
            stage_advance(&s, 60000);
        if (r == 0) {
            assert_string_equal(content(&s, ix), "x/a@2 ");
            assert_int_equal(cor_informer_len(inf), 1);
        }
        cor_reflector_run_free(run);
        cor_informers_free(set);
        cor_list_watch_free(lw);
        cor_reflector_store_free(store);
        cor_indexer_free(ix);
        stage_end(&s);
    }
}
