#include "base/clock.h"
#include "base/err.h"
#include "coracle/metadata.h"
#include "meta/object/object.h"
#include "meta/value/time_text.h"
#include "test.h"

static struct cor_builder *builder_of(const char *json)
{
    struct cor_object *object = NULL;
    struct cor_builder *b = NULL;

    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    assert_int_equal(cor_builder_new(object, &b), 0);
    cor_object_unref(object);
    return b;
}

/* Finishes and frees the builder; its status is `json`. */
static void expect_status(struct cor_builder *b, const char *json)
{
    struct cor_object *object = NULL;
    struct cor_status why = {0};

    if (cor_builder_finish(b, &object, &why) < 0)
        fail_msg("%s", cor_status_message(&why));
    assert_str(cor_view_member(cor_object_view(object), COR_STR("status")).json, json);
    cor_object_unref(object);
    cor_builder_free(b);
}

static void expect_refusal(struct cor_builder *b, int err, const char *message)
{
    struct cor_object *object = NULL;
    struct cor_status why = {0};

    assert_int_equal(cor_builder_finish(b, &object, &why), err);
    assert_string_equal(cor_status_message(&why), message);
    cor_status_deinit(&why);
    cor_builder_free(b);
}

TEST(conditions, the_transition_time_moves_with_the_status_alone)
{
    struct cor_condition ready = {COR_CONDITION,
                                  .type = "Ready",
                                  .status = "False",
                                  .reason = "Starting",
                                  .message = "it \"starts\"\n",
                                  .observed_generation = 1,
                                  .transition_s = 60};
    struct cor_builder *b = builder_of("{}");

    assert_int_equal(cor_builder_set_condition(b, &ready), 1);
    ready.transition_s = 120;
    assert_int_equal(cor_builder_set_condition(b, &ready), 0);
    ready.reason = "Waiting";
    assert_int_equal(cor_builder_set_condition(b, &ready), 1);
    ready.message = "for \x01";
    assert_int_equal(cor_builder_set_condition(b, &ready), 1);
    ready.observed_generation = 2;
    assert_int_equal(cor_builder_set_condition(b, &ready), 1);
    assert_int_equal(cor_builder_set_condition(b, &ready), 0);
    expect_status(b,
                  "{\"conditions\":[{\"lastTransitionTime\":\"1970-01-01T00:01:00Z\",\"message\":"
                  "\"for \\u0001\",\"observedGeneration\":2,\"reason\":\"Waiting\",\"status\":"
                  "\"False\",\"type\":\"Ready\"}]}");

    b = builder_of("{\"status\":{\"conditions\":[{\"type\":\"A\"},{\"lastProbeTime\":null,"
                   "\"lastTransitionTime\":\"x\",\"observedGeneration\":3,\"status\":\"False\","
                   "\"type\":\"Ready\"},{\"type\":\"Ready\"}]}}");
    ready = (struct cor_condition){COR_CONDITION, .type = "Ready", .status = "True",
                                   .transition_s = 120};
    assert_int_equal(cor_builder_set_condition(b, &ready), 1);
    expect_status(b, "{\"conditions\":[{\"type\":\"A\"},{\"lastProbeTime\":null,"
                     "\"lastTransitionTime\":\"1970-01-01T00:02:00Z\",\"status\":\"True\","
                     "\"type\":\"Ready\"},{\"type\":\"Ready\"}]}");
}

TEST(conditions, a_transition_without_a_time_happens_now)
{
    int64_t before = cor_clock_wall_ms(cor_clock_real()) / 1000, at = 0;
    const struct cor_condition ready = {COR_CONDITION, .type = "Ready", .status = "True"};
    struct cor_builder *b = builder_of("{}");
    struct cor_object *object = NULL;
    struct cor_str time;

    assert_int_equal(cor_builder_set_condition(b, &ready), 1);
    assert_int_equal(cor_builder_finish(b, &object, NULL), 0);
    time = cor_view_text_or(
        cor_view_member(cor_object_condition(object, "Ready"), COR_STR("lastTransitionTime")), NULL,
        0, "");
    assert_int_equal(cor_time_parse(time, &at), 0);
    assert_uint_in_range(at, before, cor_clock_wall_ms(cor_clock_real()) / 1000);
    cor_object_unref(object);
    cor_builder_free(b);
}

TEST(conditions, another_list_is_named_by_its_path)
{
    struct cor_builder *b = builder_of("{\"status\":{\"parents\":[{\"name\":\"a\"}]}}");
    struct cor_condition c = {COR_CONDITION, .type = "Accepted", .status = "True",
                              .transition_s = 60, .path = "status.parents[0].conditions"};

    assert_int_equal(cor_builder_set_condition(b, &c), 1);
    c.reason = "Known";
    assert_int_equal(cor_builder_set_condition(b, &c), 1);
    expect_status(b, "{\"parents\":[{\"conditions\":[{\"lastTransitionTime\":"
                     "\"1970-01-01T00:01:00Z\",\"message\":\"\",\"reason\":\"Known\",\"status\":"
                     "\"True\",\"type\":\"Accepted\"}],\"name\":\"a\"}]}");
}

TEST(conditions, a_condition_that_cannot_be_set_is_refused)
{
    static char long_path[600];
    struct cor_condition c = {COR_CONDITION, .type = "Ready"};
    struct cor_builder *b = builder_of("{}");

    assert_int_equal(cor_builder_set_condition(b, &c), -COR_EINVAL);
    assert_int_equal(cor_builder_remove_condition(b, "Ready"), -COR_EINVAL);
    expect_refusal(b, -COR_EINVAL, "status.conditions: a condition has a type and a status");

    b = builder_of("{}");
    c = (struct cor_condition){.type = "Ready", .status = "True"};
    assert_int_equal(cor_builder_set_condition(b, &c), -COR_EINVAL);
    cor_builder_free(b);

    b = builder_of("{\"status\":{\"conditions\":{}}}");
    c = (struct cor_condition){COR_CONDITION, .type = "Ready", .status = "True"};
    assert_int_equal(cor_builder_set_condition(b, &c), -COR_EINVAL);
    expect_refusal(b, -COR_EINVAL, "status.conditions: the value is not an array");

    b = builder_of("{}");
    c.path = "status[";
    assert_int_equal(cor_builder_set_condition(b, &c), -COR_EINVAL);
    expect_refusal(b, -COR_EINVAL, "status[: not a path");

    b = builder_of("{}");
    memset(long_path, 'a', sizeof(long_path) - 1);
    c.path = long_path;
    assert_int_equal(cor_builder_set_condition(b, &c), 1);
    assert_int_equal(cor_builder_set_condition(b, &c), -COR_ETOOBIG);
    cor_builder_free(b);
}

TEST(conditions, are_found_and_removed_by_type)
{
    static const char text[] =
        "{\"status\":{\"conditions\":[{\"type\":\"A\",\"status\":\"True\"},{\"type\":\"B\","
        "\"status\":\"Unknown\"},{\"type\":\"A\",\"status\":\"False\"}]}}";
    struct cor_builder *b = builder_of(text);
    struct cor_object *object = NULL, *none = NULL;

    assert_int_equal(cor_object_from_json(cor_strz(text), &object, NULL), 0);
    assert_int_equal(cor_object_from_json(COR_STR("{\"status\":1}"), &none, NULL), 0);
    assert_true(cor_object_condition_is(object, "A", "True"));
    assert_false(cor_object_condition_is(object, "A", "False"));
    assert_true(cor_object_condition_is(object, "B", "Unknown"));
    assert_false(cor_object_condition_is(object, "C", "Unknown"));
    assert_false(cor_object_condition_is(object, "C", ""));
    assert_true(cor_view_exists(cor_object_condition(object, "B")));
    assert_false(cor_view_exists(cor_object_condition(object, "C")));
    assert_false(cor_view_exists(cor_object_condition(none, "A")));
    assert_int_equal(cor_builder_remove_condition(b, "A"), 1);
    assert_int_equal(cor_builder_remove_condition(b, "A"), 0);
    expect_status(b, "{\"conditions\":[{\"status\":\"Unknown\",\"type\":\"B\"}]}");
    cor_object_unref(object);
    cor_object_unref(none);
}

TEST(conditions, survive_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object *object = NULL;
        struct cor_builder *b = NULL;
        struct cor_condition c = {COR_CONDITION, .type = "Ready", .status = "False",
                                  .transition_s = 60};

        if (cor_builder_new(NULL, &b) == 0) {
            cor_builder_set_condition(b, &c);
            c.status = "True";
            c.path = "status['conditions']";
            cor_builder_set_condition(b, &c);
            cor_builder_remove_condition(b, "Other");
            if (cor_builder_finish(b, &object, NULL) == 0) {
                assert_false(test_alloc_failed());
                assert_str(cor_view_member(cor_object_view(object), COR_STR("status")).json,
                           "{\"conditions\":[{\"lastTransitionTime\":\"1970-01-01T00:01:00Z\","
                           "\"message\":\"\",\"reason\":\"\",\"status\":\"True\",\"type\":"
                           "\"Ready\"}]}");
            }
        }
        cor_object_unref(object);
        cor_builder_free(b);
    }
}
