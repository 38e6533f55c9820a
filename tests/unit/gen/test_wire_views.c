/* Objects that came as protobuf: every generated view over the message beside the generic ones over
 * the JSON that is made of it, and that JSON beside the server's own converter: on upstream's
 * golden objects and on random ones of every kind. What a message without memory, or damaged,
 * shows. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/wire.h"
#include "coracle/metadata.h"
#include "coracle/types/core_v1.h"
#include "meta/object/object_received.h"
#include "meta/object/object_wire.h"
#include "meta/value/wire_json.h"
#include "schema/protobuf/protobuf.h"
#include "view_checks.h"
#include "json/text/json.h"

#define OBJECT_MAX (1u << 22)
#define RUNS       10

/* The JSON of both converters. */
static void check_made_json(const struct view_check *check, const struct cor_protobuf *message,
                            const struct cor_type *type, const struct cor_object *object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf want;
    struct cor_pb_error why;

    cor_buf_init(&want, OBJECT_MAX);
    if (cor_protobuf_to_json(message, type, &want, &why) < 0)
        fail_msg("%s: %s", check->kind, why.message);
    for (size_t i = 0; i <= want.n; i++) {
        if (want.p[i] != cor_object_json(object).p[i])
            fail_msg("%s: %.*s, not %.*s", check->kind, 200, cor_object_json(object).p + i, 200,
                     want.p + i);
    }
}

/* What the head says, and what the JSON does. */
static void check_head(const struct cor_object *object)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *plain = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    int64_t a = 0, b = 0;

    assert_int_equal(
        cor_object_received(cor_object_json(object), COR_STR(""), COR_STR(""), &plain, &why), 0);
    assert_false(plain->has_wire);
    assert_true(cor_str_eq(cor_object_kind(object), cor_object_kind(plain)));
    assert_true(cor_str_eq(cor_object_api_version(object), cor_object_api_version(plain)));
    assert_true(cor_str_eq(cor_object_name(object), cor_object_name(plain)));
    assert_true(cor_str_eq(cor_object_namespace(object), cor_object_namespace(plain)));
    assert_true(cor_str_eq(cor_object_uid(object), cor_object_uid(plain)));
    assert_true(
        cor_str_eq(cor_object_resource_version(object), cor_object_resource_version(plain)));
    assert_true(cor_str_eq(cor_object_labels(object), cor_object_labels(plain)));
    assert_true(cor_str_eq(cor_object_own_key(object), cor_object_own_key(plain)));
    assert_int_equal(object->rev, plain->rev);
    assert_int_equal(object->fingerprint, plain->fingerprint);
    assert_int_equal(object->owners.len, plain->owners.len);
    assert_int_equal(cor_object_generation(object), cor_object_generation(plain));
    assert_int_equal(cor_object_is_being_deleted(object), cor_object_is_being_deleted(plain));
    assert_int_equal(cor_object_creation_time(object, &a), cor_object_creation_time(plain, &b));
    assert_int_equal(a, b);
    assert_int_equal(cor_object_deletion_time(object, &a), cor_object_deletion_time(plain, &b));
    assert_int_equal(a, b);
    assert_int_equal(cor_object_deletion_grace_s(object, &a),
                     cor_object_deletion_grace_s(plain, &b));
    assert_int_equal(a, b);
    assert_int_equal(cor_object_has_finalizer(object, "a/b"),
                     cor_object_has_finalizer(plain, "a/b"));
}

/* Returns whether the object was kept as protobuf. */
static bool check_message(const struct view_check *check, struct cor_str body)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    const struct cor_gvk gvk = {cor_strz(check->group), cor_strz(check->version),
                                cor_strz(check->kind)};
    struct cor_protobuf message;
    struct cor_pb_error error;
    const struct cor_type *type;

    assert_int_equal(cor_protobuf_open(body, &message, &error), 0);
    type = cor_protobuf_type(&message, &gvk);
    assert_non_null(type);
    assert_int_equal(cor_object_received_wire(message.raw, check->wire, &object, &why), 0);
    if (!object->has_wire)
        return false;
    check->run(object);
    check_made_json(check, &message, type, object);
    check_head(object);
    return true;
}

static bool check_json(const struct view_check *check, struct cor_str json)
{
    const struct cor_json_limits limits = {OBJECT_MAX, COR_JSON_DEPTH_MAX, .any_number = true};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body, canonical;
    const struct cor_type *type =
        cor_type_of_kind(cor_strz(check->group), cor_strz(check->version), cor_strz(check->kind));
    char api_version[256];
    struct cor_pb_error why;

    cor_buf_init(&body, OBJECT_MAX);
    cor_buf_init(&canonical, OBJECT_MAX);
    assert_int_equal(cor_json_canonicalize(json, &limits, &canonical, NULL, NULL), 0);
    snprintf(api_version, sizeof(api_version), "%s%s%s", check->group, *check->group ? "/" : "",
             check->version);
    /* A member of another type has no place in protobuf. */
    if (cor_protobuf_from_json(cor_strz(api_version), cor_strz(check->kind), type,
                               cor_buf_str(&canonical), &body, &why) < 0)
        return false;
    return check_message(check, cor_buf_str(&body));
}

TEST(wire_views, show_what_random_objects_of_every_kind_have)
{
    size_t kept = 0, unseen = 0;

    memset(view_seen, 0, view_places_n);
    for (size_t i = 0; i < view_checks_n; i++) {
        for (int j = 0; view_checks[i].wire && j < RUNS; j++) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf json;

            cor_buf_init(&json, OBJECT_MAX);
            random_of_kind(&view_checks[i], j < RUNS / 2 ? RANDOM_FULL : RANDOM_LOOSE, true, &json);
            kept += check_json(&view_checks[i], cor_buf_str(&json));
        }
    }
    for (size_t i = 0; i < view_places_n; i++)
        unseen += !view_seen[i];
    printf("# %zu objects in protobuf; %zu of %zu accessors found nothing\n", kept, unseen,
           view_places_n);
    assert_true(kept > view_checks_n * 2);
}

static void add_message(struct cor_buf *out, char tag, struct cor_str bytes)
{
    size_t n = bytes.n;

    assert_int_equal(cor_buf_addc(out, tag), 0);
    for (; n >= 0x80; n >>= 7)
        assert_int_equal(cor_buf_addc(out, (char)(n | 0x80)), 0);
    assert_int_equal(cor_buf_addc(out, (char)n), 0);
    assert_int_equal(cor_buf_adds(out, bytes), 0);
}

/* A golden object has a resourceVersion that is no number. Writes the envelope again, around the
 * same message but with the metadata's item 6 as "7". */
static void set_version(const struct cor_protobuf *from, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf metadata, message, type;
    struct cor_str in = cor_wire_bytes(from->raw, 1);
    const char *p = in.p, *end = in.p + in.n, *next;
    struct cor_wire_item item;

    cor_buf_init(&metadata, OBJECT_MAX);
    cor_buf_init(&message, OBJECT_MAX);
    cor_buf_init(&type, OBJECT_MAX);
    for (; p < end && (next = cor_wire_next(p, end, &item)); p = next) {
        if (item.number == 6)
            add_message(&metadata, 6 << 3 | COR_WIRE_LEN, COR_STR("7"));
        else
            assert_int_equal(cor_buf_add(&metadata, p, (size_t)(next - p)), 0);
    }
    add_message(&message, 1 << 3 | COR_WIRE_LEN, cor_buf_str(&metadata));
    p = from->raw.p;
    end = p + from->raw.n;
    for (; p < end && (next = cor_wire_next(p, end, &item)); p = next) {
        if (item.number != 1)
            assert_int_equal(cor_buf_add(&message, p, (size_t)(next - p)), 0);
    }
    add_message(&type, 1 << 3 | COR_WIRE_LEN, from->api_version);
    add_message(&type, 2 << 3 | COR_WIRE_LEN, from->kind);
    assert_int_equal(cor_buf_adds(out, COR_WIRE_PREFIX), 0);
    add_message(out, 1 << 3 | COR_WIRE_LEN, cor_buf_str(&type));
    add_message(out, 2 << 3 | COR_WIRE_LEN, cor_buf_str(&message));
}

TEST(wire_views, show_what_upstreams_golden_objects_have)
{
    const char *folder = getenv("COR_GOLDEN");
    DIR *dir = folder ? opendir(folder) : NULL;
    const struct dirent *entry;
    size_t n = 0, kept = 0;

    if (!dir) {
        printf("# there are no golden objects: COR_GOLDEN is %s\n", folder ? folder : "not set");
        return;
    }
    while ((entry = readdir(dir))) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf body, numbered;
        const struct view_check *check;
        struct cor_protobuf message;
        struct cor_pb_error why;

        cor_buf_init(&body, OBJECT_MAX);
        cor_buf_init(&numbered, OBJECT_MAX);
        if (!cor_str_ends(cor_strz(entry->d_name), COR_STR(".pb")))
            continue;
        read_golden(folder, entry->d_name, &body);
        assert_int_equal(cor_protobuf_open(cor_buf_str(&body), &message, &why), 0);
        check = view_check_of(message.api_version, message.kind);
        if (!check || !check->wire)
            continue;
        set_version(&message, &numbered);
        assert_false(check_message(check, cor_buf_str(&body)));
        kept += check_message(check, cor_buf_str(&numbered));
        n++;
    }
    closedir(dir);
    printf("# %zu golden objects, %zu kept as protobuf\n", n, kept);
    assert_true(n > 60);
}

/* ---- a pod with a time, which has no text in protobuf ---- */

#define POD                                                                                        \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"creationTimestamp\":"                 \
    "\"2026-01-02T03:04:05Z\",\"name\":\"a\",\"namespace\":\"x\",\"resourceVersion\":\"7\"},"      \
    "\"spec\":{\"containers\":null,\"nodeName\":\"n\\\\1\"},\"status\":{\"phase\":\"Running\","    \
    "\"startTime\":\"2026-01-02T03:04:06Z\"}}"

static struct cor_str pod_message(struct cor_buf *body)
{
    const struct cor_type *type = cor_type_of_kind(COR_STR(""), COR_STR("v1"), COR_STR("Pod"));
    struct cor_protobuf message;

    cor_buf_init(body, OBJECT_MAX);
    assert_int_equal(
        cor_protobuf_from_json(COR_STR("v1"), COR_STR("Pod"), type, COR_STR(POD), body, NULL), 0);
    assert_int_equal(cor_protobuf_open(cor_buf_str(body), &message, NULL), 0);
    return message.raw;
}

TEST(wire_views, make_json_only_of_what_has_no_text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    struct cor_core_v1_pod_status status;
    struct cor_core_v1_pod pod;
    size_t live;

    assert_int_equal(
        cor_object_received_wire(pod_message(&body), &cor_core_v1_pod_wire, &object, NULL), 0);
    assert_true(object->has_wire);
    pod = cor_core_v1_pod(object);
    status = cor_core_v1_pod_status(pod);
    live = test_live_allocs();
    assert_true(cor_text_is(cor_core_v1_pod_status_phase(status), "Running"));
    assert_true(cor_text_is(cor_core_v1_pod_kind(pod), "Pod"));
    assert_true(
        cor_text_is(cor_meta_v1_object_meta_creation_timestamp(cor_core_v1_pod_metadata(pod)),
                    "2026-01-02T03:04:05Z"));
    assert_false(
        cor_text_exists(cor_meta_v1_object_meta_deletion_timestamp(cor_core_v1_pod_metadata(pod))));
    assert_false(cor_core_v1_pod_spec_has_active_deadline_seconds(cor_core_v1_pod_spec(pod)));
    assert_int_equal(test_live_allocs(), live);

    /* Without memory such a value is absent; with it, it is there. */
    test_fail_alloc(1, true);
    assert_false(cor_text_exists(cor_core_v1_pod_status_start_time(status)));
    assert_false(cor_text_exists(cor_core_v1_pod_spec_node_name(cor_core_v1_pod_spec(pod))));
    assert_int_equal(cor_object_json(object).n, 0);
    assert_false(cor_view_exists(cor_object_view(object)));
    assert_int_equal(cor_object_make_json(object), -COR_ENOMEM);
    test_fail_alloc(0, false);
    assert_true(cor_text_is(cor_core_v1_pod_status_start_time(status), "2026-01-02T03:04:06Z"));
    assert_true(cor_text_is(cor_core_v1_pod_spec_node_name(cor_core_v1_pod_spec(pod)), "n\\1"));
    assert_int_equal(test_live_allocs(), live + 1);
    assert_int_equal(cor_object_make_json(object), 0);
    assert_int_equal(test_live_allocs(), live + 1);
}

TEST(wire_views, are_those_of_a_copy_with_another_key)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body;
    struct cor_str message = pod_message(&body);

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL, *copy = NULL, *at = NULL;
        int r = cor_object_received_wire(message, &cor_core_v1_pod_wire, &object, NULL);

        if (r == 0)
            r = cor_object_make_json(object);
        if (r == 0)
            r = cor_object_with_given_key(object, COR_STR("other"), &copy);
        if (r == 0)
            r = cor_object_at(object, 9, &at);
        if (r == 0) {
            assert_true(copy->has_wire);
            assert_true(cor_str_eqz(cor_object_own_key(copy), "other"));
            assert_true(cor_str_eqz(cor_object_own_key(object), "x/a"));
            assert_true(cor_text_is(
                cor_core_v1_pod_status_phase(cor_core_v1_pod_status(cor_core_v1_pod(copy))),
                "Running"));
            assert_false(at->has_wire);
            assert_int_equal(at->rev, 9);
            assert_true(cor_text_is(
                cor_core_v1_pod_status_phase(cor_core_v1_pod_status(cor_core_v1_pod(at))),
                "Running"));
        }
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
}

static void *read_json(void *arg)
{
    return (void *)(uintptr_t)cor_object_json(arg).p;
}

TEST(wire_views, have_one_json_for_all_threads)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    pthread_t threads[4];
    void *json;

    assert_int_equal(
        cor_object_received_wire(pod_message(&body), &cor_core_v1_pod_wire, &object, NULL), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_json, object), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_join(threads[i], &json), 0);
        assert_ptr_equal(json, cor_object_json(object).p);
    }
}
