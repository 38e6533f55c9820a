/* Conversions between versions of a kind: a custom resource whose versions disagree, and Events,
 * whose two versions have other names for the same content. The functions that end in _rest are the
 * program's part. Events are compared with the server's conversion (schema/conversion.h), which is
 * compared with upstream elsewhere. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core_v1_event_conversion.h"
#include "fleet_v1alpha1_boat_conversion.h"
#include "schema/conversion.h"
#include "test.h"
#include "json/json.h"
#include "json/writer.h"

#define OBJECT_MAX (1u << 20)

/* v1alpha1 has a number of sailors, v1 their names: what v1 does not say is kept in a label. */
int fleet_v1alpha1_boat_own_to_fleet_v1_rest(struct cor_pool *pool,
                                             const struct fleet_v1alpha1_boat_own *from,
                                             struct fleet_v1_boat_own *ret)
{
    int r = 0;

    for (int64_t i = 0; r == 0 && from->spec && i < from->spec->crew.value; i++)
        r = cor_str_list_add(pool, &ret->spec->crew, COR_STR("unknown"));
    return r;
}

int fleet_v1_boat_own_to_fleet_v1alpha1_rest(struct cor_pool *pool,
                                             const struct fleet_v1_boat_own *from,
                                             struct fleet_v1alpha1_boat_own *ret)
{
    if (from->spec)
        ret->spec->crew = cor_opt_int64((int64_t)from->spec->crew.n);
    return 0;
}

int cor_core_v1_event_own_to_events_v1_rest(struct cor_pool *pool,
                                            const struct cor_core_v1_event_own *from,
                                            struct cor_events_v1_event_own *ret)
{
    int r = cor_core_v1_object_reference_own_copy(pool, &from->involved_object, &ret->regarding);

    ret->deprecated_count = from->count;
    ret->deprecated_first_timestamp = from->first_timestamp;
    ret->deprecated_last_timestamp = from->last_timestamp;
    ret->note = from->message;
    ret->reporting_controller = from->reporting_component;
    if (r == 0)
        r = cor_core_v1_event_source_own_copy(pool, &from->source, &ret->deprecated_source);
    return r;
}

int cor_events_v1_event_own_to_core_v1_rest(struct cor_pool *pool,
                                            const struct cor_events_v1_event_own *from,
                                            struct cor_core_v1_event_own *ret)
{
    int r = cor_core_v1_object_reference_own_copy(pool, &from->regarding, &ret->involved_object);

    ret->count = from->deprecated_count;
    ret->first_timestamp = from->deprecated_first_timestamp;
    ret->last_timestamp = from->deprecated_last_timestamp;
    ret->message = from->note;
    ret->reporting_component = from->reporting_controller;
    if (r == 0)
        r = cor_core_v1_event_source_own_copy(pool, &from->deprecated_source, &ret->source);
    return r;
}

/* Contract controllers 5.7.2. */
TEST(conversions, copy_what_agrees_and_ask_for_the_rest)
{
    struct cor_pool *pool;
    struct fleet_v1alpha1_boat_own old;
    struct fleet_v1_boat_own boat;
    struct cor_str json;

    assert_int_equal(cor_pool_new(0, &pool), 0);
    assert_int_equal(fleet_v1alpha1_boat_own_decode(
                         pool,
                         COR_STR("{\"kind\":\"Boat\",\"apiVersion\":\"fleet.example.com/v1alpha1\","
                                 "\"metadata\":{\"name\":\"b\",\"labels\":{\"a\":\"b\"}},\"spec\":{"
                                 "\"crew\":2,\"mast\":1}}"),
                         NULL, &old, NULL),
                     0);
    assert_int_equal(fleet_v1alpha1_boat_own_to_fleet_v1(pool, &old, &boat), 0);
    assert_int_equal(fleet_v1_boat_own_encode(pool, &boat, &json), 0);
    assert_str(json, "{\"kind\":\"Boat\",\"apiVersion\":\"fleet.example.com/v1\",\"metadata\":{"
                     "\"labels\":{\"a\":\"b\"},\"name\":\"b\"},\"spec\":{\"crew\":[\"unknown\","
                     "\"unknown\"],\"mast\":1}}");
    cor_pool_free(pool);
}

TEST(conversions, of_events_lose_nothing)
{
    assert_int_equal(core_v1_event_conversion_test(), 0);
}

/* The names of the crew are lost on the way back, and the generated test says so. */
TEST(conversions, that_lose_something_are_found)
{
    assert_int_equal(fleet_v1alpha1_boat_conversion_test(), -COR_EINVAL);
}

TEST(conversions, of_events_are_the_servers)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf converted, canonical;
    const struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    struct cor_pool *pool;
    struct cor_core_v1_event_own event;
    struct cor_events_v1_event_own other;
    struct cor_json_writer w;
    struct cor_str before, after;

    cor_buf_init(&converted, OBJECT_MAX);
    cor_buf_init(&canonical, OBJECT_MAX);
    assert_int_equal(cor_pool_new(0, &pool), 0);
    assert_int_equal(cor_own_sample(&cor_core_v1_event_own_type, pool, &event), 0);
    assert_int_equal(cor_core_v1_event_own_encode(pool, &event, &before), 0);
    assert_int_equal(cor_core_v1_event_own_to_events_v1(pool, &event, &other), 0);
    assert_int_equal(cor_events_v1_event_own_encode(pool, &other, &after), 0);
    cor_json_writer_init(&w, &converted);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), COR_STR("Event"));
    cor_json_member(&w, COR_STR("apiVersion"), COR_STR("events.k8s.io/v1"));
    assert_int_equal(cor_event_conversion.from_stored(before, &w), 0);
    cor_json_end_object(&w);
    assert_int_equal(cor_json_writer_finish(&w), 0);
    assert_int_equal(
        cor_json_canonicalize(cor_buf_str(&converted), &limits, &canonical, NULL, NULL), 0);
    assert_true(cor_str_eq(cor_buf_str(&canonical), after));
    cor_pool_free(pool);
}

TEST(conversions, fail_without_memory)
{
    FOR_EACH_FAILED_ALLOC(n) {
        int r = core_v1_event_conversion_test();

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
}
