/* How events become keys: owners, mappings and predicates. */
#include "kit/controller/control_source.h"

#include "base/mem.h"
#include "control_fixture.h"
#include "coracle/label_selector.h"

static const char child[] =
    "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"c\",\"ownerReferences\":["
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"Site\",\"name\":\"other-group\",\"controller\":true},"
    "{\"apiVersion\":\"x.io/v1\",\"kind\":\"Page\",\"name\":\"other-kind\",\"controller\":true},"
    "{\"apiVersion\":\"x.io/v1\",\"kind\":\"Site\",\"name\":\"no-controller\"},"
    "{\"apiVersion\":\"x.io/v1\",\"kind\":\"Site\",\"name\":\"no\",\"controller\":false},"
    "{\"apiVersion\":\"x.io/v2\",\"kind\":\"Site\",\"name\":\"s\",\"controller\":true}]}}";
static const char moved[] =
    "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"c\",\"ownerReferences\":["
    "{\"apiVersion\":\"x.io/v2\",\"kind\":\"Site\",\"name\":\"t\",\"controller\":true}]}}";

static void owns_begin(struct bench *b, bool cluster_scoped, bool every_owner,
                       struct cor_control_source **ret_children)
{
    const struct cor_control_source_opts sites = {.kind = COR_CONTROL_FOR,
                                                  .gk = {COR_STR("x.io"), COR_STR("Site")},
                                                  .is_cluster_scoped = cluster_scoped};
    const struct cor_control_source_opts children = {.kind = COR_CONTROL_OWNS,
                                                     .every_owner = every_owner};

    bench_init(b);
    b->ends_at_once = true;
    assert_int_equal(cor_control_loop_new(&b->opts, &b->l, NULL), 0);
    assert_int_equal(cor_control_loop_add_source(b->l, &sites, &b->main, NULL), 0);
    assert_int_equal(cor_control_loop_add_source(b->l, &children, ret_children, NULL), 0);
    cor_control_loop_source_synced(b->l, b->main);
    cor_control_loop_source_synced(b->l, *ret_children);
    assert_int_equal(cor_control_loop_start(b->l, NULL), 0);
}

/* Contract controllers 6.3.2, 6.4.5, 6.12.3. */
TEST(controller, owns_gives_the_controlling_owner_by_group_and_kind)
{
    struct cor_control_source *children;
    struct bench b;

    owns_begin(&b, false, false, &children);
    assert_int_equal(feed(&b, children, COR_CONTROL_CREATED, NULL, child), 0);
    turn(&b);
    assert_said(&b, "ns/s ");
    assert_int_equal(feed(&b, children, COR_CONTROL_DELETED, NULL, child), 0);
    turn(&b);
    assert_said(&b, "ns/s ");
    /* An update is of the owners before it and after it, each once. */
    assert_int_equal(feed(&b, children, COR_CONTROL_UPDATED, child, moved), 0);
    turn(&b);
    assert_said(&b, "ns/s ns/t ");
    assert_int_equal(feed(&b, children, COR_CONTROL_UPDATED, child, child), 0);
    turn(&b);
    assert_said(&b, "ns/s ");
    assert_int_equal(feed(&b, children, COR_CONTROL_CREATED, NULL, POD("orphan")), 0);
    turn(&b);
    assert_said(&b, "");
    bench_end(&b);
    owns_begin(&b, true, false, &children);
    assert_int_equal(feed(&b, children, COR_CONTROL_CREATED, NULL, child), 0);
    turn(&b);
    assert_said(&b, "s ");
    bench_end(&b);
    owns_begin(&b, false, true, &children);
    assert_int_equal(feed(&b, children, COR_CONTROL_CREATED, NULL, child), 0);
    turn(&b);
    assert_said(&b, "ns/no-controller ns/no ns/s ");
    bench_end(&b);
}

static void map_to_two(void *arg, const struct cor_object *object, struct cor_control_keys *keys)
{
    cor_control_keys_add(keys, COR_STR("m"), cor_object_name(object));
    cor_control_keys_add(keys, COR_STR(""), COR_STR("all"));
}

static void map_badly(void *arg, const struct cor_object *object, struct cor_control_keys *keys)
{
    cor_control_keys_add(keys, COR_STR("m"), COR_STR("a/b"));
    cor_control_keys_add(keys, COR_STR("m"), COR_STR("good"));
    cor_control_keys_add(keys, COR_STR("m"), COR_STR(""));
}

/* Contract controllers 6.3.3, 6.4.6, 8.3. */
TEST(controller, watches_maps_the_old_and_the_new_object)
{
    const struct cor_control_source_opts good = {.kind = COR_CONTROL_WATCHES, .map = map_to_two};
    const struct cor_control_source_opts bad = {.kind = COR_CONTROL_WATCHES, .map = map_badly};
    struct cor_control_source *source;
    struct bench b;

    bench_begin(&b);
    b.ends_at_once = true;
    assert_int_equal(cor_control_loop_add_source(b.l, &good, &source, NULL), 0);
    assert_int_equal(feed(&b, source, COR_CONTROL_UPDATED, POD("a"), POD("b")), 0);
    turn(&b);
    assert_said(&b, "m/a all m/b ");
    assert_int_equal(cor_control_loop_add_source(b.l, &bad, &source, NULL), 0);
    assert_int_equal(feed(&b, source, COR_CONTROL_CREATED, NULL, POD("a")), 0);
    turn(&b);
    assert_said(&b, "m/good "); /* what follows a bad key is not lost */
    bench_end(&b);
}

/* The API checks only that the name of an owner is not empty. An error would make the feed list
 * again and again, and no other object of the source would be reconciled any more. */
TEST(controller, an_owner_whose_name_no_object_can_have_is_no_error)
{
    static const char stray[] =
        "{\"metadata\":{\"name\":\"c\",\"namespace\":\"ns\",\"ownerReferences\":["
        "{\"apiVersion\":\"x.io/v1\",\"kind\":\"Site\",\"name\":\"a/b\",\"controller\":true}]}}";
    struct cor_control_source *children;
    struct bench b;

    owns_begin(&b, false, false, &children);
    assert_int_equal(feed(&b, children, COR_CONTROL_CREATED, NULL, stray), 0);
    turn(&b);
    assert_said(&b, "");
    bench_end(&b);
}

static bool first_says_no(const void *arg, const struct cor_control_event *event)
{
    return *(const bool *)arg;
}

static bool count_calls(const void *arg, const struct cor_control_event *event)
{
    ++**(size_t *const *)arg;
    return true;
}

/* Contract controllers 6.3.4: the loop's predicates come first, and the first that says no ends
 * it. */
TEST(controller, all_predicates_must_pass_those_of_the_loop_first)
{
    bool passes = false;
    size_t calls = 0, *calls_of = &calls;
    const struct cor_control_predicate global[] = {{first_says_no, &passes}};
    const struct cor_control_predicate own[] = {{count_calls, &calls_of}};
    struct cor_control_source_opts pods = for_pods;
    struct bench b;

    bench_init(&b);
    b.ends_at_once = true;
    b.opts.predicates = (struct cor_control_predicates){global, 1};
    pods.predicates = (struct cor_control_predicates){own, 1};
    assert_int_equal(cor_control_loop_new(&b.opts, &b.l, NULL), 0);
    assert_int_equal(cor_control_loop_add_source(b.l, &pods, &b.main, NULL), 0);
    assert_int_equal(feed(&b, b.main, COR_CONTROL_CREATED, NULL, POD("a")), 0);
    assert_int_equal(calls, 0);
    assert_int_equal(queued(&b), 0);
    passes = true;
    assert_int_equal(feed(&b, b.main, COR_CONTROL_CREATED, NULL, POD("a")), 0);
    assert_int_equal(calls, 1);
    assert_int_equal(queued(&b), 1);
    cor_control_loop_free(b.l); /* was not started */
    scripted_port_deinit(&b.sp);
}

static bool passes(bool (*fn)(const void *, const struct cor_control_event *), const void *arg,
                   const char *old_json, const char *json)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *old = object_of(old_json);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = object_of(json);
    const struct cor_control_event update = {COR_CONTROL_UPDATED, object, old, false, false};

    for (int kind = COR_CONTROL_CREATED; kind <= COR_CONTROL_GENERIC; kind++) {
        const struct cor_control_event event = {.kind = (enum cor_control_event_kind)kind,
                                                .object = object};

        if (kind != COR_CONTROL_UPDATED && !arg)
            assert_true(fn(NULL, &event));
    }
    return fn(arg, &update);
}

#define META(members) "{\"metadata\":{\"name\":\"a\"," members "}}"

/* Contract controllers 6.4.2, 6.4.3. */
TEST(controller, predicates_compare_the_field_that_they_name)
{
    assert_false(passes(cor_control_generation_changed, NULL,
                        META("\"generation\":3,\"resourceVersion\":\"1\""),
                        META("\"generation\":3,\"resourceVersion\":\"2\"")));
    assert_true(passes(cor_control_generation_changed, NULL, META("\"generation\":3"),
                       META("\"generation\":4")));
    assert_false(passes(cor_control_generation_changed, NULL, POD("a"), POD("a")));
    assert_true(passes(cor_control_version_changed, NULL, META("\"resourceVersion\":\"1\""),
                       META("\"resourceVersion\":\"2\"")));
    assert_false(passes(cor_control_version_changed, NULL, META("\"resourceVersion\":\"1\""),
                        META("\"resourceVersion\":\"1\"")));
    assert_true(passes(cor_control_labels_changed, NULL, META("\"labels\":{\"a\":\"1\"}"),
                       META("\"labels\":{\"a\":\"2\"}")));
    assert_true(passes(cor_control_labels_changed, NULL, META("\"labels\":{\"a\":\"1\"}"),
                       META("\"labels\":{\"b\":\"1\"}")));
    assert_true(
        passes(cor_control_labels_changed, NULL, META("\"labels\":{\"a\":\"1\"}"), POD("a")));
    assert_false(passes(cor_control_labels_changed, NULL, META("\"labels\":{}"), POD("a")));
    assert_false(passes(cor_control_labels_changed, NULL, META("\"labels\":null"), POD("a")));
    assert_false(passes(cor_control_annotations_changed, NULL,
                        META("\"annotations\":{\"a\":\"1\",\"b\": \"2\"}"),
                        META("\"annotations\":{\"b\":\"2\",\"a\":\"1\"}")));
    assert_true(passes(cor_control_annotations_changed, NULL,
                       META("\"annotations\":{\"a\":\"1\",\"b\":\"2\"}"),
                       META("\"annotations\":{\"a\":\"1\",\"b\":\"3\"}")));
}

/* An object with `n` annotations, in one order or the other. */
static char *annotated(size_t n, bool is_reversed)
{
    struct cor_buf json = {.max = 4u << 20};

    assert_int_equal(cor_buf_addz(&json, "{\"metadata\":{\"annotations\":{"), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(
            cor_buf_addf(&json, "%s\"key-%06zu\":\"v\"", i ? "," : "", is_reversed ? n - 1 - i : i),
            0);
    assert_int_equal(cor_buf_addz(&json, "}}}"), 0);
    return (char *)cor_buf_z(&json);
}

/* Looking for each of the keys took minutes. */
TEST(controller, predicates_compare_many_annotations_in_linear_time)
{
    char *sorted = annotated(50000, false), *reversed = annotated(50000, true);

    assert_false(passes(cor_control_annotations_changed, NULL, sorted, sorted));
    assert_true(passes(cor_control_annotations_changed, NULL, sorted, reversed));
    cor_free(sorted);
    cor_free(reversed);
}

/* Contract controllers 6.4.2. */
TEST(controller, predicates_combine_and_select_by_labels)
{
    const struct cor_control_predicate changes[] = {{cor_control_generation_changed, NULL},
                                                    {cor_control_labels_changed, NULL}};
    const struct cor_control_predicates both = {changes, 2};
    const char old[] = META("\"generation\":1,\"labels\":{\"app\":\"web\"}");
    const char labels[] = META("\"generation\":1,\"labels\":{\"app\":\"db\"}");
    struct cor_label_selector *selector;

    assert_true(passes(cor_control_any, &both, old, labels));
    assert_false(passes(cor_control_all, &both, old, labels));
    assert_false(passes(cor_control_any, &both, old, old));
    assert_false(passes(cor_control_not, &changes[1], old, labels));
    assert_true(passes(cor_control_not, &changes[1], old, old));
    assert_int_equal(cor_label_selector_parse(COR_STR("app=web"), &selector, NULL), 0);
    assert_true(passes(cor_control_labels_match, selector, labels, old));
    assert_false(passes(cor_control_labels_match, selector, old, labels));
    cor_label_selector_free(selector);
}
