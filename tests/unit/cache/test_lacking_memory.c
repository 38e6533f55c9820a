/* Reading a cache, and handlers that fall behind, with each allocation failed once. */
#include <stdio.h>

#include "base/err.h"
#include "cache/informers/informer_scope.h"
#include "cache/informers/processor_listener.h"
#include "cache/store/lister.h"
#include "drain.h"
#include "test.h"

static struct cor_object *object(const char *ns, const char *name)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct cor_object *o;
    char json[256];

    snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"}}", name, ns);
    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &o, &why), 0);
    return o;
}

static struct cor_indexer *filled(void)
{
    struct cor_indexer *ix;

    assert_int_equal(cor_indexer_new(NULL, 0, &ix), 0);
    for (int i = 0; i < 40; i++) {
        char name[16];
        struct cor_object *o;

        snprintf(name, sizeof(name), "n%d", i);
        o = object(i % 2 ? "odd" : "even", name);
        assert_int_equal(cor_indexer_put(ix, o, NULL), 0);
        cor_object_unref(o);
    }
    return ix;
}

static int count(void *arg, struct cor_object *o)
{
    ++*(int *)arg;
    return 0;
}

TEST(lacking_memory, a_namespace_is_listed_whole_or_not)
{
    struct cor_indexer *ix = filled();
    const struct cor_lister lister = {.indexer = ix, .resource = {COR_STR(""), COR_STR("pods")}};

    FOR_EACH_FAILED_ALLOC(n) {
        int nseen = 0, r = cor_indexer_each(lister.indexer, COR_STR("odd"), NULL, count, &nseen);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_int_equal(nseen, r == 0 ? 20 : 0);
    }
    cor_indexer_free(ix);
}

TEST(lacking_memory, an_object_is_found_or_not_and_said_so)
{
    static const char *const namespaces[] = {"odd", "", "nowhere"};
    struct cor_indexer *ix = filled();
    const struct cor_lister lister = {.indexer = ix, .resource = {COR_STR(""), COR_STR("pods")}};

    for (size_t i = 0; i < 3; i++) {
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_status why = {0};
            struct cor_object *o = NULL;
            int r = cor_lister_get(&lister, cor_strz(namespaces[i]), COR_STR("n1"), &o, &why);

            assert_true(r == (i == 0 ? 0 : -COR_ENOTFOUND) ||
                        (r == -COR_ENOMEM && test_alloc_failed()));
            assert_int_equal(why.err, r);
            assert_int_equal(o != NULL, r == 0);
            cor_object_unref(o);
            cor_status_deinit(&why);
        }
    }
    cor_indexer_free(ix);
}

static int by_name(void *arg, const struct cor_object *o, struct cor_index_values *out)
{
    return cor_index_values_add(out, cor_object_name(o));
}

/* All or nothing: an index that could not be filled is not there. */
TEST(lacking_memory, a_late_index_has_everything_or_is_not_there)
{
    const struct cor_index_def index = {COR_STR("name"), by_name, NULL};
    struct cor_object_iter it;

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_indexer *ix;
        struct cor_object *o;
        int r;

        test_fail_alloc(0, false);
        ix = filled();
        test_fail_alloc(n, false);
        r = cor_indexer_add_indexes(ix, &index, 1);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        test_fail_alloc(0, false);
        if (r < 0)
            assert_int_equal(cor_indexer_by_index(ix, COR_STR("name"), COR_STR("n7"), &it),
                             -COR_ENOTFOUND);
        assert_int_equal(cor_indexer_add_indexes(ix, &index, 1), r < 0 ? 0 : -COR_EEXIST);
        assert_int_equal(cor_indexer_by_index(ix, COR_STR("name"), COR_STR("n7"), &it), 0);
        assert_true(cor_object_iter_next(&it, &o, NULL));
        assert_false(cor_object_iter_next(&it, &o, NULL));
        cor_object_iter_deinit(&it);
        cor_indexer_free(ix);
    }
}

#define KEYS 30

static int nheard[KEYS];

static void hear(const struct cor_object *o)
{
    uint64_t i;

    assert_int_equal(cor_str_to_u64(cor_str_from(cor_object_name(o), 1), &i), 0);
    assert_true(i < KEYS);
    nheard[i]++;
}

static void on_add(void *arg, struct cor_object *o, bool in_initial_list)
{
    hear(o);
}

static void on_update(void *arg, struct cor_object *old, struct cor_object *o)
{
    hear(o);
}

static struct cor_notification *news(struct cor_processor_listener *l, enum cor_change_kind kind,
                                     int i)
{
    char name[16];
    struct cor_object *o;
    struct cor_notification *n;

    snprintf(name, sizeof(name), "n%d", i);
    o = object("ns", name);
    n = cor_notification_new(l, &(struct cor_change){kind, false, cor_strz(name),
                                                     kind == COR_CHANGE_UPDATE ? o : NULL, o});
    cor_object_unref(o);
    assert_non_null(n);
    return n;
}

/* The map of what may be folded is what fails: a key that is not in it is told once more. */
TEST(lacking_memory, a_handler_that_is_behind_hears_of_every_key)
{
    const struct cor_handler_fns handler = {.on_add = on_add, .on_update = on_update};

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_notification *all[2 * KEYS];
        struct cor_processor_listener_stats stats;
        struct cor_processor_listener *l;

        test_fail_alloc(0, false);
        memset(nheard, 0, sizeof(nheard));
        assert_int_equal(cor_processor_listener_new(&handler, 1, NULL, NULL, &l), 0);
        for (int i = 0; i < 2 * KEYS; i++)
            all[i] = news(l, i < KEYS ? COR_CHANGE_ADD : COR_CHANGE_UPDATE, i % KEYS);
        test_fail_alloc(n, false);
        for (int i = 0; i < 2 * KEYS; i++)
            cor_notification_push(all[i]);
        test_fail_alloc(0, false);
        cor_processor_listener_stats(l, &stats);
        assert_int_equal(stats.pending + stats.folded, 2 * KEYS);
        assert_true(stats.folded == KEYS || test_alloc_failed());
        assert_int_equal(drain_listener(l, SIZE_MAX), stats.pending);
        for (int i = 0; i < KEYS; i++)
            assert_uint_in_range(nheard[i], 1, 2);
        cor_processor_listener_free(l);
    }
}

TEST(lacking_memory, a_scope_is_printed_whole_or_not_at_all)
{
    static const char selector[] = "a=b,c=d,e=f,g=h,i=j";
    int arg;
    struct cor_informer_scope scope = {.resource = {COR_STR("g"), COR_STR("v"), COR_STR("r")},
                                       .tweak_arg = &arg,
                                       .transform_arg = &arg};

    /* However long it is, some field is the one that needs more room. */
    for (size_t len = 0; len < sizeof(selector); len++) {
        scope.label_selector = cor_str(selector, len);
        FOR_EACH_FAILED_ALLOC(n) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
            int r;

            cor_buf_init(&out, 1u << 12);
            r = cor_informer_scope_print(&scope, &out);
            assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
            assert_int_equal(out.n > 0, r == 0);
        }
    }
}
