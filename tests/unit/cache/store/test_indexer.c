/* The cases are those of client-go's store, index and thread_safe_store
 * tests. */
#include "base/buf.h"
#include "base/err.h"
#include "cache/store/indexer.h"
#include "cache/store/object_key.h"
#include "test.h"
#include "json/text/scan.h"

#include <stdio.h>

/* An object "ns/name" whose data.tags is a comma-separated list. */
static struct cor_object *object(const char *ns, const char *name, const char *tags)
{
    struct cor_object *o = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    char json[512];
    size_t failed = test_alloc_failed();

    snprintf(json, sizeof(json),
             "{\"data\":{\"tags\":\"%s\"},\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"}}",
             tags, name, ns);
    if (cor_object_from_json(cor_strz(json), &o, &status) < 0)
        assert_true(failed || test_alloc_failed());
    return o;
}

static struct cor_str tags_of(const struct cor_object *o)
{
    struct cor_str data, tags, raw;

    assert_int_equal(cor_json_get(cor_object_json(o), COR_STR("data"), COR_JSON_SORTED, &data), 0);
    assert_int_equal(cor_json_get(data, COR_STR("tags"), COR_JSON_SORTED, &tags), 0);
    assert_int_equal(cor_json_to_raw(tags, &raw), 0);
    return raw;
}

static int by_tag(void *arg, const struct cor_object *o, struct cor_index_values *out)
{
    struct cor_str rest = tags_of(o);
    int r = 0;

    if (cor_str_eqz(rest, "refused"))
        return -COR_EINVALID;
    while (r == 0 && rest.p && rest.n > 0)
        r = cor_index_values_add(out, cor_str_cut(&rest, ','));
    return r;
}

static const struct cor_index_def tag_index = {{"tag", 3}, by_tag, NULL};

static struct cor_indexer *begin(void)
{
    struct cor_indexer *ix;

    assert_int_equal(cor_indexer_new(&tag_index, 1, &ix), 0);
    return ix;
}

static int put(struct cor_indexer *ix, const char *ns, const char *name, const char *tags)
{
    struct cor_object *o = object(ns, name, tags);
    int r = o ? cor_indexer_put(ix, o, NULL) : -COR_ENOMEM;

    cor_object_unref(o);
    return r;
}

/* The keys that an iterator shows, joined by spaces. */
static char shown[1024];
static const char *show(struct cor_object_iter *it)
{
    struct cor_object *o;
    struct cor_str key;
    size_t n = 0;

    shown[0] = '\0';
    while (cor_object_iter_next(it, &o, &key))
        n += (size_t)snprintf(shown + n, sizeof(shown) - n, "%s%.*s", n ? " " : "",
                              COR_STR_ARG(key));
    cor_object_iter_deinit(it);
    return shown;
}

static const char *list(struct cor_indexer *ix)
{
    struct cor_object_iter it;

    assert_int_equal(cor_indexer_list(ix, &it), 0);
    return show(&it);
}

static const char *tagged(struct cor_indexer *ix, const char *tag)
{
    struct cor_object_iter it;

    assert_int_equal(cor_indexer_by_index(ix, COR_STR("tag"), cor_strz(tag), &it), 0);
    return show(&it);
}

static int note_value(void *arg, struct cor_str value)
{
    return cor_buf_adds(arg, value) < 0 || cor_buf_addc(arg, ' ') < 0 ? -COR_ENOMEM : 0;
}

static void assert_values(struct cor_indexer *ix, const char *expected)
{
    struct cor_buf b;

    cor_buf_init(&b, 4096);
    assert_int_equal(cor_indexer_each_value(ix, COR_STR("tag"), note_value, &b), 0);
    assert_int_equal(cor_buf_addc(&b, '|'), 0);
    assert_str(cor_buf_str(&b), expected);
    cor_buf_deinit(&b);
}

static struct cor_object *with_uid(const char *uid)
{
    struct cor_object *o = NULL;
    char json[128];

    snprintf(json, sizeof(json),
             "{\"data\":{\"tags\":\"x\"},\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\","
             "\"uid\":\"%s\"}}",
             uid);
    assert_int_equal(cor_object_from_json(cor_strz(json), &o, NULL), 0);
    return o;
}

static int get_like(struct cor_indexer *ix, const struct cor_object *probe, struct cor_object **ret)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key;

    cor_buf_init(&key, COR_OBJECT_KEY_MAX);
    assert_int_equal(cor_object_key(probe, &key), 0);
    return cor_indexer_get(ix, cor_buf_str(&key), ret);
}

/* Contract client 1.1.2 to 1.1.4. */
TEST(indexer, put_adds_or_replaces_and_remove_of_nothing_is_no_error)
{
    struct cor_indexer *ix = begin();
    struct cor_object *a = object("ns", "a", "x"), *got, *old;

    assert_int_equal(cor_indexer_put(ix, a, &old), 0);
    assert_null(old);
    assert_int_equal(cor_indexer_get(ix, COR_STR("ns/a"), &got), 0);
    assert_ptr_equal(got, a);
    cor_object_unref(got);
    assert_int_equal(cor_indexer_put(ix, a, &old), 0);
    assert_ptr_equal(old, a);
    cor_object_unref(old);
    assert_int_equal(cor_indexer_len(ix), 1);
    assert_int_equal(cor_indexer_get(ix, COR_STR("ns/b"), &got), -COR_ENOTFOUND);
    assert_int_equal(cor_indexer_remove(ix, COR_STR("ns/b"), &old), 0);
    assert_null(old);
    assert_int_equal(cor_indexer_remove(ix, COR_STR("ns/a"), &old), 0);
    assert_ptr_equal(old, a);
    cor_object_unref(old);
    assert_int_equal(cor_indexer_len(ix), 0);
    cor_object_unref(a);
    cor_indexer_free(ix);
}

/* Contract client 1.2.3, 1.3.6: client-go's doTestStore. Only the name counts, not what is in the
 * object or which uid it has. */
TEST(indexer, any_object_of_a_name_finds_the_one_that_is_stored)
{
    struct cor_indexer *ix = begin();
    struct cor_object *first = with_uid("1"), *second = with_uid("2");
    struct cor_object *probe = object("ns", "a", "z"), *got;

    assert_int_equal(cor_indexer_put(ix, first, NULL), 0);
    assert_int_equal(get_like(ix, probe, &got), 0);
    assert_ptr_equal(got, first);
    cor_object_unref(got);
    assert_int_equal(cor_indexer_put(ix, second, NULL), 0);
    assert_int_equal(cor_indexer_len(ix), 1);
    assert_int_equal(get_like(ix, first, &got), 0);
    assert_ptr_equal(got, second);
    cor_object_unref(got);
    cor_object_unref(first);
    cor_object_unref(second);
    cor_object_unref(probe);
    cor_indexer_free(ix);
}

/* Contract client 1.1.5. */
TEST(indexer, lists_all_or_one_namespace_by_key)
{
    struct cor_indexer *ix = begin();
    struct cor_object_iter it;

    put(ix, "b", "one", "");
    put(ix, "a", "two", "");
    put(ix, "a", "one", "");
    put(ix, "ab", "one", "");
    put(ix, "", "cluster", "");
    assert_string_equal(list(ix), "a/one a/two ab/one b/one cluster");
    assert_int_equal(cor_indexer_list_namespace(ix, COR_STR("a"), &it), 0);
    assert_string_equal(show(&it), "a/one a/two");
    assert_int_equal(cor_indexer_list_namespace(ix, COR_STR("none"), &it), 0);
    assert_string_equal(show(&it), "");
    cor_indexer_free(ix);
}

struct keys {
    char text[64];
    const char *until;
};

static int note_key(void *arg, struct cor_str key)
{
    struct keys *k = arg;
    size_t n = strlen(k->text);

    snprintf(k->text + n, sizeof(k->text) - n, "%.*s ", COR_STR_ARG(key));
    return cor_str_eqz(key, k->until) ? 7 : 0;
}

/* Contract client 1.1.5, and in the order of keys. */
TEST(indexer, lists_its_keys)
{
    struct cor_object *a = object("x", "a", ""), *b = object("w", "b", "");
    struct keys all = {.until = ""}, some = {.until = "w/b"}, again = {.until = ""};
    struct cor_indexer *ix;

    assert_int_equal(cor_indexer_new(NULL, 0, &ix), 0);
    assert_int_equal(cor_indexer_each_key(ix, note_key, &all), 0);
    assert_string_equal(all.text, "");
    assert_int_equal(cor_indexer_put(ix, a, NULL), 0);
    assert_int_equal(cor_indexer_put(ix, b, NULL), 0);
    assert_int_equal(cor_indexer_each_key(ix, note_key, &all), 0);
    assert_string_equal(all.text, "w/b x/a ");
    assert_int_equal(cor_indexer_each_key(ix, note_key, &some), 7);
    assert_string_equal(some.text, "w/b ");
    FOR_EACH_FAILED_ALLOC(n) {
        int r;

        again.text[0] = '\0';
        r = cor_indexer_each_key(ix, note_key, &again);
        assert_true(r == 0 || r == -COR_ENOMEM);
        assert_string_equal(again.text, r == 0 ? "w/b x/a " : "");
    }
    cor_indexer_free(ix);
    cor_object_unref(a);
    cor_object_unref(b);
}

/* Contract client 1.1.8, 1.1.10 to 1.1.12, 1.1.14. */
TEST(indexer, follows_objects_with_several_values_through_their_changes)
{
    struct cor_indexer *ix = begin();

    put(ix, "", "e1", "foo,bar");
    put(ix, "", "e2", "bar,baz,bar");
    assert_string_equal(tagged(ix, "foo"), "e1");
    assert_string_equal(tagged(ix, "bar"), "e1 e2");
    assert_string_equal(tagged(ix, "baz"), "e2");
    assert_string_equal(tagged(ix, "none"), "");
    put(ix, "", "e1", "baz");
    assert_string_equal(tagged(ix, "foo"), "");
    assert_string_equal(tagged(ix, "bar"), "e2");
    assert_string_equal(tagged(ix, "baz"), "e1 e2");
    put(ix, "", "e2", "");
    assert_string_equal(tagged(ix, "bar"), "");
    assert_string_equal(tagged(ix, "baz"), "e1");
    assert_string_equal(list(ix), "e1 e2");
    assert_int_equal(cor_indexer_remove(ix, COR_STR("e1"), NULL), 0);
    assert_string_equal(tagged(ix, "baz"), "");
    assert_values(ix, "|");
    cor_indexer_free(ix);
}

/* Contract client 1.1.9. */
TEST(indexer, an_index_shows_the_object_that_get_shows)
{
    struct cor_indexer *ix = begin();
    struct cor_object *first = object("", "a", "x"), *second = object("", "a", "x"), *got;
    struct cor_object_iter it;

    assert_int_equal(cor_indexer_put(ix, first, NULL), 0);
    assert_int_equal(cor_indexer_put(ix, second, NULL), 0);
    assert_int_equal(cor_indexer_by_index(ix, COR_STR("tag"), COR_STR("x"), &it), 0);
    assert_true(cor_object_iter_next(&it, &got, NULL));
    assert_ptr_equal(got, second);
    assert_false(cor_object_iter_next(&it, &got, NULL));
    cor_object_iter_deinit(&it);
    cor_object_unref(first);
    cor_object_unref(second);
    cor_indexer_free(ix);
}

static int note_name(void *arg, struct cor_object *o)
{
    return note_value(arg, cor_object_name(o));
}

static void assert_shares(struct cor_indexer *ix, const char *tags, const char *expected)
{
    struct cor_object *probe = object("n", "probe", tags);
    struct cor_buf b;

    cor_buf_init(&b, 4096);
    assert_int_equal(cor_indexer_each_sharing(ix, COR_STR("tag"), probe, note_name, &b), 0);
    assert_int_equal(cor_buf_addc(&b, '|'), 0);
    assert_str(cor_buf_str(&b), expected);
    cor_buf_deinit(&b);
    cor_object_unref(probe);
}

static int stop_at_once(void *arg, struct cor_object *o)
{
    return 7;
}

/* Contract client 1.1.13: the union, each object once; the probe need not be stored. */
TEST(indexer, finds_what_shares_a_value_with_a_probe)
{
    struct cor_indexer *ix = begin();
    struct cor_object *probe = object("n", "probe", "x");

    put(ix, "n", "a", "x,y");
    put(ix, "n", "b", "y");
    put(ix, "n", "c", "z");
    assert_shares(ix, "x", "a |");
    assert_shares(ix, "x,y", "a b |");
    assert_shares(ix, "y,x,z", "a b c |");
    assert_shares(ix, "w", "|");
    assert_int_equal(cor_indexer_each_sharing(ix, COR_STR("tag"), probe, stop_at_once, NULL), 7);
    assert_int_equal(cor_indexer_each_sharing(ix, COR_STR("no"), probe, stop_at_once, NULL),
                     -COR_ENOTFOUND);
    FOR_EACH_FAILED_ALLOC(n) {
        int r = cor_indexer_each_sharing(ix, COR_STR("tag"), probe, stop_at_once, NULL);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 7);
    }
    cor_object_unref(probe);
    cor_indexer_free(ix);
}

TEST(indexer, values_that_begin_alike_are_kept_apart)
{
    struct cor_indexer *ix = begin();

    put(ix, "", "a", "x");
    put(ix, "", "b", "xa");
    put(ix, "", "xab", "x");
    assert_string_equal(tagged(ix, "x"), "a xab");
    assert_string_equal(tagged(ix, "xa"), "b");
    assert_values(ix, "x xa |");
    cor_indexer_free(ix);
}

TEST(indexer, one_object_is_got_by_its_value_and_several_are_a_conflict)
{
    struct cor_indexer *ix = begin();
    struct cor_object *object = NULL;

    put(ix, "", "a", "x,y");
    put(ix, "", "b", "y");
    assert_int_equal(cor_indexer_get_by_index(ix, COR_STR("tag"), COR_STR("x"), &object), 0);
    assert_str(cor_object_name(object), "a");
    cor_object_unref(object);
    assert_int_equal(cor_indexer_get_by_index(ix, COR_STR("tag"), COR_STR("y"), &object),
                     -COR_ECONFLICT);
    assert_int_equal(cor_indexer_get_by_index(ix, COR_STR("tag"), COR_STR("z"), &object),
                     -COR_ENOTFOUND);
    assert_int_equal(cor_indexer_get_by_index(ix, COR_STR("no"), COR_STR("x"), &object),
                     -COR_EINVAL);
    cor_indexer_free(ix);
}

/* Contract client 1.1.15, 1.1.16. */
TEST(indexer, an_unknown_index_is_an_error_save_for_its_values)
{
    struct cor_indexer *ix = begin();
    struct cor_object_iter it;

    assert_int_equal(cor_indexer_by_index(ix, COR_STR("no"), COR_STR("x"), &it), -COR_ENOTFOUND);
    assert_int_equal(cor_indexer_each_value(ix, COR_STR("no"), note_value, NULL), 0);
    cor_indexer_free(ix);
}

/* Contract client 1.1.6, 1.2.4. */
TEST(indexer, replace_makes_the_whole_content_and_the_last_of_equal_keys_counts)
{
    struct cor_indexer *ix = begin();
    struct cor_object *objects[] = {object("", "c", "x"), object("", "a", "x"),
                                    object("", "c", "y"), object("", "b", "y")};
    struct cor_object *got;

    put(ix, "", "gone", "x");
    assert_int_equal(cor_indexer_replace(ix, objects, 4), 0);
    assert_string_equal(list(ix), "a b c");
    assert_string_equal(tagged(ix, "x"), "a");
    assert_string_equal(tagged(ix, "y"), "b c");
    assert_int_equal(cor_indexer_get(ix, COR_STR("c"), &got), 0);
    assert_ptr_equal(got, objects[2]);
    cor_object_unref(got);
    assert_int_equal(cor_indexer_replace(ix, NULL, 0), 0);
    assert_string_equal(list(ix), "");
    for (size_t i = 0; i < 4; i++)
        cor_object_unref(objects[i]);
    cor_indexer_free(ix);
}

/* Contract client 1.1.18, 1.1.20. */
TEST(indexer, indexes_may_be_added_later_all_or_none)
{
    struct cor_indexer *ix;
    const struct cor_index_def clash[] = {{COR_STR("other"), by_tag, NULL}, tag_index};
    char name[] = "tag";
    struct cor_index_def def = {cor_strz(name), by_tag, NULL};
    struct cor_object_iter it;

    assert_int_equal(cor_indexer_new(NULL, 0, &ix), 0);
    put(ix, "", "a", "x");
    assert_int_equal(cor_indexer_add_indexes(ix, &def, 1), 0);
    name[0] = 'b'; /* what was given is not looked at any more */
    def.fn = NULL;
    assert_string_equal(tagged(ix, "x"), "a");
    assert_int_equal(cor_indexer_add_indexes(ix, clash, 2), -COR_EEXIST);
    assert_int_equal(cor_indexer_by_index(ix, COR_STR("other"), COR_STR("x"), &it), -COR_ENOTFOUND);
    put(ix, "", "b", "x");
    assert_string_equal(tagged(ix, "x"), "a b");
    cor_indexer_free(ix);
}

/* Contract client 1.1.21. */
TEST(indexer, the_name_of_an_index_is_any_text)
{
    static const struct cor_index_def defs[] = {
        {{"namespace", 9}, by_tag, NULL}, {{"", 0}, by_tag, NULL}, {{"a b/\xff", 5}, by_tag, NULL}};
    struct cor_indexer *ix;

    assert_int_equal(cor_indexer_new(defs, COR_ARRAY_LEN(defs), &ix), 0);
    put(ix, "", "a", "x");
    for (size_t i = 0; i < COR_ARRAY_LEN(defs); i++) {
        struct cor_object_iter it;

        assert_int_equal(cor_indexer_by_index(ix, defs[i].name, COR_STR("x"), &it), 0);
        assert_string_equal(show(&it), "a");
    }
    cor_indexer_free(ix);
}

/* Contract client 1.1.17. */
TEST(indexer, an_object_that_an_index_refuses_is_not_stored)
{
    struct cor_indexer *ix = begin();
    struct cor_object *bad[] = {object("", "b", "x"), object("", "a", "refused")};

    put(ix, "", "a", "x");
    assert_int_equal(cor_indexer_put(ix, bad[1], NULL), -COR_EINVALID);
    assert_int_equal(cor_indexer_replace(ix, bad, 2), -COR_EINVALID);
    assert_int_equal(cor_indexer_each_sharing(ix, COR_STR("tag"), bad[1], stop_at_once, NULL),
                     -COR_EINVALID);
    assert_string_equal(list(ix), "a");
    assert_string_equal(tagged(ix, "x"), "a");
    cor_object_unref(bad[0]);
    cor_object_unref(bad[1]);
    cor_indexer_free(ix);
}

static int calls;

static int count_calls(void *arg, const struct cor_object *o, struct cor_index_values *out)
{
    calls++;
    return by_tag(arg, o, out);
}

TEST(indexer, a_refused_object_does_not_build_the_index_anew)
{
    static const struct cor_index_def counted = {{"tag", 3}, count_calls, NULL};
    struct cor_indexer *ix;

    assert_int_equal(cor_indexer_new(&counted, 1, &ix), 0);
    put(ix, "", "a", "x");
    put(ix, "", "b", "x");
    assert_int_equal(put(ix, "", "c", "refused"), -COR_EINVALID);
    calls = 0;
    put(ix, "", "d", "x");
    assert_int_equal(calls, 1);
    assert_string_equal(tagged(ix, "x"), "a b d");
    cor_indexer_free(ix);
}

/* As client-go's MetaNamespaceIndexFunc: an empty value for what has no namespace. */
static int by_namespace(void *arg, const struct cor_object *o, struct cor_index_values *out)
{
    return cor_index_values_add(out, cor_object_namespace(o));
}

TEST(indexer, the_empty_value_is_a_value_and_what_is_too_long_is_nowhere)
{
    static const struct cor_index_def def = {{"namespace", 9}, by_namespace, NULL};
    static char too_long[COR_INDEX_VALUE_MAX + 2];
    struct cor_object_iter it;
    struct cor_indexer *ix;

    memset(too_long, 'x', sizeof(too_long) - 1);
    assert_int_equal(cor_indexer_new(&def, 1, &ix), 0);
    put(ix, "", "a", "");
    put(ix, "ns", "b", "");
    assert_int_equal(cor_indexer_by_index(ix, COR_STR("namespace"), (struct cor_str){0}, &it), 0);
    assert_string_equal(show(&it), "a");
    assert_int_equal(cor_indexer_by_index(ix, COR_STR("namespace"), cor_strz(too_long), &it), 0);
    assert_string_equal(show(&it), "");
    assert_int_equal(cor_indexer_list_namespace(ix, cor_strz(too_long), &it), 0);
    assert_string_equal(show(&it), "");
    cor_indexer_free(ix);
}

/* Contract client 1.1.1. */
TEST(indexer, an_iterator_shows_one_instant)
{
    struct cor_indexer *ix = begin();
    struct cor_object_iter it;

    put(ix, "", "a", "x");
    put(ix, "", "b", "x");
    assert_int_equal(cor_indexer_by_index(ix, COR_STR("tag"), COR_STR("x"), &it), 0);
    put(ix, "", "c", "x");
    assert_int_equal(cor_indexer_remove(ix, COR_STR("a"), NULL), 0);
    assert_string_equal(show(&it), "a b");
    assert_string_equal(tagged(ix, "x"), "b c");
    cor_indexer_free(ix);
}

static bool has_tag(const struct cor_object *o, const char *tag)
{
    struct cor_str rest = tags_of(o);

    while (rest.p)
        if (cor_str_eqz(cor_str_cut(&rest, ','), tag))
            return true;
    return false;
}

/* The index shows the very objects that a walk over all finds. */
static void assert_index_agrees(struct cor_indexer *ix, const char *tag)
{
    struct cor_object_iter all, some;
    struct cor_object *a, *b;

    assert_int_equal(cor_indexer_list(ix, &all), 0);
    assert_int_equal(cor_indexer_by_index(ix, COR_STR("tag"), cor_strz(tag), &some), 0);
    while (cor_object_iter_next(&all, &a, NULL)) {
        if (!has_tag(a, tag))
            continue;
        assert_true(cor_object_iter_next(&some, &b, NULL));
        assert_ptr_equal(a, b);
    }
    assert_false(cor_object_iter_next(&some, &b, NULL));
    cor_object_iter_deinit(&all);
    cor_object_iter_deinit(&some);
}

TEST(indexer, follows_a_long_random_history)
{
    struct cor_indexer *ix = begin();
    static const char *const tags[] = {"", "x", "y", "x,y", "y,x,z"};

    for (int i = 0; i < 5000; i++) {
        char name[16];

        snprintf(name, sizeof(name), "k%d", (int)(test_random() % 300));
        if (test_random() % 3)
            assert_int_equal(put(ix, "", name, tags[test_random() % 5]), 0);
        else
            assert_int_equal(cor_indexer_remove(ix, cor_strz(name), NULL), 0);
        if (i % 500 == 0) {
            assert_index_agrees(ix, "x");
            assert_index_agrees(ix, "y");
            assert_index_agrees(ix, "z");
        }
    }
    cor_indexer_free(ix);
}

TEST(indexer, agrees_with_itself_after_any_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_indexer *ix;
        struct cor_object *objects[2] = {NULL};

        if (cor_indexer_new(&tag_index, 1, &ix) < 0)
            continue;
        for (int i = 0; i < 70; i++) {
            char name[8];

            snprintf(name, sizeof(name), "k%02d", i);
            put(ix, "", name, i % 2 ? "x" : "x,y");
        }
        put(ix, "", "k00", "y");
        cor_indexer_remove(ix, COR_STR("k01"), NULL);
        objects[0] = object("", "a", "x");
        objects[1] = object("", "b", "y");
        if (objects[0] && objects[1])
            cor_indexer_replace(ix, objects, 2);
        /* A write mends what a failure left. */
        test_fail_alloc(0, false);
        assert_int_equal(put(ix, "", "last", "y"), 0);
        assert_index_agrees(ix, "x");
        assert_index_agrees(ix, "y");
        cor_object_unref(objects[0]);
        cor_object_unref(objects[1]);
        cor_indexer_free(ix);
    }
}
