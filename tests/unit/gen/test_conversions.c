/* Conversions between versions of a kind: a custom resource whose versions disagree, Events, whose
 * two versions have other names for the same content, and autoscalers, of which a part travels in
 * annotations. The functions that end in _rest are the program's part. Events and autoscalers are
 * compared with the server's conversion (schema/convert/conversion.h), which is compared with
 * upstream elsewhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "coracle/types/autoscaling_v2_horizontal_pod_autoscaler_conversion.h"
#include "coracle/types/core_v1_event_conversion.h"
#include "fleet_v1alpha1_boat_conversion.h"
#include "random_object.h"
#include "schema/convert/conversion.h"
#include "schema/walk/normalize.h"
#include "test.h"
#include "json/text/json.h"
#include "json/write/writer.h"

#define OBJECT_MAX (1u << 20)
#define ROUNDS     300

int core_v1_event_conversion_test(void);
int autoscaling_v2_horizontal_pod_autoscaler_conversion_test(void);

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

/* Contract controllers 5.7.2. */
TEST(conversions, copy_what_agrees_rename_and_ask_for_the_rest)
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
                                 "\"crew\":2,\"home\":\"x\",\"mast\":1}}"),
                         NULL, &old, NULL),
                     0);
    assert_int_equal(fleet_v1alpha1_boat_own_to_fleet_v1(pool, &old, &boat), 0);
    assert_int_equal(fleet_v1_boat_own_encode(pool, &boat, &json), 0);
    assert_str(json, "{\"kind\":\"Boat\",\"apiVersion\":\"fleet.example.com/v1\",\"metadata\":{"
                     "\"labels\":{\"a\":\"b\"},\"name\":\"b\"},\"spec\":{\"crew\":[\"unknown\","
                     "\"unknown\"],\"port\":\"x\",\"mast\":1}}");
    cor_pool_free(pool);
}

TEST(conversions, of_events_lose_nothing)
{
    assert_int_equal(core_v1_event_conversion_test(), 0);
}

TEST(conversions, of_autoscalers_lose_nothing)
{
    assert_int_equal(autoscaling_v2_horizontal_pod_autoscaler_conversion_test(), 0);
}

/* Contract controllers 5.7.7: the names of the crew are lost on the way back, and the generated
 * test says so. */
TEST(conversions, that_lose_something_are_found)
{
    assert_int_equal(fleet_v1alpha1_boat_conversion_test(), -COR_EINVAL);
}

/* Two versions of a kind, a direction, and what the server has for it. */
struct way {
    const char *type, *kind, *api_version;
    const struct cor_own_type *from, *to;
    cor_convert_fn server;
    int (*convert)(struct cor_pool *pool, const void *from, void *ret);
};

#define WAY(name, from_t, to_t)                                                                    \
    static int name(struct cor_pool *pool, const void *from, void *ret)                            \
    {                                                                                              \
        return from_t##_own_to_##to_t(pool, from, ret);                                            \
    }

WAY(event_forth, cor_core_v1_event, events_v1)
WAY(event_back, cor_events_v1_event, core_v1)
WAY(autoscaler_forth, cor_autoscaling_v2_horizontal_pod_autoscaler, autoscaling_v1)
WAY(autoscaler_back, cor_autoscaling_v1_horizontal_pod_autoscaler, autoscaling_v2)

static void ways(struct way w[4])
{
    const struct way all[] = {
        {"core_v1.Event", "Event", "events.k8s.io/v1", &cor_core_v1_event_own_type,
         &cor_events_v1_event_own_type, cor_event_conversion.from_stored, event_forth},
        {"events_v1.Event", "Event", "v1", &cor_events_v1_event_own_type,
         &cor_core_v1_event_own_type, cor_event_conversion.to_stored, event_back},
        {"autoscaling_v2.HorizontalPodAutoscaler", "HorizontalPodAutoscaler", "autoscaling/v1",
         &cor_autoscaling_v2_horizontal_pod_autoscaler_own_type,
         &cor_autoscaling_v1_horizontal_pod_autoscaler_own_type, cor_hpa_conversion.from_stored,
         autoscaler_forth},
        {"autoscaling_v1.HorizontalPodAutoscaler", "HorizontalPodAutoscaler", "autoscaling/v2",
         &cor_autoscaling_v1_horizontal_pod_autoscaler_own_type,
         &cor_autoscaling_v2_horizontal_pod_autoscaler_own_type, cor_hpa_conversion.to_stored,
         autoscaler_back},
    };

    memcpy(w, all, sizeof(all));
}

/* The server's conversion of canonical JSON, as JSON. */
static void convert_on_server(const struct way *way, struct cor_str json, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), cor_strz(way->kind));
    cor_json_member(&w, COR_STR("apiVersion"), cor_strz(way->api_version));
    assert_int_equal(way->server(json, &w), 0);
    cor_json_end_object(&w);
    assert_int_equal(cor_json_writer_finish(&w), 0);
}

/* Decodes the object, converts the struct, and compares it with what the server makes. */
static void compare_with_server(const struct way *way, struct cor_str json)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf converted;
    struct cor_str mine = {NULL, 0}, theirs = {NULL, 0};
    void *from, *to, *wanted;
    struct cor_own_error why;
    struct cor_pool *pool;

    cor_buf_init(&converted, OBJECT_MAX);
    convert_on_server(way, json, &converted);
    assert_int_equal(cor_pool_new(0, &pool), 0);
    from = cor_pool_alloc(pool, way->from->size);
    to = cor_pool_alloc(pool, way->to->size);
    wanted = cor_pool_alloc(pool, way->to->size);
    assert_int_equal(cor_own_decode(way->from, pool, json, NULL, from, &why), 0);
    assert_int_equal(cor_own_decode(way->to, pool, cor_buf_str(&converted), NULL, wanted, &why), 0);
    assert_int_equal(way->convert(pool, from, to), 0);
    assert_int_equal(cor_own_encode(way->to, pool, to, &mine), 0);
    assert_int_equal(cor_own_encode(way->to, pool, wanted, &theirs), 0);
    if (!cor_own_equal(way->to, to, wanted))
        fail_msg("%s: of %.*s:\nis     %.*s\nwanted %.*s", way->type, COR_STR_ARG(json),
                 COR_STR_ARG(mine), COR_STR_ARG(theirs));
    cor_pool_free(pool);
}

/* Contract controllers 5.7.2: what the structs make of random objects is what the server makes, in
 * both directions; and so is what they make of the result. */
TEST(conversions, are_the_servers)
{
    const struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    struct way all[4];

    ways(all);
    for (size_t i = 0; i < ROUNDS * COR_ARRAY_LEN(all); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf text, canonical, there, normal;
        const struct way *way = &all[i % 4], *back = &all[(i % 4) ^ 1];
        const struct cor_type *type = cor_type_named(cor_strz(way->type));

        cor_buf_init(&text, OBJECT_MAX);
        cor_buf_init(&canonical, OBJECT_MAX);
        cor_buf_init(&there, OBJECT_MAX);
        cor_buf_init(&normal, OBJECT_MAX);
        random_object(type, RANDOM_FULL, &text);
        assert_int_equal(cor_json_canonicalize(cor_buf_str(&text), &limits, &canonical, NULL, NULL),
                         0);
        compare_with_server(way, cor_buf_str(&canonical));
        convert_on_server(way, cor_buf_str(&canonical), &there);
        assert_int_equal(cor_json_canonicalize(cor_buf_str(&there), &limits, &normal, NULL, NULL),
                         0);
        compare_with_server(back, cor_buf_str(&normal));
    }
}

/* What one version does not know may bear a name that the other one knows. */
TEST(conversions, of_unknown_members_are_the_servers)
{
    struct way all[4];

    ways(all);
    compare_with_server(&all[0],
                        COR_STR("{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"message\":\"m\","
                                "\"note\":{\"n\":1}}"));
    compare_with_server(&all[1], COR_STR("{\"kind\":\"Event\",\"apiVersion\":\"events.k8s.io/v1\","
                                         "\"message\":[5],\"note\":\"n\",\"other\":null}"));
    compare_with_server(&all[2],
                        COR_STR("{\"kind\":\"HorizontalPodAutoscaler\",\"apiVersion\":"
                                "\"autoscaling/v2\",\"spec\":{\"maxReplicas\":3,\"more\":1,"
                                "\"targetCPUUtilizationPercentage\":9}}"));
}

TEST(conversions, an_unknown_member_goes_on_under_a_name_that_is_free)
{
    struct fleet_v1alpha1_boat_own old;
    struct fleet_v1_boat_own boat;
    struct cor_pool *pool;
    struct cor_str json;

    assert_int_equal(cor_pool_new(0, &pool), 0);
    assert_int_equal(fleet_v1alpha1_boat_own_decode(
                         pool,
                         COR_STR("{\"spec\":{\"port\":\"p\",\"home\":\"h\",\"x\":1,\"y\":2}}"),
                         NULL, &old, NULL),
                     0);
    assert_int_equal(fleet_v1alpha1_boat_own_to_fleet_v1(pool, &old, &boat), 0);
    assert_int_equal(fleet_v1_boat_own_encode(pool, &boat, &json), 0);
    assert_str(json, "{\"kind\":\"Boat\",\"apiVersion\":\"fleet.example.com/v1\",\"spec\":{"
                     "\"port\":\"h\",\"home\":\"p\",\"x\":1,\"y\":2}}");
    cor_pool_free(pool);
}

/* A member that the other version cannot have is absent as a whole. */
TEST(conversions, an_unknown_member_that_cannot_be_leaves_nothing_behind)
{
    struct cor_core_v1_config_map_own map;
    struct cor_core_v1_pod_own pod;
    struct cor_pool *pool;
    struct cor_str json;

    assert_int_equal(cor_pool_new(0, &pool), 0);
    assert_int_equal(cor_core_v1_config_map_own_decode(
                         pool,
                         COR_STR("{\"spec\":{\"hostNetwork\":true,\"nodeName\":\"n\","
                                 "\"containers\":5},\"status\":{\"phase\":\"p\"}}"),
                         NULL, &map, NULL),
                     0);
    assert_int_equal(cor_own_convert(&cor_core_v1_config_map_own_type, &cor_core_v1_pod_own_type,
                                     pool, &map, &pod),
                     0);
    assert_int_equal(cor_core_v1_pod_own_encode(pool, &pod, &json), 0);
    assert_str(json, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"status\":{\"phase\":\"p\"}}");
    cor_pool_free(pool);
}

/* False: there is none. */
static bool compare_golden(const struct way *way, const char *folder)
{
    const struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text, canonical;
    struct cor_str rest = cor_strz(way->from->api_version), group = COR_STR("core");
    char path[512];
    FILE *f;

    cor_buf_init(&text, OBJECT_MAX);
    cor_buf_init(&canonical, OBJECT_MAX);
    if (cor_str_find(rest, '/') >= 0)
        group = cor_str_cut(&rest, '/');
    snprintf(path, sizeof(path), "%s/%.*s.%.*s.%s.json", folder, COR_STR_ARG(group),
             COR_STR_ARG(rest), way->kind);
    f = fopen(path, "rb");
    if (!f)
        return false;
    assert_int_equal(cor_buf_reserve(&text, OBJECT_MAX), 0);
    text.n = fread(text.p, 1, OBJECT_MAX, f);
    fclose(f);
    assert_int_equal(cor_json_canonicalize(cor_buf_str(&text), &limits, &canonical, NULL, NULL), 0);
    compare_with_server(way, cor_buf_str(&canonical));
    return true;
}

TEST(conversions, of_upstreams_golden_objects_are_the_servers)
{
    const char *folder = getenv("COR_GOLDEN");
    struct way all[4];
    size_t n = 0;

    ways(all);
    for (size_t i = 0; i < COR_ARRAY_LEN(all) && folder; i++)
        n += compare_golden(&all[i], folder);
    printf("# %zu golden objects\n", n);
    /* A clone may be without all. */
    assert_true(n == 0 || n == COR_ARRAY_LEN(all));
}

/* Annotations that a program or a user wrote: in any order, of the wrong type, of no type. */
TEST(conversions, of_autoscalers_read_any_annotation)
{
    static const char *const annotations[] = {
        "metrics\":\"[{\\\"type\\\":\\\"Pods\\\",\\\"pods\\\":{\\\"targetAverageValue\\\":"
        "\\\"10\\\",\\\"metricName\\\":\\\"m\\\"}}]",
        "metrics\":\"[{\\\"resource\\\":{\\\"targetAverageUtilization\\\":7,\\\"name\\\":"
        "\\\"memory\\\"},\\\"type\\\":\\\"Resource\\\"} ]",
        "metrics\":\"[1]",
        "metrics\":\"{}",
        "metrics\":\"no json",
        "metrics\":\"",
        "metrics\":\"[{\\\"type\\\":5}]",
        "metrics\":\"[]",
        "behavior\":\"{}",
        "behavior\":\"{\\\"ScaleUp\\\":{\\\"SelectPolicy\\\":\\\"Min\\\"}}",
        "behavior\":\"{\\\"ScaleUp\\\":5}",
        "conditions\":\"[{\\\"type\\\":\\\"A\\\"}]",
        "conditions\":\"[5]",
        "current-metrics\":\"[]",
        "scale-up-tolerance\":\"1",
        "current-metrics\":\"[{\\\"type\\\":\\\"Resource\\\",\\\"resource\\\":{\\\"name\\\":"
        "\\\"cpu\\\",\\\"currentAverageValue\\\":\\\"5m\\\"}}]"};
    struct way all[4];

    ways(all);
    for (size_t i = 0; i < COR_ARRAY_LEN(annotations); i++) {
        for (int has_cpu = 0; has_cpu < 2; has_cpu++) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf json;

            cor_buf_init(&json, OBJECT_MAX);
            cor_buf_addf(&json,
                         "{\"kind\":\"HorizontalPodAutoscaler\",\"apiVersion\":\"autoscaling/v1\","
                         "\"metadata\":{\"annotations\":{\"autoscaling.alpha.kubernetes.io/%s\","
                         "\"z\":\"\"}},\"spec\":{%s},\"status\":{%s}}",
                         annotations[i], has_cpu ? "\"targetCPUUtilizationPercentage\":5" : "",
                         has_cpu ? "\"currentCPUUtilizationPercentage\":6" : "");
            compare_with_server(&all[3], cor_buf_str(&json));
        }
    }
}

TEST(conversions, fail_without_memory)
{
    FOR_EACH_FAILED_ALLOC(n) {
        int r = core_v1_event_conversion_test();

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
    FOR_EACH_FAILED_ALLOC(n) {
        int r = autoscaling_v2_horizontal_pod_autoscaler_conversion_test();

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
}
