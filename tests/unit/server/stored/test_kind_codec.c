/* Values as older servers, kube-apiserver and this one write them, read through a store. */
#include <stdio.h>

#include "base/err.h"
#include "server/stored/kind_codec.h"
#include "storage/store/store_int.h"
#include "test.h"

/* "k8s", a ConfigMap of v1 named "cm1" with the data {"a":"b"}, as kubectl encoded it. */
static const char config_map[] =
    "k8s\0\x0a\x0f\x0a\x02v1\x12\x09"
    "ConfigMap\x12\x1d\x0a\x13\x0a\x03"
    "cm1\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00\x12\x06\x0a\x01"
    "a\x12\x01"
    "b\x1a\x00\x22\x00";
#define CONFIG_MAP cor_str(config_map, sizeof(config_map) - 1)

struct read {
    struct cor_store *store;
    struct cor_kv *kv;
    struct cor_object *object;
    struct cor_status status;
    bool rewrite;
    int r;
};

static struct cor_store *store_of(const struct cor_kind_codec_opts *codec)
{
    struct cor_store_opts opts = {.resource_prefix = "/configmaps"};
    struct cor_store *store;

    assert_int_equal(cor_kind_codec_new(codec, &opts.take_codec), 0);
    assert_int_equal(cor_store_new(&opts, &store, NULL), 0);
    return store;
}

static void read_value_by(struct read *read, const struct cor_kind_codec_opts *codec,
                          struct cor_str value)
{
    *read = (struct read){.store = store_of(codec)};
    cor_status_init(&read->status);
    read->kv = cor_kv_new(COR_STR("/registry/configmaps/d/cm1"), value, 3, 7, 0);
    assert_non_null(read->kv);
}

static void read_value_of(struct read *read, const char *api_version, const char *kind,
                          struct cor_str value)
{
    const struct cor_kind_codec_opts codec = {.api_version = cor_strz(api_version),
                                              .kind = cor_strz(kind)};

    read_value_by(read, &codec, value);
}

static void read_value(struct read *read, struct cor_str value)
{
    read_value_of(read, "v1", "ConfigMap", value);
}

static void read_old_value(struct read *read, cor_rev old_rev, struct cor_str value)
{
    const struct cor_kind_codec_opts codec = {
        .api_version = COR_STR("v1"), .kind = COR_STR("ConfigMap"), .old_rev = old_rev};

    read_value_by(read, &codec, value);
}

static void read_decode(struct read *read)
{
    read->r =
        cor_store_decode(read->store, read->kv, 0, &read->object, &read->rewrite, &read->status);
}

static void read_close(struct read *read)
{
    cor_object_unref(read->object);
    cor_kv_unref(read->kv);
    cor_store_free(read->store);
    cor_status_deinit(&read->status);
}

TEST(kind_codec, a_value_in_protobuf_is_read_and_would_be_rewritten)
{
    struct read read;
    struct cor_str json;

    read_value(&read, CONFIG_MAP);
    read_decode(&read);
    assert_int_equal(read.r, 0);
    assert_true(read.rewrite);
    assert_int_equal(read.object->rev, 7);
    json = cor_object_json(read.object);
    assert_true(cor_str_eqz(json,
                            "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"a\":\"b\"},"
                            "\"metadata\":{\"name\":\"cm1\",\"resourceVersion\":\"7\"}}"));
    read_close(&read);
}

TEST(kind_codec, a_value_that_is_broken_names_its_key)
{
    struct read read;

    read_value(&read, cor_str(config_map, sizeof(config_map) - 9));
    read_decode(&read);
    assert_true(read.r < 0);
    assert_non_null(strstr(cor_status_message(&read.status), "\"/registry/configmaps/d/cm1\""));
    assert_non_null(strstr(cor_status_message(&read.status), "unexpected EOF"));
    read_close(&read);
}

TEST(kind_codec, a_kind_without_a_type_is_named)
{
    static const char frob[] = "k8s\0\x0a\x0c\x0a\x04x/v1\x12\x04"
                               "Frob\x12\x00\x1a\x00\x22\x00";
    struct read read;

    read_value(&read, cor_str(frob, sizeof(frob) - 1));
    read_decode(&read);
    assert_true(read.r < 0);
    assert_non_null(strstr(cor_status_message(&read.status),
                           "no kind \"Frob\" is registered for version \"x/v1\""));
    read_close(&read);
}

/* What is written in protobuf is what a kube-apiserver writes, and is up to date when it is read.
 */
TEST(kind_codec, a_store_of_that_form_writes_it_for_built_in_kinds)
{
    static const struct {
        struct cor_str api_version, kind;
        bool is_protobuf;
    } rows[] = {{{"v1", 2}, {"ConfigMap", 9}, true}, {{"x/v1", 4}, {"Frob", 4}, false}};

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        const struct cor_kind_codec_opts codec = {
            .api_version = rows[i].api_version, .kind = rows[i].kind, .form = COR_STORED_PROTOBUF};
        struct cor_store *store = store_of(&codec);
        struct store_scratch scratch;
        struct store_key key = {0};
        struct cor_object *object, *again;
        char json[256];

        snprintf(json, sizeof(json),
                 "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",\"data\":{\"a\":\"b\"},"
                 "\"metadata\":{\"name\":\"cm1\"}}",
                 COR_STR_ARG(rows[i].kind), COR_STR_ARG(rows[i].api_version));
        assert_int_equal(cor_store_key_init(&key, store, COR_STR("/configmaps/d/cm1"), false, NULL),
                         0);
        assert_int_equal(cor_object_from_stored(cor_strz(json), 0, &object, NULL, NULL), 0);
        store_scratch_init(&scratch);
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_str value;
            struct cor_kv *kv;
            bool rewrite;
            int r = cor_store_encode(store, &key, object, &scratch, &value, NULL);

            assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
            if (r < 0)
                continue;
            test_fail_alloc(0, false);
            assert_true(cor_str_eq(value, rows[i].is_protobuf ? CONFIG_MAP : cor_strz(json)));
            kv = cor_kv_new(store_key_str(&key), value, 3, 7, 0);
            assert_int_equal(cor_store_decode(store, kv, 0, &again, &rewrite, NULL), 0);
            assert_false(rewrite);
            assert_true(cor_object_same_stored(object, again));
            cor_object_unref(again);
            cor_kv_unref(kv);
            kv = cor_kv_new(store_key_str(&key), cor_strz(json), 3, 7, 0);
            assert_int_equal(cor_store_decode(store, kv, 0, &again, &rewrite, NULL), 0);
            assert_int_equal(rewrite, rows[i].is_protobuf);
            cor_object_unref(again);
            cor_kv_unref(kv);
        }
        store_scratch_deinit(&scratch);
        cor_object_unref(object);
        store_key_deinit(&key);
        cor_store_free(store);
    }
}

/* An object that was written before the schema was followed is shown as it would be written now, at
 * its revision; a later one is not looked at. */
TEST(kind_codec, an_old_object_is_renewed_when_it_is_read)
{
    static const char old[] =
        "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"cm1\"},"
        "\"spec\":{\"ports\":[{\"port\":80}]},\"unknown\":1}";
    struct read read;

    read_old_value(&read, 6, cor_strz(old));
    read_decode(&read);
    assert_int_equal(read.r, 0);
    assert_false(read.rewrite);
    assert_non_null(strstr(read.object->bytes, "unknown"));
    read_close(&read);
    read_old_value(&read, 7, cor_strz(old));
    FOR_EACH_FAILED_ALLOC(n) {
        read_decode(&read);
        assert_int_equal(read.r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (read.r == 0) {
            assert_int_equal(read.object->rev, 7);
            assert_true(read.rewrite);
            assert_non_null(strstr(read.object->bytes, "\"protocol\":\"TCP\""));
            assert_non_null(strstr(read.object->bytes, "\"resourceVersion\":\"7\""));
            assert_null(strstr(read.object->bytes, "unknown"));
        }
        read.object = cor_object_unref(read.object);
        cor_status_deinit(&read.status);
        cor_status_init(&read.status);
    }
    read_close(&read);
}

/* Names of types that are no stored kinds: one has a group that is not built in, one no metadata.
 */
TEST(kind_codec, an_old_object_of_no_stored_kind_stays_as_it_is)
{
    static const char *const old[] = {
        "{\"kind\":\"Preconditions\",\"apiVersion\":\"x.io/v1\",\"metadata\":{\"name\":\"cm1\"},"
        "\"other\":1}",
        "{\"kind\":\"PodLogOptions\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"cm1\"},"
        "\"other\":1}"};

    for (size_t i = 0; i < COR_ARRAY_LEN(old); i++) {
        struct read read;

        read_old_value(&read, 7, cor_strz(old[i]));
        read_decode(&read);
        assert_int_equal(read.r, 0);
        assert_false(read.rewrite);
        assert_non_null(strstr(read.object->bytes, "\"name\":\"cm1\""));
        assert_non_null(strstr(read.object->bytes, "\"other\":1"));
        read_close(&read);
    }
}

/* A claim in a template is a struct by value, whose message has neither kind nor apiVersion. */
TEST(kind_codec, the_claims_of_a_stateful_set_keep_their_kind)
{
    static const char json[] =
        "{\"kind\":\"StatefulSet\",\"apiVersion\":\"apps/v1\",\"metadata\":{\"name\":\"cm1\"},"
        "\"spec\":{\"volumeClaimTemplates\":[{\"kind\":\"PersistentVolumeClaim\","
        "\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"data\"},\"spec\":{}}]}}";
    COR_CLEANUP(cor_buf_deinit) struct cor_buf protobuf = {.max = 1 << 16};
    const struct cor_kind_codec_opts codec = {.api_version = COR_STR("apps/v1"),
                                              .kind = COR_STR("StatefulSet"),
                                              .form = COR_STORED_PROTOBUF};
    struct cor_str value;
    struct read read;

    assert_int_equal(
        cor_stored_form_convert(COR_STORED_PROTOBUF, cor_strz(json), &protobuf, &value, NULL), 1);
    read_value_by(&read, &codec, value);
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf back = {.max = 1 << 16};

        read_decode(&read);
        assert_int_equal(read.r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (read.r == 0) {
            assert_int_equal(read.object->rev, 7);
            assert_false(read.rewrite);
            assert_non_null(strstr(read.object->bytes, "\"kind\":\"PersistentVolumeClaim\""));
            assert_non_null(strstr(read.object->bytes, "\"apiVersion\":\"v1\""));
            read.r = cor_stored_form_convert(COR_STORED_JSON, cor_kv_value(read.kv), &back, &value,
                                             NULL);
            assert_int_equal(read.r, test_alloc_failed() ? -COR_ENOMEM : 1);
        }
        if (read.r == 1) {
            assert_non_null(strstr(cor_buf_z(&back), "\"kind\":\"PersistentVolumeClaim\""));
            assert_non_null(strstr(cor_buf_z(&back), "\"apiVersion\":\"v1\""));
        }
        read.object = cor_object_unref(read.object);
        cor_status_deinit(&read.status);
        cor_status_init(&read.status);
    }
    read_close(&read);
}

/* kube-apiserver 1.34 keeps some kinds in another version than the one that is served here. */
TEST(kind_codec, a_value_in_the_version_that_kube_apiserver_keeps_is_read_as_the_served_one)
{
    static const struct {
        const char *api_version, *kept, *kind, *rest, *want;
    } rows[] = {
        {"storage.k8s.io/v1", "storage.k8s.io/v1beta1", "VolumeAttributesClass",
         "\"driverName\":\"d\",\"metadata\":{\"name\":\"cm1\"}", "\"driverName\":\"d\""},
        {"resource.k8s.io/v1", "resource.k8s.io/v1beta2", "DeviceClass",
         "\"metadata\":{\"name\":\"cm1\"},\"spec\":{\"extendedResourceName\":\"e\"}",
         "\"extendedResourceName\":\"e\""},
        {"apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1", "CustomResourceDefinition",
         "\"metadata\":{\"name\":\"cm1\"},\"spec\":{\"version\":\"v7\"}", "\"name\":\"v7\""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        char json[512], head[256];
        struct read read;

        (void)snprintf(json, sizeof(json), "{\"kind\":\"%s\",\"apiVersion\":\"%s\",%s}",
                       rows[i].kind, rows[i].kept, rows[i].rest);
        (void)snprintf(head, sizeof(head), "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", rows[i].kind,
                       rows[i].api_version);
        read_value_of(&read, rows[i].api_version, rows[i].kind, cor_strz(json));
        FOR_EACH_FAILED_ALLOC(n) {
            read_decode(&read);
            assert_int_equal(read.r, test_alloc_failed() ? -COR_ENOMEM : 0);
            if (read.r == 0) {
                assert_int_equal(read.object->rev, 7);
                assert_true(cor_str_starts(cor_object_json(read.object), cor_strz(head)));
                assert_non_null(strstr(read.object->bytes, rows[i].want));
                assert_non_null(strstr(read.object->bytes, "\"resourceVersion\":\"7\""));
            }
            read.object = cor_object_unref(read.object);
            cor_status_deinit(&read.status);
            cor_status_init(&read.status);
        }
        read_close(&read);
    }
}

TEST(kind_codec, a_message_in_the_version_that_kube_apiserver_keeps_is_read_as_the_served_one)
{
    static const char kept[] = "k8s\0\x0a\x2f\x0a\x16"
                               "storage.k8s.io/v1beta1\x12\x15"
                               "VolumeAttributesClass\x12\x0a\x0a\x05\x0a\x03"
                               "cm1\x12\x01"
                               "d";
    struct read read;

    read_value_of(&read, "storage.k8s.io/v1", "VolumeAttributesClass",
                  cor_str(kept, sizeof(kept) - 1));
    read_decode(&read);
    assert_int_equal(read.r, 0);
    assert_str(cor_object_json(read.object),
               "{\"kind\":\"VolumeAttributesClass\",\"apiVersion\":\"storage.k8s.io/v1\","
               "\"driverName\":\"d\",\"metadata\":{\"name\":\"cm1\",\"resourceVersion\":\"7\"}}");
    read_close(&read);
}

TEST(kind_codec, every_allocation_may_fail)
{
    struct read read;

    read_value(&read, CONFIG_MAP);
    FOR_EACH_FAILED_ALLOC(n) {
        read_decode(&read);
        assert_int_equal(read.r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (read.r == 0)
            assert_int_equal(read.object->rev, 7);
        read.object = cor_object_unref(read.object);
        cor_status_deinit(&read.status);
        cor_status_init(&read.status);
    }
    read_close(&read);
}

/* An empty Pod of Go, with the members that Go always writes. */
TEST(kind_codec, a_bookmark_has_the_zero_values_of_its_kind)
{
    static const char bookmark[] = "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{}}";
    const struct cor_kind_codec_opts opts = {.api_version = COR_STR("v1"), .kind = COR_STR("Pod")};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 256};
    struct cor_value_codec *codec;

    assert_int_equal(cor_kind_codec_new(&opts, &codec), 0);
    FOR_EACH_FAILED_ALLOC(n) {
        int r;

        cor_buf_reset(&json);
        r = cor_buf_adds(&json, cor_strz(bookmark));
        if (r == 0)
            r = cor_value_complete(codec, &json);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
    assert_str(cor_buf_str(&json), "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{},"
                                   "\"spec\":{\"containers\":null},\"status\":{}}");
    cor_value_codec_free(codec);
}

TEST(kind_codec, is_made_or_fails_as_a_whole)
{
    const struct cor_kind_codec_opts opts = {.api_version = COR_STR("storage.k8s.io/v1"),
                                             .kind = COR_STR("VolumeAttributesClass")};

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_value_codec *codec = NULL;
        int r = cor_kind_codec_new(&opts, &codec);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_value_codec_free(codec);
    }
}
