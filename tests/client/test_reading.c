/* What an informer tells beside its objects, and handlers that hear a part; on both kinds of
 * runtime. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "ear.h"

struct set {
    struct world w;
    struct cor_informers *informers;
    struct cor_informer *inf;
};

static int by_label(void *arg, const struct cor_object *object, struct cor_index_values *out)
{
    struct cor_str value;

    return cor_object_label(object, COR_STR("app"), &value) ? cor_index_values_add(out, value) : 0;
}

static void begin(struct set *s, enum cor_runtime_kind kind)
{
    const struct cor_informer_opts opts = {COR_INFORMER_OPTS, .resource = configmaps,
                                           .ns = "default"};
    const struct cor_index_def index = {COR_STR("app"), by_label, NULL};

    world_begin(&s->w, kind);
    assert_int_equal(cor_informers_new(s->w.client, NULL, &s->informers), 0);
    assert_int_equal(cor_informers_for_resource(s->informers, &opts, &s->inf, NULL), 0);
    assert_int_equal(cor_informer_add_indexes(s->inf, &index, 1), 0);
}

static void end(struct set *s)
{
    cor_informers_free(s->informers);
    world_end(&s->w);
}

static int add_value(void *arg, struct cor_str value)
{
    snprintf((char *)arg + strlen(arg), 64 - strlen(arg), "%.*s ", COR_STR_ARG(value));
    return 0;
}

static int add_name(void *arg, struct cor_object *object)
{
    return add_value(arg, cor_object_name(object));
}

static int stop(void *arg, struct cor_str value)
{
    return ++*(int *)arg;
}

/* Contract client 1.1.13, 1.1.16. */
TEST(reading, an_index_tells_its_values_and_who_shares_them)
{
    FOR_EACH_KIND(kind)
    {
        char values[64] = "", names[64] = "";
        struct cor_object *one;
        struct set s;
        int n = 0;

        begin(&s, kind);
        world_create(&s.w, "one", "{\"app\":\"a\"}", "1");
        world_create(&s.w, "two", "{\"app\":\"b\"}", "1");
        world_create(&s.w, "three", "{\"app\":\"a\"}", "1");
        cor_informers_start(s.informers);
        assert_int_equal(cor_informers_wait_for_sync(s.informers, PATIENCE_MS, NULL), 0);
        assert_int_equal(cor_informer_each_value(s.inf, COR_STR("app"), add_value, values), 0);
        assert_true(!strcmp(values, "a b ") || !strcmp(values, "b a "));
        assert_int_equal(cor_informer_each_value(s.inf, COR_STR("app"), stop, &n), 1);
        assert_int_equal(cor_informer_each_value(s.inf, COR_STR("none"), stop, &n), 0);
        assert_int_equal(cor_informer_get_by_key(s.inf, COR_STR("default/one"), &one), 0);
        assert_int_equal(cor_informer_each_sharing(s.inf, COR_STR("app"), one, add_name, names), 0);
        assert_string_equal(names, "one three ");
        assert_int_equal(cor_informer_each_sharing(s.inf, COR_STR("none"), one, add_name, names),
                         -COR_ENOTFOUND);
        cor_object_unref(one);
        end(&s);
    }
}

struct waits {
    atomic_int nsynced, nversion;
    atomic_int synced_r, version_r;
};

static void on_synced(void *arg, int r)
{
    struct waits *w = arg;

    atomic_store(&w->synced_r, r);
    atomic_fetch_add(&w->nsynced, 1);
}

static void on_version(void *arg, int r)
{
    struct waits *w = arg;

    atomic_store(&w->version_r, r);
    atomic_fetch_add(&w->nversion, 1);
}

static bool has_both(void *arg)
{
    struct waits *w = arg;

    return atomic_load(&w->nsynced) > 0 && atomic_load(&w->nversion) > 0;
}

TEST(reading, a_sync_and_a_version_are_told_by_a_callback_once)
{
    FOR_EACH_KIND(kind)
    {
        struct waits waits = {0}, never = {0};
        char rv[32], last[COR_INFORMER_VERSION_MAX];
        struct set s;

        begin(&s, kind);
        cor_informer_last_version(s.inf, last);
        assert_string_equal(last, "");
        world_create(&s.w, "one", "{}", "1");
        world_update(&s.w, "one", "2", rv);
        assert_int_equal(cor_informer_on_version(s.inf, COR_STR(""), on_version, &never),
                         -COR_EINVAL);
        assert_int_equal(cor_informer_on_sync(s.inf, on_synced, &waits), 0);
        assert_int_equal(cor_informer_on_version(s.inf, cor_strz(rv), on_version, &waits), 0);
        assert_int_equal(waits.nsynced + waits.nversion, 0);
        cor_informers_start(s.informers);
        world_run(&s.w, has_both, &waits);
        assert_int_equal(waits.synced_r, 0);
        assert_int_equal(waits.version_r, 0);
        assert_int_equal(cor_informer_on_sync(s.inf, on_synced, &never), 1);
        assert_int_equal(cor_informer_on_version(s.inf, cor_strz(rv), on_version, &never), 1);
        cor_informer_last_version(s.inf, last);
        assert_true(strtoull(last, NULL, 10) >= strtoull(rv, NULL, 10));
        /* What never comes is told at the end. */
        assert_int_equal(
            cor_informer_on_version(s.inf, COR_STR("999999999999"), on_version, &never), 0);
        end(&s);
        assert_int_equal(waits.nsynced + waits.nversion, 2);
        assert_int_equal(never.nsynced, 0);
        assert_int_equal(never.nversion, 1);
        assert_int_equal(never.version_r, -COR_ECANCELED);
    }
}

static bool is_of_app_a(void *arg, const struct cor_object *object)
{
    struct cor_str value;

    return object && cor_object_label(object, COR_STR("app"), &value) && cor_str_eqz(value, "a");
}

static void relabel(struct set *s, const char *name, const char *patch)
{
    const struct cor_request req = {
        COR_REQUEST,  .verb = COR_VERB_PATCH,        .resource = configmaps,  .ns = "default",
        .name = name, .patch_type = COR_PATCH_MERGE, .patch = cor_strz(patch)};

    assert_int_equal(cor_client_do(s->w.client, &req, NULL, NULL), 0);
}

TEST(reading, a_filtering_handler_hears_of_what_passes)
{
    FOR_EACH_KIND(kind)
    {
        struct ear ear;
        struct cor_filtering_handler filter = {.passes = is_of_app_a};
        struct cor_handler_opts opts;
        struct set s;

        begin(&s, kind);
        ear_init(&ear);
        filter.to = ear_opts(&ear).on;
        opts = (struct cor_handler_opts){COR_HANDLER_OPTS, .on = cor_filtering_handler(&filter)};
        assert_int_equal(cor_informer_add_handler(s.inf, &opts, NULL), 0);
        world_create(&s.w, "one", "{\"app\":\"a\"}", "1");
        world_create(&s.w, "two", "{\"app\":\"b\"}", "1");
        cor_informers_start(s.informers);
        ear_await(&ear, &s.w, "!one ");
        relabel(&s, "two", "{\"metadata\":{\"labels\":{\"app\":\"a\"}}}");
        relabel(&s, "one", "{\"metadata\":{\"labels\":{\"app\":\"c\"}}}");
        ear_await(&ear, &s.w, "!one +two -one ");
        end(&s);
    }
}

/* Contract client 1.3.4, 1.3.5. */
TEST(reading, keys_are_split_and_joined)
{
    struct cor_str ns, name;
    char key[16];

    assert_int_equal(cor_object_key_split(COR_STR("a/b"), &ns, &name), 0);
    assert_str(ns, "a");
    assert_str(name, "b");
    assert_int_equal(cor_object_key_join(ns, name, key, sizeof(key)), 3);
    assert_string_equal(key, "a/b");
    assert_int_equal(cor_object_key_join(COR_STR(""), COR_STR("node"), key, sizeof(key)), 4);
    assert_string_equal(key, "node");
    assert_int_equal(cor_object_key_join(COR_STR("ns"), COR_STR("name"), key, 4), 7);
    assert_string_equal(key, "ns/");
    assert_int_equal(cor_object_key_split(COR_STR("a/b/c"), &ns, &name), -COR_EINVAL);
}
