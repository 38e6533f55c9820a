#include "conformance.h"

/* RunTestCreate */
TEST(conformance, create_stores_the_object_and_returns_it_with_a_revision)
{
    struct conf c;

    conf_open(&c);
    {
        CONF_REPLY before = conf_get(&c, "/pods/ns/foo", "", true);
        CONF_REPLY made = conf_create(&c, "/pods/ns/foo", conf_pod("ns", "foo", NULL), 0);
        CONF_REPLY after = conf_get(&c, "/pods/ns/foo", "", false);

        assert_null(before.object);
        assert_int_equal(made.err, 0);
        assert_true(made.object->rev > 0);
        assert_str(cor_object_name(made.object), "foo");
        assert_int_equal(after.err, 0);
        assert_object_rv(after.object, made.object->rev);
        assert_true(cor_str_eq(cor_object_json(after.object), cor_object_json(made.object)));
    }
    conf_close(&c);
}

/* RunTestCreate */
TEST(conformance, create_refuses_an_object_that_has_a_resource_version)
{
    struct conf c;

    conf_open(&c);
    {
        CONF_REPLY made = conf_create(&c, "/pods/ns/foo", conf_pod("ns", "foo", NULL), 0);
        CONF_REPLY again = conf_create(&c, "/pods/ns/bar", cor_object_ref(made.object), 0);

        assert_true(again.err < 0);
        assert_string_equal(cor_status_message(&again.status),
                            "resourceVersion should not be set on objects to be created");
        assert_int_equal(again.status.code, 500);
    }
    conf_close(&c);
}

/* RunTestCreate: what is stored has neither a resourceVersion nor a selfLink. */
TEST(conformance, create_stores_no_resource_version_and_no_self_link)
{
    struct conf c;

    conf_open(&c);
    {
        CONF_REPLY made = conf_create(
            &c, "/pods/ns/foo",
            conf_object("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"foo\","
                        "\"resourceVersion\":\"7\",\"selfLink\":\"/x\"}}"),
            0);
        CONF_REPLY got = conf_get(&c, "/pods/ns/foo", "", false);

        assert_int_equal(made.err, 0);
        assert_non_null(got.object);
        assert_null(strstr(got.object->bytes, "selfLink"));
        assert_null(strstr(got.object->bytes, "\"7\""));
    }
    conf_close(&c);
}

/* RunTestCreateWithTTL */
TEST(conformance, create_with_ttl_ends_in_a_deleted_event)
{
    static struct conf_watch w;
    struct conf c;

    conf_open(&c);
    {
        CONF_REPLY made = conf_create(&c, "/pods/ns/foo", conf_pod("ns", "foo", NULL), 1);
        struct cor_store_watch_opts opts = {0};

        assert_int_equal(made.err, 0);
        opts.options.resource_version = cor_strz(conf_rv(made.object->rev));
        conf_watch_open(&c, &w, "/pods/ns/foo", &opts);
        conf_watch_expect(&w, COR_WATCH_DELETED, "foo", 0);
        assert_true(w.events[0].rev > made.object->rev);
        conf_watch_close(&w);
    }
    conf_close(&c);
}

/* RunTestCreateWithKeyExist */
TEST(conformance, create_with_key_exist_is_refused)
{
    struct conf c;

    conf_open(&c);
    {
        CONF_REPLY made = conf_create(&c, "/pods/ns/foo", conf_pod("ns", "foo", NULL), 0);
        CONF_REPLY again = conf_create(&c, "/pods/ns/foo", conf_pod("ns", "foo", "n"), 0);
        CONF_REPLY got = conf_get(&c, "/pods/ns/foo", "", false);

        assert_int_equal(made.err, 0);
        assert_int_equal(again.err, -COR_EEXIST);
        assert_string_equal(cor_status_message(&again.status),
                            "StorageError: key exists, Code: 2, Key: /registry/pods/ns/foo, "
                            "ResourceVersion: 0, AdditionalErrorMsg: <nil>");
        assert_object_rv(got.object, made.object->rev);
    }
    conf_close(&c);
}

static void expect_key_error(struct conf *c, const char *key, const char *message)
{
    struct cor_store_list_opts list = {.options.recursive = true};
    struct cor_store_update_opts update = {0};
    struct cor_store_watch_opts watch = {.options.recursive = true};
    struct cor_store_watch *w;
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    CONF_REPLY created = conf_create(c, key, conf_pod("ns", "foo", NULL), 0);
    CONF_REPLY got = conf_get(c, key, "", false);
    CONF_REPLY updated = conf_update(c, key, &update);
    CONF_REPLY deleted = conf_delete(c, key, NULL);
    CONF_LIST listed = conf_list(c, key, &list);

    assert_string_equal(cor_status_message(&created.status), message);
    assert_string_equal(cor_status_message(&got.status), message);
    assert_string_equal(cor_status_message(&updated.status), message);
    assert_string_equal(cor_status_message(&deleted.status), message);
    assert_string_equal(cor_status_message(&listed.status), message);
    assert_true(cor_store_watch_open(c->store, cor_strz(key), &watch, &w, &status) < 0);
    assert_string_equal(cor_status_message(&status), message);
}

/* TestInvalidKeys, TestValidateKey */
TEST(conformance, invalid_keys_are_refused_by_every_operation)
{
    struct conf c;

    conf_open(&c);
    expect_key_error(&c, "/pods/../secrets/a", "invalid key: \"/pods/../secrets/a\"");
    expect_key_error(&c, "..", "invalid key: \"..\"");
    expect_key_error(&c, "../a", "invalid key: \"../a\"");
    expect_key_error(&c, "/pods/..", "invalid key: \"/pods/..\"");
    expect_key_error(&c, ".", "invalid key: \".\"");
    expect_key_error(&c, "./a", "invalid key: \"./a\"");
    expect_key_error(&c, "/pods/./a", "invalid key: \"/pods/./a\"");
    expect_key_error(&c, "/pods/.", "invalid key: \"/pods/.\"");
    expect_key_error(&c, "", "empty key: \"\"");
    expect_key_error(&c, "/", "empty key: \"/\"");
    conf_close(&c);
}

/* TestPrefix */
TEST(conformance, path_prefix_is_normalised)
{
    static const char *const same[] = {"custom/prefix", "/custom//prefix//", "/custom/prefix"};
    struct conf c;

    conf_open_store(&c);
    for (size_t i = 0; i < COR_ARRAY_LEN(same); i++) {
        struct cor_store *plain = c.store;

        c.store = conf_store(&c, same[i], "/pods");
        {
            CONF_REPLY got = conf_get(&c, "/pods/a", "", false);

            assert_string_equal(cor_status_message(&got.status),
                                "StorageError: key not found, Code: 1, Key: /custom/prefix/pods/a, "
                                "ResourceVersion: 0, AdditionalErrorMsg: <nil>");
        }
        cor_store_free(c.store);
        c.store = plain;
    }
    conf_close(&c);
}

TEST(conformance, resource_prefix_is_checked)
{
    static const struct {
        const char *prefix, *message;
    } bad[] = {{"", "resourcePrefix cannot be empty"},
               {"/", "resourcePrefix cannot be /"},
               {"pods", "resourcePrefix needs to start from /"}};
    struct cor_store *store;

    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++) {
        COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
        struct cor_store_opts opts = {.resource_prefix = bad[i].prefix};

        assert_int_equal(cor_store_new(&opts, &store, &status), -COR_EINVAL);
        assert_string_equal(cor_status_message(&status), bad[i].message);
    }
}
