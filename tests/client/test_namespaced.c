/* One resource in several namespaces: a real server, on both kinds of runtime. */
#include <stdio.h>

#include "coracle/namespaced_informer.h"
#include "ear.h"

static const struct cor_informer_opts of_configmaps = {COR_INFORMER_OPTS,
                                                       .resource = {"", "v1", "configmaps"}};
static const char *const both[] = {"kube-node-lease", "default", "kube-node-lease"};

struct several {
    struct world w;
    struct cor_informers *informers;
    struct cor_namespaced_informer *all;
};

static void begin(struct several *s, enum cor_runtime_kind kind)
{
    world_begin(&s->w, kind);
    assert_int_equal(cor_informers_new(s->w.client, NULL, &s->informers), 0);
    assert_int_equal(cor_namespaced_informer_new(s->informers, &of_configmaps, both,
                                                 COR_ARRAY_LEN(both), &s->all, NULL),
                     0);
}

static void start(struct several *s)
{
    cor_informers_start(s->informers);
    assert_int_equal(cor_informers_wait_for_sync(s->informers, PATIENCE_MS, NULL), 0);
    assert_true(cor_namespaced_informer_has_synced(s->all));
}

static void end(struct several *s)
{
    cor_namespaced_informer_free(s->all);
    cor_informers_free(s->informers);
    world_end(&s->w);
}

static void create_in(struct several *s, const char *ns, const char *name)
{
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = configmaps,
                              .ns = ns};
    char json[256];

    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
             "\"labels\":{\"sea\":\"north\"}}}",
             name);
    assert_int_equal(cor_object_from_json(cor_strz(json), &req.object, NULL), 0);
    assert_int_equal(cor_client_do(s->w.client, &req, NULL, NULL), 0);
    cor_object_unref(req.object);
}

/* Appends the names of objects. */
static int add_name(void *arg, struct cor_object *object)
{
    struct cor_str name = cor_object_name(object);
    size_t n = strlen(arg);

    snprintf((char *)arg + n, 64 - n, "%.*s ", COR_STR_ARG(name));
    return 0;
}

static int by_sea(void *arg, const struct cor_object *object, struct cor_index_values *out)
{
    struct cor_str sea;

    (void)arg;
    return cor_object_label(object, COR_STR("sea"), &sea) ? cor_index_values_add(out, sea) : 0;
}

static int get(struct several *s, const char *ns, const char *name)
{
    struct cor_object *object = NULL;
    int r = cor_namespaced_informer_get(s->all, cor_strz(ns), cor_strz(name), &object, NULL);

    cor_object_unref(object);
    return r;
}

static int get_by_key(struct several *s, const char *key)
{
    struct cor_object *object = NULL;
    int r = cor_namespaced_informer_get_by_key(s->all, cor_strz(key), &object);

    cor_object_unref(object);
    return r;
}

TEST(namespaced, objects_of_the_namespaces_are_read_as_one_cache)
{
    FOR_EACH_KIND(kind)
    {
        const struct cor_index_def sea = {.name = COR_STR("sea"), .fn = by_sea};
        char names[3][64] = {""};
        struct several s;

        begin(&s, kind);
        create_in(&s, "kube-node-lease", "one");
        create_in(&s, "default", "two");
        create_in(&s, "kube-public", "three");
        assert_int_equal(cor_namespaced_informer_add_indexes(s.all, &sea, 1), 0);
        assert_false(cor_namespaced_informer_has_synced(s.all));
        start(&s);
        assert_int_equal(cor_namespaced_informer_len(s.all), 2);
        assert_int_equal(get(&s, "default", "two"), 0);
        assert_int_equal(get(&s, "default", "one"), -COR_ENOTFOUND);
        assert_int_equal(get(&s, "kube-public", "three"), -COR_ENOTFOUND);
        assert_int_equal(get_by_key(&s, "kube-node-lease/one"), 0);
        assert_int_equal(get_by_key(&s, "kube-public/three"), -COR_ENOTFOUND);
        assert_int_equal(get_by_key(&s, "one"), -COR_ENOTFOUND);
        assert_int_equal(get_by_key(&s, "a/b/c"), -COR_ENOTFOUND);
        assert_int_equal(cor_namespaced_informer_each(s.all, COR_STR(""), NULL, add_name, names[0]),
                         0);
        assert_string_equal(names[0], "two one ");
        assert_int_equal(cor_namespaced_informer_each(s.all, COR_STR("kube-node-lease"), NULL,
                                                      add_name, names[1]),
                         0);
        assert_int_equal(
            cor_namespaced_informer_each(s.all, COR_STR("kube-public"), NULL, add_name, names[1]),
            0);
        assert_string_equal(names[1], "one ");
        assert_int_equal(cor_namespaced_informer_each_by_index(
                             s.all, COR_STR("sea"), COR_STR("north"), add_name, names[2]),
                         0);
        assert_string_equal(names[2], "two one ");
        assert_int_equal(cor_namespaced_informer_each_by_index(s.all, COR_STR("land"), COR_STR("x"),
                                                               add_name, names[2]),
                         -COR_ENOTFOUND);
        end(&s);
    }
}

TEST(namespaced, a_namespace_shares_its_informer_with_others)
{
    struct cor_informer_opts opts = of_configmaps;
    struct cor_informer *informer;
    struct several s;

    begin(&s, COR_RUNTIME_PUMPED);
    opts.ns = "default";
    assert_int_equal(cor_informers_for_resource(s.informers, &opts, &informer, NULL), 0);
    assert_ptr_equal(cor_namespaced_informer_of(s.all, COR_STR("default")), informer);
    assert_null(cor_namespaced_informer_of(s.all, COR_STR("kube-public")));
    end(&s);
}

TEST(namespaced, a_handler_hears_of_every_namespace_and_is_removed_once)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_namespaced_handler *handler;
        struct cor_handler_opts opts;
        struct ear ear;
        struct several s;

        begin(&s, kind);
        create_in(&s, "default", "one");
        ear_init(&ear);
        opts = ear_opts(&ear);
        assert_int_equal(cor_namespaced_informer_add_handler(s.all, &opts, &handler), 0);
        start(&s);
        ear_await(&ear, &s.w, "!one ");
        create_in(&s, "kube-node-lease", "two");
        ear_await(&ear, &s.w, "!one +two ");
        create_in(&s, "kube-public", "three");
        create_in(&s, "default", "four");
        ear_await(&ear, &s.w, "!one +two +four ");
        assert_true(cor_namespaced_handler_has_synced(handler));
        cor_namespaced_handler_remove(handler);
        end(&s);
        assert_int_equal(atomic_load(&ear.nremoved), 1);
        assert_string_equal(ear.text, "!one +two +four ");
    }
}

struct leaver {
    struct cor_namespaced_handler *self;
    atomic_int nadds, nremoved;
};

static void leave_on_add(void *arg, struct cor_object *object, bool in_initial_list)
{
    struct leaver *l = arg;

    (void)object, (void)in_initial_list;
    if (atomic_fetch_add(&l->nadds, 1) == 0)
        cor_namespaced_handler_remove(l->self);
}

static void on_left(void *arg)
{
    atomic_fetch_add(&((struct leaver *)arg)->nremoved, 1);
}

static bool has_left(void *arg)
{
    return atomic_load(&((struct leaver *)arg)->nremoved) > 0;
}

/* It may be called, and remove itself, while it is still being added. */
TEST(namespaced, a_handler_removes_itself)
{
    FOR_EACH_KIND(kind)
    {
        struct several s;

        begin(&s, kind);
        create_in(&s, "default", "one");
        start(&s);
        for (int i = 0; i < 20; i++) {
            struct leaver l = {.self = NULL};
            const struct cor_handler_opts opts = {COR_HANDLER_DEFAULTS,
                                                  .on = {.on_add = leave_on_add, .arg = &l},
                                                  .on_removed = on_left};

            assert_int_equal(cor_namespaced_informer_add_handler(s.all, &opts, &l.self), 0);
            world_run(&s.w, has_left, &l);
            assert_int_equal(atomic_load(&l.nremoved), 1);
        }
        end(&s);
    }
}

TEST(namespaced, mistakes_are_named)
{
    static const char *const empty[] = {"default", ""};
    struct cor_informer_opts with_ns = of_configmaps, no_resource = {COR_INFORMER_OPTS};
    struct cor_namespaced_informer *all;
    const struct {
        const struct cor_informer_opts *opts;
        const char *const *namespaces;
        size_t n;
        int r;
        const char *text;
    } bad[] = {
        {&of_configmaps, both, 0, -COR_EINVAL, "namespaces: "},
        {&of_configmaps, empty, 2, -COR_EINVAL, "namespaces[1]: "},
        {&of_configmaps, both, COR_INFORMERS_MAX + 1, -COR_ETOOBIG, "namespaces: "},
        {&with_ns, both, 2, -COR_EINVAL, "ns: "},
        {&no_resource, both, 2, -COR_EINVAL, "resource"},
        {&(struct cor_informer_opts){.ns = NULL}, both, 2, -COR_EINVAL, "informer of namespaces: "},
    };
    struct several s;

    with_ns.ns = "default";
    begin(&s, COR_RUNTIME_PUMPED);
    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++) {
        struct cor_status why = {0};

        assert_int_equal(cor_namespaced_informer_new(s.informers, bad[i].opts, bad[i].namespaces,
                                                     bad[i].n, &all, &why),
                         bad[i].r);
        assert_non_null(strstr(cor_status_message(&why), bad[i].text));
        cor_status_deinit(&why);
    }
    end(&s);
}

/* A handler is added to all namespaces, or nothing is called. */
TEST(namespaced, allocations_fail)
{
    struct several s;

    begin(&s, COR_RUNTIME_PUMPED);
    create_in(&s, "default", "one");
    start(&s);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_namespaced_informer *all = NULL;
        struct leaver l = {.self = NULL};
        const struct cor_handler_opts opts = {
            COR_HANDLER_DEFAULTS, .on = {.on_add = leave_on_add, .arg = &l}, .on_removed = on_left};
        int made, added;

        test_fail_alloc(n, false);
        made = cor_namespaced_informer_new(s.informers, &of_configmaps, both, 2, &all, NULL);
        added = made == 0 ? cor_namespaced_informer_add_handler(all, &opts, &l.self) : made;
        test_fail_alloc(0, false);
        assert_int_equal(added, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (added == 0)
            world_run(&s.w, has_left, &l);
        world_create(&s.w, "probe", "{}", "1"); /* nobody hears of it */
        world_delete(&s.w, "probe");
        assert_int_equal(atomic_load(&l.nadds), added == 0);
        cor_namespaced_informer_free(all);
    }
    end(&s);
}
