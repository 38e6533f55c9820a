/* What of a server's objects an informer holds: by namespace, by what a tweak asks for, whole or
 * metadata alone. A real server, on both kinds of runtime. */
#include <stdio.h>

#include "ear.h"

/* A server that runs no controllers has none of them when it starts. */
static const struct cor_resource accounts = {"", "v1", "serviceaccounts"};

/* Each informer of a set, with its handler. */
struct set {
    struct world w;
    struct cor_informers *informers;
    struct cor_informer *inf[4];
    struct ear ears[4];
    size_t n;
};

static void begin(struct set *s, enum cor_runtime_kind kind, const struct cor_informers_opts *opts)
{
    s->n = 0;
    world_begin(&s->w, kind);
    assert_int_equal(cor_informers_new(s->w.client, opts, &s->informers), 0);
}

static struct ear *follow(struct set *s, struct cor_informer_opts opts)
{
    struct ear *ear = &s->ears[s->n];
    struct cor_handler_opts handler = ear_opts(ear);

    ear_init(ear);
    if (!opts.resource.plural)
        opts.resource = accounts;
    assert_int_equal(cor_informers_for_resource(s->informers, &opts, &s->inf[s->n], NULL), 0);
    assert_int_equal(cor_informer_add_handler(s->inf[s->n++], &handler, NULL), 0);
    return ear;
}

static void start(struct set *s)
{
    cor_informers_start(s->informers);
    assert_int_equal(cor_informers_wait_for_sync(s->informers, PATIENCE_MS, NULL), 0);
}

static void end(struct set *s)
{
    cor_informers_free(s->informers);
    world_end(&s->w);
}

static void create_in(struct set *s, const char *ns, const char *name, const char *labels)
{
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = accounts, .ns = ns};
    char json[256];

    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"%s\",\"labels\":%s}}",
             name, ns, labels);
    assert_int_equal(cor_object_from_json(cor_strz(json), &req.object, NULL), 0);
    assert_int_equal(cor_client_do(s->w.client, &req, NULL, NULL), 0);
    cor_object_unref(req.object);
}

static void ask_for_label(void *arg, struct cor_informer_request *req)
{
    req->label_selector = cor_strz(arg);
}

static void ask_for_field(void *arg, struct cor_informer_request *req)
{
    req->field_selector = cor_strz(arg);
}

/* Contract client 3.1.3, 3.2.3, 3.2.5: those of the namespace, the label and the field, in the
 * first list and in the watch; the last one is in all of them, so that nothing is awaited in vain.
 */
TEST(informer_scopes, a_namespace_and_tweaks_choose_what_is_held)
{
    static char red[] = "color=red", last[] = "metadata.name=last";

    FOR_EACH_KIND(kind)
    {
        struct ear *all, *of_namespace, *of_label, *of_field;
        struct set s;

        begin(&s, kind, NULL);
        create_in(&s, "kube-node-lease", "one", "{\"color\":\"red\"}");
        create_in(&s, "default", "two", "{\"color\":\"blue\"}");
        all = follow(&s, (struct cor_informer_opts){COR_INFORMER_OPTS, .ns = NULL});
        of_namespace =
            follow(&s, (struct cor_informer_opts){COR_INFORMER_OPTS, .ns = "kube-node-lease"});
        of_label = follow(&s, (struct cor_informer_opts){COR_INFORMER_OPTS, .tweak = ask_for_label,
                                                         .tweak_arg = red});
        of_field = follow(&s, (struct cor_informer_opts){COR_INFORMER_OPTS, .tweak = ask_for_field,
                                                         .tweak_arg = last});
        start(&s);
        create_in(&s, "default", "three", "{\"color\":\"red\"}");
        create_in(&s, "kube-node-lease", "four", "{}");
        create_in(&s, "kube-node-lease", "last", "{\"color\":\"red\"}");
        ear_await(all, &s.w, "!two !one +three +four +last ");
        ear_await(of_namespace, &s.w, "!one +four +last ");
        ear_await(of_label, &s.w, "!one +three +last ");
        ear_await(of_field, &s.w, "+last ");
        end(&s);
    }
}

/* Contract controllers 6.7.7: an object outside of the selector exists, and the cache lacks it. */
TEST(informer_scopes, what_a_selector_leaves_out_is_not_found_although_it_exists)
{
    struct cor_object *object = NULL;
    struct cor_request again = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = accounts,
                                .ns = "default"};
    struct set s;

    begin(&s, COR_RUNTIME_PUMPED, NULL);
    create_in(&s, "default", "blue", "{\"color\":\"blue\"}");
    follow(&s, (struct cor_informer_opts){COR_INFORMER_OPTS, .label_selector = "color=red"});
    start(&s);
    assert_int_equal(cor_informer_get(s.inf[0], COR_STR("default"), COR_STR("blue"), &object, NULL),
                     -COR_ENOTFOUND);
    assert_int_equal(cor_object_from_json(COR_STR("{\"apiVersion\":\"v1\",\"kind\":"
                                                  "\"ServiceAccount\",\"metadata\":{\"name\":"
                                                  "\"blue\"}}"),
                                          &again.object, NULL),
                     0);
    assert_int_equal(cor_client_do(s.w.client, &again, NULL, NULL), -COR_EEXIST);
    cor_object_unref(again.object);
    end(&s);
}

struct tweaks {
    atomic_int nlists, nwatches, nelsewhere;
    pthread_t caller;
};

static void one_by_one(void *arg, struct cor_informer_request *req)
{
    struct tweaks *t = arg;

    atomic_fetch_add(req->verb == COR_VERB_LIST ? &t->nlists : &t->nwatches, 1);
    atomic_fetch_add(&t->nelsewhere, !pthread_equal(pthread_self(), t->caller));
    assert_true(cor_str_eqz(req->label_selector, "color"));
    req->limit = req->verb == COR_VERB_LIST ? 1 : 0;
    if (req->continue_token.n == 0 && req->verb == COR_VERB_LIST)
        req->resource_version = COR_STR(""); /* at "0" the watch cache answers all at once */
}

static void only_red(void *arg, struct cor_informer_request *req)
{
    assert_int_equal(req->limit, req->verb == COR_VERB_LIST ? 1 : 0);
    req->label_selector = COR_STR("color=red");
    req->verb = COR_VERB_DELETE_COLLECTION;
    req->send_initial_events = true;
}

/* Contract client 3.1.3: on every list and watch, after the informer's own options. The set's tweak
 * is called first, each page has its call, and what is no option of a list stays as it is. */
TEST(informer_scopes, a_set_and_an_informer_tweak_each_page_and_watch)
{
    FOR_EACH_KIND(kind)
    {
        struct tweaks t = {.caller = pthread_self()};
        const struct cor_informers_opts opts = {COR_INFORMERS_OPTS, .tweak = one_by_one, .arg = &t};
        struct ear *ear;
        struct set s;

        begin(&s, kind, &opts);
        for (int i = 0; i < 3; i++)
            create_in(&s, "default", (const char *[]){"a", "b", "c"}[i],
                      i == 1 ? "{\"color\":\"blue\"}" : "{\"color\":\"red\"}");
        ear = follow(&s, (struct cor_informer_opts){COR_INFORMER_OPTS, .label_selector = "color",
                                                    .tweak = only_red});
        start(&s);
        create_in(&s, "default", "d", "{\"color\":\"blue\"}");
        create_in(&s, "default", "e", "{\"color\":\"red\"}");
        ear_await(ear, &s.w, "!a !c +e ");
        assert_int_equal(atomic_load(&t.nlists), 2);
        assert_int_equal(atomic_load(&t.nwatches), 1);
        assert_int_equal(atomic_load(&t.nelsewhere), kind == COR_RUNTIME_THREADS ? 3 : 0);
        end(&s);
    }
}

/* A digit for each call, in order. */
static int note_set(void *arg, struct cor_object **object, struct cor_status *reterr)
{
    *(int *)arg = *(int *)arg * 10 + 2;
    return 0;
}

static int note_own(void *arg, struct cor_object **object, struct cor_status *reterr)
{
    *(int *)arg = *(int *)arg * 10 + 1;
    return 0;
}

/* Contract client 3.1.2: the set's transform is every informer's. */
TEST(informer_scopes, a_set_transforms_after_its_informers)
{
    FOR_EACH_KIND(kind)
    {
        int calls = 0;
        const struct cor_informers_opts opts = {COR_INFORMERS_OPTS, .transform = note_set,
                                                .arg = &calls};
        struct ear *ear;
        struct set s;

        begin(&s, kind, &opts);
        create_in(&s, "default", "one", "{}");
        ear =
            follow(&s, (struct cor_informer_opts){COR_INFORMER_OPTS, .ns = "default",
                                                  .transform = note_own, .transform_arg = &calls});
        start(&s);
        ear_await(ear, &s.w, "!one ");
        assert_int_equal(calls, 12);
        end(&s);
    }
}

/* Contract client 3.3.2: add, update and delete, of metadata alone. */
TEST(informer_scopes, metadata_only_follows_adds_updates_and_deletions)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_object *one;
        struct ear *ear;
        char rv[32];
        struct set s;

        begin(&s, kind, NULL);
        world_create(&s.w, "one", "{}", "1");
        ear = follow(&s, (struct cor_informer_opts){COR_INFORMER_OPTS, .resource = configmaps,
                                                    .ns = "default", .metadata_only = true});
        start(&s);
        world_create(&s.w, "two", "{}", "1");
        world_update(&s.w, "one", "2", rv);
        world_delete(&s.w, "two");
        ear_await(ear, &s.w, "!one +two ~one -two ");
        assert_int_equal(cor_informer_get_by_key(s.inf[0], COR_STR("default/one"), &one), 0);
        assert_true(cor_str_eqz(cor_object_resource_version(one), rv));
        assert_null(strstr(cor_object_json(one).p, "\"data\""));
        cor_object_unref(one);
        end(&s);
    }
}

/* Every set has an end of its own, where client-go has one for each Start. */
TEST(informer_scopes, sets_of_one_client_end_by_themselves)
{
    FOR_EACH_KIND(kind)
    {
        struct set s, other;
        struct ear *ear, *of_other;

        begin(&s, kind, NULL);
        other = (struct set){.n = 0};
        assert_int_equal(cor_informers_new(s.w.client, NULL, &other.informers), 0);
        ear = follow(&s, (struct cor_informer_opts){COR_INFORMER_OPTS, .ns = "default"});
        of_other = follow(&other, (struct cor_informer_opts){COR_INFORMER_OPTS, .ns = "default"});
        start(&s);
        start(&other);
        create_in(&s, "default", "one", "{}");
        ear_await(ear, &s.w, "+one ");
        ear_await(of_other, &s.w, "+one ");
        cor_informers_stop(other.informers);
        create_in(&s, "default", "two", "{}");
        ear_await(ear, &s.w, "+one +two ");
        ear_await(of_other, &s.w, "+one ");
        cor_informers_free(other.informers);
        end(&s);
    }
}

/* Contract client 3.1.11: there is no way back for what was stopped; it is still the scope's
 * informer, and readable. */
TEST(informer_scopes, what_was_stopped_stays_and_is_not_started_again)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_informer *again;
        const struct cor_informer_opts opts = {COR_INFORMER_OPTS, .resource = accounts,
                                               .ns = "default"};
        struct set s;

        begin(&s, kind, NULL);
        create_in(&s, "default", "one", "{}");
        follow(&s, opts);
        start(&s);
        cor_informers_stop(s.informers);
        assert_int_equal(cor_informers_for_resource(s.informers, &opts, &again, NULL), 0);
        assert_ptr_equal(again, s.inf[0]);
        cor_informers_start(s.informers);
        assert_int_equal(
            cor_informer_add_handler(again, &(struct cor_handler_opts){COR_HANDLER_OPTS}, NULL),
            -COR_ECANCELED);
        assert_int_equal(cor_informer_len(again), 1);
        end(&s);
    }
}

static void on_watch_error(void *arg, struct cor_str plural, const struct cor_status *error)
{
    assert_true(cor_str_eqz(plural, "boats"));
    assert_int_equal(error->err, -COR_ENOTFOUND);
    assert_non_null(strstr(cor_status_message(error), "failed to list boats: "));
    atomic_store((atomic_bool *)arg, true);
}

static bool is_set(void *arg)
{
    return atomic_load((atomic_bool *)arg);
}

/* Any resource may be asked for; whether there is one, the server says. */
TEST(informer_scopes, a_resource_that_the_server_lacks_is_told_of)
{
    FOR_EACH_KIND(kind)
    {
        const struct cor_informer_opts boats = {COR_INFORMER_OPTS,
                                                .resource = {"example.com", "v1", "boats"}};
        atomic_bool is_told = false;
        const struct cor_informers_opts opts = {
            COR_INFORMERS_OPTS, .on_watch_error = on_watch_error, .arg = (void *)&is_told};
        struct set s;

        begin(&s, kind, &opts);
        assert_int_equal(cor_informers_for_resource(s.informers, &boats, &s.inf[0], NULL), 0);
        cor_informers_start(s.informers);
        world_run(&s.w, is_set, (void *)&is_told);
        assert_false(cor_informer_has_synced(s.inf[0]));
        end(&s);
    }
}
