#include <stdio.h>

#include "base/err.h"
#include "cache/store/lister.h"
#include "meta/select/label_selector.h"
#include "test.h"

static struct cor_indexer *ix;
static const struct cor_gr pods = {COR_STR(""), COR_STR("pods")};

static void put(const char *ns, const char *name, const char *app)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    struct cor_object *o;
    char json[256];

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"labels\":{\"app\":\"%s\"},\"name\":\"%s\",\"namespace\":\"%s\"}}",
             app, name, ns);
    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &o, &st), 0);
    assert_int_equal(cor_indexer_put(ix, o, NULL), 0);
    cor_object_unref(o);
}

static char seen[512];
static int note(void *arg, struct cor_object *o)
{
    size_t n = strlen(seen);

    snprintf(seen + n, sizeof(seen) - n, "%.*s ", COR_STR_ARG(cor_object_name(o)));
    return 0;
}

static const char *list(const struct cor_lister *l, const char *ns, const char *selector)
{
    COR_CLEANUP(cor_label_selector_freep) struct cor_label_selector *s = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};

    seen[0] = '\0';
    if (selector)
        assert_int_equal(cor_label_selector_parse(cor_strz(selector), &s, &st), 0);
    assert_int_equal(cor_indexer_each(l->indexer, cor_strz(ns), s, note, NULL), 0);
    return seen;
}

static struct cor_lister begin(void)
{
    assert_int_equal(cor_indexer_new(NULL, 0, &ix), 0);
    put("a", "one", "web");
    put("a", "two", "db");
    put("b", "three", "web");
    return (struct cor_lister){ix, pods};
}

/* Contract client 1.22.1, 1.22.2. */
TEST(lister, lists_by_namespace_and_labels)
{
    struct cor_lister l = begin();
    struct cor_label_selector nothing = {.nothing = true};

    assert_string_equal(list(&l, "", NULL), "one two three ");
    assert_string_equal(list(&l, "a", NULL), "one two ");
    assert_string_equal(list(&l, "", "app=web"), "one three ");
    assert_string_equal(list(&l, "a", "app in (web)"), "one ");
    assert_string_equal(list(&l, "", "app!=web"), "two ");
    assert_string_equal(list(&l, "none", ""), "");
    seen[0] = '\0';
    assert_int_equal(cor_indexer_each(l.indexer, COR_STR(""), &nothing, note, NULL), 0);
    assert_string_equal(seen, "");
    cor_indexer_free(ix);
}

#define MANY 20000

static int count(void *arg, struct cor_object *o)
{
    (*(size_t *)arg)++;
    return 0;
}

/* Contract client 1.22.4, 1.22.5: client-go's TestListAll. Nothing is a list without a call. */
TEST(lister, lists_a_large_cache_whole_or_what_is_selected)
{
    static const struct {
        const char *selector;
        size_t n;
    } cases[] = {{"", MANY},
                 {"app=web", MANY / 4},
                 {"app in (web,db)", MANY / 2},
                 {"app=none", 0},
                 {"!app", 0}};
    static const char *const apps[] = {"web", "db", "cache", "queue"};
    const struct cor_lister l = begin();
    char name[16];

    assert_int_equal(cor_indexer_replace(ix, NULL, 0), 0);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "o%d", i);
        put(i % 2 ? "odd" : "even", name, apps[i / 2 % 4]);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_label_selector_freep) struct cor_label_selector *s = NULL;
        size_t all = 0, odd = 0;

        assert_int_equal(cor_label_selector_parse(cor_strz(cases[i].selector), &s, NULL), 0);
        assert_int_equal(cor_indexer_each(l.indexer, COR_STR(""), s, count, &all), 0);
        assert_int_equal(all, cases[i].n);
        assert_int_equal(cor_indexer_each(l.indexer, COR_STR("odd"), s, count, &odd), 0);
        assert_int_equal(odd, cases[i].n / 2);
    }
    cor_indexer_free(ix);
}

static int stop(void *arg, struct cor_object *o)
{
    note(arg, o);
    return 7;
}

TEST(lister, a_callback_ends_the_list)
{
    struct cor_lister l = begin();

    seen[0] = '\0';
    assert_int_equal(cor_indexer_each(l.indexer, COR_STR(""), NULL, stop, NULL), 7);
    assert_string_equal(seen, "one ");
    cor_indexer_free(ix);
}

/* Contract client 1.22.3. */
TEST(lister, gets_an_object_or_says_not_found_in_the_servers_words)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    struct cor_lister l = begin();
    struct cor_object *o;

    assert_int_equal(cor_lister_get(&l, COR_STR("a"), COR_STR("two"), &o, &st), 0);
    assert_str(cor_object_name(o), "two");
    cor_object_unref(o);
    assert_int_equal(cor_lister_get(&l, COR_STR("b"), COR_STR("two"), &o, &st), -COR_ENOTFOUND);
    assert_string_equal(cor_status_message(&st), "pods \"two\" not found");
    assert_int_equal(st.code, 404);
    cor_indexer_free(ix);
}
