/* Every allocation that the library makes for a call fails once; the server is another process and
 * has its memory. A call then ends as if nothing had been or says -COR_ENOMEM, leaves nothing
 * behind, and the next one works. The pumped runtime makes them all on this thread. */
#include <stdio.h>

#include "world.h"

/* Nothing fails any more; `r` and what was filled are as the contract says. */
static void check(int r, struct cor_status *why)
{
    test_fail_alloc(0, false);
    if (r != 0) {
        assert_int_equal(r, -COR_ENOMEM);
        assert_int_equal(why->err, r);
        assert_true(test_alloc_failed());
    }
    cor_status_deinit(why);
}

static struct cor_request to(enum cor_verb verb, const char *name)
{
    return (struct cor_request){COR_REQUEST, .verb = verb, .resource = configmaps, .ns = "default",
                                .name = name};
}

/* From now on the n-th fails: with a connection that is open, so that as many come before it as in
 * the run before. */
static void arm(struct world *w, size_t n)
{
    const struct cor_request req = to(COR_VERB_GET, "nothing");

    test_fail_alloc(0, false);
    assert_int_equal(cor_client_do(w->client, &req, NULL, NULL), -COR_ENOTFOUND);
    test_fail_alloc(n, false);
}

static struct cor_object *get(struct world *w, const char *name)
{
    const struct cor_request req = to(COR_VERB_GET, name);
    struct cor_object *object;

    assert_int_equal(cor_client_do(w->client, &req, &object, NULL), 0);
    return object;
}

TEST(out_of_memory, a_runtime_and_a_client_are_made_or_not)
{
    const struct cor_runtime_opts pumped = {COR_RUNTIME_OPTS, .kind = COR_RUNTIME_PUMPED};
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &w.config, .qps = -1};
        struct cor_runtime *rt = NULL;
        struct cor_client *client = NULL;
        struct cor_status why = {0};
        int r = cor_runtime_new(&pumped, &rt);

        if (r < 0)
            why.err = r;
        else
            r = cor_client_new(rt, &opts, &client, &why);
        check(r, &why);
        cor_client_free(client);
        cor_runtime_free(rt);
    }
    world_end(&w);
}

/* Of a client that has no connection yet, and of one that has. */
static void get_with_failures(struct world *w, bool anew)
{
    const struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &w->config, .qps = -1};
    const struct cor_request req = to(COR_VERB_GET, "one");

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object *object = NULL;
        struct cor_status why = {0};
        int r;

        arm(w, n);
        if (anew) {
            test_fail_alloc(0, false);
            cor_client_free(w->client);
            assert_int_equal(cor_client_new(w->rt, &opts, &w->client, NULL), 0);
            test_fail_alloc(n, false);
        }
        r = cor_client_do(w->client, &req, &object, &why);
        check(r, &why);
        assert_int_equal(object != NULL, r == 0);
        if (object)
            assert_str(cor_object_name(object), "one");
        cor_object_unref(object);
        cor_object_unref(get(w, "one"));
    }
}

TEST(out_of_memory, an_object_is_read_or_not)
{
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    world_create(&w, "one", "{}", "1");
    get_with_failures(&w, false);
    get_with_failures(&w, true);
    world_end(&w);
}

TEST(out_of_memory, an_object_is_written_or_an_error_is_told)
{
    struct cor_request create = to(COR_VERB_CREATE, NULL), patch = to(COR_VERB_PATCH, "new");
    struct cor_request remove = to(COR_VERB_DELETE, "new");
    struct world w;

    assert_int_equal(cor_object_from_json(COR_STR("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                                                  "\"metadata\":{\"name\":\"new\"}}"),
                                          &create.object, NULL),
                     0);
    patch.patch_type = COR_PATCH_MERGE;
    patch.patch = COR_STR("{\"data\":{\"v\":\"2\"}}");
    remove.has_grace = true;
    remove.propagation = "Background";
    world_begin(&w, COR_RUNTIME_PUMPED);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status why = {0};
        int r;

        arm(&w, n);
        r = cor_client_do(w.client, &create, NULL, &why);
        if (r == 0)
            r = cor_client_do(w.client, &patch, NULL, &why);
        if (r == 0)
            r = cor_client_do(w.client, &remove, NULL, &why);
        check(r, &why);
        /* What is said to be removed is not there. */
        if (r == 0)
            assert_int_equal(cor_client_do(w.client, &remove, NULL, NULL), -COR_ENOTFOUND);
        r = cor_client_do(w.client, &remove, NULL, NULL);
        assert_true(r == 0 || r == -COR_ENOTFOUND);
    }
    cor_object_unref(create.object);
    world_end(&w);
}

/* What the server refuses keeps its code when there is no memory for its words. */
TEST(out_of_memory, an_error_of_the_server_stays_that_error)
{
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_request req = to(COR_VERB_GET, "nothing");
        struct cor_status why = {0};
        int r;

        arm(&w, n);
        r = cor_client_do(w.client, &req, NULL, &why);
        test_fail_alloc(0, false);
        assert_true(r == -COR_ENOTFOUND || r == -COR_ENOMEM);
        assert_int_equal(why.err, r);
        if (r == -COR_ENOTFOUND)
            assert_int_equal(why.code, 404);
        assert_true(cor_status_message(&why)[0] != '\0');
        cor_status_deinit(&why);
    }
    world_end(&w);
}

TEST(out_of_memory, a_list_is_whole_or_an_error)
{
    struct world w;
    char name[16];

    world_begin(&w, COR_RUNTIME_PUMPED);
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof(name), "cm-%d", i);
        world_create(&w, name, "{}", "1");
    }
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_request req = to(COR_VERB_LIST, NULL);
        struct cor_object_list list = {0};
        struct cor_status why = {0};
        int r;

        req.limit = 69;
        arm(&w, n);
        r = cor_client_list(w.client, &req, &list, &why);
        check(r, &why);
        assert_int_equal(list.n, r == 0 ? 69 : 0);
        if (r == 0)
            assert_true(list.continue_token[0] != '\0' && list.resource_version[0] != '\0');
        cor_object_list_deinit(&list);
    }
    world_end(&w);
}

TEST(out_of_memory, pages_are_a_whole_list_or_an_error)
{
    struct world w;
    char name[16];

    world_begin(&w, COR_RUNTIME_PUMPED);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "cm-%d", i);
        world_create(&w, name, "{}", "1");
    }
    for (enum cor_paging paging = COR_PAGING_EACH; paging <= COR_PAGING_WHOLE; paging++)
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_request req = to(COR_VERB_LIST, NULL);
            struct cor_object_list list = {0};
            struct cor_status why = {0};
            int r;

            req.limit = 1;
            req.paging = paging;
            arm(&w, n);
            r = cor_client_list(w.client, &req, &list, &why);
            check(r, &why);
            assert_int_equal(list.n, r == 0 ? 3 : 0);
            cor_object_list_deinit(&list);
        }
    world_end(&w);
}

static int relabel(void *arg, struct cor_object *current, struct cor_object **ret_object,
                   struct cor_status *reterr)
{
    char value[16];
    struct cor_builder *b;
    int r = cor_builder_new(current, &b);

    if (r < 0)
        return r;
    snprintf(value, sizeof(value), "%d", ++*(int *)arg);
    cor_builder_set_label(b, "n", cor_strz(value));
    r = cor_builder_finish(b, ret_object, reterr);
    cor_builder_free(b);
    return r;
}

TEST(out_of_memory, a_change_is_made_or_not)
{
    struct world w;
    int nchanges = 0;

    world_begin(&w, COR_RUNTIME_PUMPED);
    world_create(&w, "one", "{}", "1");
    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_request req = to(COR_VERB_UPDATE, "one");
        struct cor_object *object = NULL;
        struct cor_status why = {0};
        int r;

        arm(&w, n);
        r = cor_client_change(w.client, &req, relabel, &nchanges, &object, &why);
        check(r, &why);
        assert_int_equal(object != NULL, r == 0);
        if (object) {
            struct cor_object *stored = get(&w, "one");
            char label[32];

            snprintf(label, sizeof(label), "\"n\":\"%d\"", nchanges);
            assert_non_null(strstr(cor_object_json(stored).p, label));
            assert_true(cor_str_eq(cor_object_resource_version(object),
                                   cor_object_resource_version(stored)));
            cor_object_unref(stored);
        }
        cor_object_unref(object);
    }
    world_end(&w);
}

TEST(out_of_memory, a_resource_is_found_or_looked_for_again)
{
    const struct cor_resource partial = {NULL, NULL, "deploy"}, unknown = {NULL, NULL, "nothing"};
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &w.config, .qps = -1};
        struct cor_found_resource found;
        struct cor_status why = {0};
        int r;

        test_fail_alloc(0, false);
        cor_client_free(w.client);
        assert_int_equal(cor_client_new(w.rt, &opts, &w.client, NULL), 0);
        arm(&w, n);
        r = cor_client_find(w.client, &partial, &found, &why);
        check(r, &why);
        if (r == 0) {
            assert_string_equal(found.plural, "deployments");
            assert_string_equal(found.group, "apps");
            assert_string_equal(found.version, "v1");
        }
        assert_int_equal(cor_client_find(w.client, &partial, &found, NULL), 0);
        assert_string_equal(found.plural, "deployments");
    }
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_found_resource found;
        struct cor_status why = {0};
        int r;

        arm(&w, n);
        r = cor_client_find(w.client, &unknown, &found, &why);
        test_fail_alloc(0, false);
        assert_true(r == -COR_ENOTFOUND || r == -COR_ENOMEM);
        assert_int_equal(why.err, r);
        cor_status_deinit(&why);
    }
    world_end(&w);
}

static int count(void *arg, const struct cor_api_resource *resource)
{
    ++*(int *)arg;
    return 0;
}

TEST(out_of_memory, what_is_served_is_listed_or_asked_for_again)
{
    struct world w;
    int all = 0;

    world_begin(&w, COR_RUNTIME_PUMPED);
    assert_int_equal(cor_client_each_resource(w.client, false, count, &all, NULL), 0);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status why = {0};
        int r, told = 0;

        arm(&w, n);
        r = cor_client_each_resource(w.client, true, count, &told, &why);
        check(r, &why);
        assert_int_equal(told, r == 0 ? all : 0);
    }
    world_end(&w);
}

static int read_it(void *arg, struct cor_str body)
{
    ++*(int *)arg;
    assert_true(cor_str_starts(body, COR_STR("{")) && cor_str_ends(body, COR_STR("}")));
    return 0;
}

TEST(out_of_memory, a_path_is_read_or_not)
{
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status why = {0};
        int r, nread = 0;

        arm(&w, n);
        r = cor_client_get_path(w.client, "/version", 0, read_it, &nread, &why);
        check(r, &why);
        assert_int_equal(nread, r == 0);
    }
    world_end(&w);
}

static int count_bytes(void *arg, struct cor_str piece)
{
    *(size_t *)arg += piece.n;
    return 0;
}

TEST(out_of_memory, a_log_is_read_or_not)
{
    const struct cor_pod_logs logs = {COR_POD_LOGS, .ns = "default", .pod = "nobody",
                                      .container = "main"};
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status why = {0};
        size_t nread = 0;
        int r;

        arm(&w, n);
        r = cor_client_pod_logs(w.client, &logs, count_bytes, &nread, &why);
        assert_int_equal(nread, 0);
        if (r != -COR_ENOTFOUND)
            check(r, &why);
        cor_status_deinit(&why);
    }
    world_end(&w);
}

struct heard {
    bool is_done;
    int err;
    size_t nevents;
    struct cor_client_call *call;
};

static int on_event(void *arg, const struct cor_watch_event *event)
{
    struct heard *h = arg;

    if (h->nevents++ == 0)
        cor_client_call_cancel(h->call);
    return 0;
}

static void on_done(void *arg, const struct cor_response *response)
{
    struct heard *h = arg;

    assert_false(h->is_done);
    h->is_done = true;
    h->err = response->error ? response->error->err : 0;
}

static bool is_done(void *arg)
{
    return ((struct heard *)arg)->is_done;
}

TEST(out_of_memory, a_watch_begins_or_its_end_is_told)
{
    static const struct cor_request_cbs cbs = {.on_event = on_event, .on_done = on_done};
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    world_create(&w, "one", "{}", "1");
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_request req = to(COR_VERB_WATCH, NULL);
        struct heard h = {0};
        int r;

        req.timeout_ms = PATIENCE_MS;
        arm(&w, n);
        r = cor_client_send(w.client, &req, &cbs, &h, &h.call);
        if (r == 0)
            world_run(&w, is_done, &h);
        else
            assert_int_equal(r, -COR_ENOMEM);
        test_fail_alloc(0, false);
        if (r == 0)
            assert_true(h.err == -COR_ECANCELED || (h.err == -COR_ENOMEM && test_alloc_failed()));
        if (h.err == -COR_ECANCELED)
            assert_int_equal(h.nevents, 1);
        cor_client_call_unref(h.call);
    }
    world_end(&w);
}

static int by_name(void *arg, const struct cor_object *object, struct cor_index_values *out)
{
    return cor_index_values_add(out, cor_object_name(object));
}

static void on_add(void *arg, struct cor_object *object, bool is_initial)
{
    ++*(int *)arg;
}

static void on_removed(void *arg)
{
    *(int *)arg = -1;
}

static void on_mutation(void *arg, const struct cor_object *object)
{
}

TEST(out_of_memory, informers_and_their_handlers_are_made_or_not)
{
    const struct cor_informers_opts set_opts = {COR_INFORMERS_OPTS, .resync_ms = 1000,
                                                .on_mutation = on_mutation};
    const struct cor_informer_opts opts = {COR_INFORMER_OPTS, .resource = configmaps,
                                           .ns = "default", .label_selector = "a=b"};
    const struct cor_index_def index = {COR_STR("name"), by_name, NULL};
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    FOR_EACH_FAILED_ALLOC(n) {
        int nadds = 0;
        const struct cor_handler_opts handler = {
            COR_HANDLER_OPTS, .on = {.on_add = on_add, .arg = &nadds}, .on_removed = on_removed};
        struct cor_informers *set = NULL;
        struct cor_informer *informer, *again;
        struct cor_status why = {0};
        int r = cor_informers_new(w.client, &set_opts, &set);

        if (r == 0)
            r = cor_informers_for_resource(set, &opts, &informer, &why);
        if (r == 0)
            r = cor_informer_add_indexes(informer, &index, 1);
        if (r == 0)
            r = cor_informer_add_handler(informer, &handler, NULL);
        why.err = r;
        check(r, &why);
        if (r == 0)
            assert_int_equal(cor_informer_add_indexes(informer, &index, 1), -COR_EEXIST);
        if (set) {
            assert_int_equal(cor_informers_for_resource(set, &opts, &informer, NULL), 0);
            assert_int_equal(cor_informers_for_resource(set, &opts, &again, NULL), 0);
            assert_ptr_equal(informer, again);
        }
        cor_informers_free(set);
        assert_int_equal(nadds, r == 0 ? -1 : 0);
    }
    world_end(&w);
}

#define MANY_SETS 40

/* So many that the loop's timers need more room for them. */
TEST(out_of_memory, sets_that_look_for_mutations_are_made_or_not)
{
    const struct cor_informers_opts opts = {COR_INFORMERS_OPTS, .on_mutation = on_mutation};
    struct cor_informers *sets[MANY_SETS];
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    FOR_EACH_FAILED_ALLOC(n) {
        int i = 0;

        while (i < MANY_SETS && cor_informers_new(w.client, &opts, &sets[i]) == 0)
            i++;
        assert_int_equal(i < MANY_SETS, test_alloc_failed());
        while (i > 0)
            cor_informers_free(sets[--i]);
    }
    world_end(&w);
}

TEST(out_of_memory, a_cache_is_read_and_waited_for_or_not)
{
    const struct cor_informer_opts opts = {COR_INFORMER_OPTS, .resource = configmaps};
    struct world w;
    struct cor_informers *set;
    struct cor_informer *informer;

    world_begin(&w, COR_RUNTIME_PUMPED);
    world_create(&w, "one", "{}", "1");
    assert_int_equal(cor_informers_new(w.client, NULL, &set), 0);
    assert_int_equal(cor_informers_for_resource(set, &opts, &informer, NULL), 0);
    cor_informers_start(set);
    assert_int_equal(cor_informers_wait_for_sync(set, PATIENCE_MS, NULL), 0);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object *object;
        struct cor_status why = {0};
        int r = cor_informer_get(informer, COR_STR("default"), COR_STR("one"), &object, &why);

        check(r, &why);
        if (r == 0) {
            assert_str(cor_object_name(object), "one");
            cor_object_unref(object);
        }
    }
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object *object;
        struct cor_status why = {0};
        int r = cor_informer_get(informer, COR_STR("default"), COR_STR("no"), &object, &why);

        assert_true(r == -COR_ENOTFOUND || (r == -COR_ENOMEM && test_alloc_failed()));
        assert_int_equal(why.err, r);
        cor_status_deinit(&why);
    }
    FOR_EACH_FAILED_ALLOC(n) {
        int r = cor_informer_wait_for_version(informer, COR_STR("999999999"), 1);

        assert_true(r == -COR_ETIMEOUT || (r == -COR_ENOMEM && test_alloc_failed()));
    }
    cor_informers_free(set);
    world_end(&w);
}

struct candidate {
    struct cor_election *election;
    int started, stopped;
};

static void on_started(void *arg)
{
    ((struct candidate *)arg)->started++;
}

static void on_stopped(void *arg)
{
    ((struct candidate *)arg)->stopped++;
}

static bool leads(void *arg)
{
    return ((struct candidate *)arg)->started > 0;
}

/* A request that had no memory is made again after the retry period. */
TEST(out_of_memory, an_election_is_not_made_or_is_won_all_the_same)
{
    char key[] = "a", value[] = "b";
    const struct cor_string_pair label = {key, value};
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    FOR_EACH_FAILED_ALLOC(n) {
        struct candidate c = {0};
        const struct cor_election_opts opts = {COR_ELECTION_OPTS,
                                               .ns = "default",
                                               .name = "lock",
                                               .labels = &label,
                                               .nlabels = 1,
                                               .identity = "me",
                                               .lease_ms = 120000,
                                               .renew_ms = 60000,
                                               .retry_ms = 10,
                                               .release_on_cancel = true,
                                               .on_started = on_started,
                                               .on_stopped = on_stopped,
                                               .arg = &c};
        struct cor_status why = {0};
        int r;

        arm(&w, n);
        r = cor_election_new(w.client, &opts, &c.election, &why);
        if (r == 0)
            world_run(&w, leads, &c);
        check(r, &why);
        cor_election_free(c.election);
        assert_int_equal(c.started, r == 0);
        assert_int_equal(c.stopped, r == 0);
    }
    world_end(&w);
}

static bool has_events(struct world *w)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_LIST,
                                    .resource = {"", "v1", "events"}, .ns = "default"};
    struct cor_object_list list;
    bool has_any;

    assert_int_equal(cor_client_list(w->client, &req, &list, NULL), 0);
    has_any = list.n > 0;
    cor_object_list_deinit(&list);
    return has_any;
}

static void tell_or_lose_events(bool series)
{
    const struct cor_events_opts events_opts = {COR_EVENTS_OPTS, .component = "tester",
                                                .series = series};
    struct world w;
    struct cor_object *one;

    world_begin(&w, COR_RUNTIME_PUMPED);
    world_create(&w, "one", "{}", "1");
    one = get(&w, "one");
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_events *events = NULL;
        struct cor_status why = {0};
        int r;

        arm(&w, n);
        r = cor_events_new(w.client, &events_opts, &events);
        for (int i = 0; r == 0 && i < 2; i++)
            r = cor_events_record(events, one, COR_EVENT_NORMAL, "Seen", "seen");
        why.err = r;
        if (r < 0)
            check(r, &why);
        cor_events_free(events);
    }
    assert_true(has_events(&w));
    cor_object_unref(one);
    world_end(&w);
}

TEST(out_of_memory, events_are_told_or_lost_and_the_end_comes)
{
    tell_or_lose_events(false);
}

TEST(out_of_memory, events_of_a_series_are_told_or_lost_and_the_end_comes)
{
    tell_or_lose_events(true);
}
