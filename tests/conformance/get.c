#include <stdio.h>

#include "conformance.h"

#define KEY "/pods/ns/foo"

/* RunTestGet */
TEST(conformance, get_returns_the_latest_state_for_every_resource_version_it_has_reached)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *first = conf_put_pod(&c, "ns", "foo", "a");
        struct cor_object *second = conf_put_pod(&c, "ns", "foo", "b");
        struct cor_object *other = conf_put_pod(&c, "ns", "bar", NULL);
        const char *rvs[] = {"", "0", conf_rv(first->rev), conf_rv(second->rev),
                             conf_rv(other->rev)};

        for (size_t i = 0; i < COR_ARRAY_LEN(rvs); i++) {
            CONF_REPLY got = conf_get(&c, KEY, rvs[i], false);

            assert_int_equal(got.err, 0);
            assert_object_rv(got.object, second->rev);
        }
        cor_object_unref(first);
        cor_object_unref(second);
        cor_object_unref(other);
    }
    conf_close(&c);
}

/* RunTestGet */
TEST(conformance, get_of_a_future_resource_version_is_too_large)
{
    struct conf c;

    conf_open_store(&c);
    {
        struct cor_object *made = conf_put_pod(&c, "ns", "foo", NULL);
        CONF_REPLY got = conf_get(&c, KEY, "9223372036854775807", false);
        char message[128];

        snprintf(message, sizeof(message),
                 "Timeout: Too large resource version: 9223372036854775807, current: %llu",
                 (unsigned long long)made->rev);
        assert_int_equal(got.err, -COR_EFUTURE);
        assert_int_equal(got.status.code, 504);
        assert_string_equal(got.status.reason, "Timeout");
        assert_string_equal(cor_status_message(&got.status), message);
        assert_int_equal(got.status.retry_after_s, 0);
        assert_int_equal(got.status.ncauses, 1);
        assert_string_equal(got.status.causes[0].type, "ResourceVersionTooLarge");
        cor_object_unref(made);
    }
    conf_close(&c);
}

/* The largest number that a client can say is no mark of the reader's own. */
TEST(conformance, get_of_the_largest_number_is_too_large)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *made = conf_put_pod(&c, "ns", "foo", NULL);
        CONF_REPLY got = conf_get(&c, KEY, "18446744073709551615", false);

        assert_int_equal(got.err, -COR_EFUTURE);
        assert_int_equal(got.status.code, 504);
        assert_non_null(
            strstr(cor_status_message(&got.status),
                   "Timeout: Too large resource version: 18446744073709551615, current: "));
        cor_object_unref(made);
    }
    conf_close(&c);
}

/* RunTestGet */
TEST(conformance, get_of_a_missing_key_is_not_found_unless_that_is_ignored)
{
    struct conf c;

    conf_open(&c);
    {
        CONF_REPLY missing = conf_get(&c, "/pods/ns/non-existing", "", false);
        CONF_REPLY ignored = conf_get(&c, "/pods/ns/non-existing", "", true);

        assert_int_equal(missing.err, -COR_ENOTFOUND);
        assert_string_equal(cor_status_message(&missing.status),
                            "StorageError: key not found, Code: 1, Key: "
                            "/registry/pods/ns/non-existing, ResourceVersion: 0, "
                            "AdditionalErrorMsg: <nil>");
        assert_int_equal(ignored.err, 0);
        assert_null(ignored.object);
    }
    conf_close(&c);
}

TEST(conformance, get_refuses_a_resource_version_that_is_no_number)
{
    struct conf c;

    conf_open_store(&c);
    {
        CONF_REPLY got = conf_get(&c, KEY, "abc", false);

        assert_int_equal(got.status.code, 400);
        assert_non_null(strstr(cor_status_message(&got.status), "invalid resource version: "));
    }
    conf_close(&c);
}

/* An object that is no JSON, or that the transformer refuses, is 500 and names its key. */
TEST(conformance, get_of_an_unreadable_object_names_its_key)
{
    struct conf c;

    conf_open(&c);
    conf_write_raw(&c, "/registry/pods/ns/junk", "junk");
    conf_write_raw(&c, "/registry/pods/ns/secret", "k8s:enc:aescbc:v1:key1:...");
    {
        CONF_REPLY junk = conf_get(&c, "/pods/ns/junk", "", false);
        CONF_REPLY secret = conf_get(&c, "/pods/ns/secret", "", false);

        assert_int_equal(junk.status.code, 500);
        assert_non_null(strstr(cor_status_message(&junk.status), "/registry/pods/ns/junk"));
        assert_int_equal(secret.status.code, 500);
        assert_string_equal(cor_status_message(&secret.status),
                            "unable to transform key \"/registry/pods/ns/secret\": identity "
                            "transformer tried to read encrypted data");
    }
    conf_close(&c);
}

/* RunTestTransformationFailure */
TEST(conformance, transformation_failure_is_an_internal_error_everywhere)
{
    struct conf c;

    conf_open_store(&c);
    {
        struct cor_object *good = conf_put_pod(&c, "ns", "good", NULL);
        struct cor_object *bad = conf_put_pod(&c, "ns", "bad", NULL);
        struct cor_store_list_opts opts = {.options.recursive = true};

        c.transformer.broken = true;
        c.transformer.broken_key = "/bad";
        {
            CONF_LIST list = conf_list(&c, "/pods", &opts);
            CONF_REPLY got = conf_get(&c, "/pods/ns/bad", "", false);
            CONF_REPLY fine = conf_get(&c, "/pods/ns/good", "", false);
            CONF_REPLY deleted = conf_delete(&c, "/pods/ns/bad", NULL);

            assert_int_equal(list.err, -COR_EINTERNAL);
            assert_string_equal(
                cor_status_message(&list.status),
                "unable to transform key \"/registry/pods/ns/bad\": this value is broken");
            assert_int_equal(list.status.code, 500);
            assert_int_equal(got.err, -COR_EINTERNAL);
            assert_int_equal(fine.err, 0);
            assert_int_equal(deleted.err, -COR_EINTERNAL);
        }
        cor_object_unref(good);
        cor_object_unref(bad);
    }
    conf_close(&c);
}

/* TestGetCurrentResourceVersion */
TEST(conformance, current_revision_follows_every_write_of_the_store)
{
    struct conf c;

    conf_open(&c);
    {
        cor_rev before = conf_revision(&c);
        struct cor_object *made = conf_put_pod(&c, "ns", "foo", NULL);

        assert_true(before > 0);
        assert_int_equal(made->rev, before + 1);
        assert_int_equal(conf_revision(&c), made->rev);
        assert_int_equal(conf_bump(&c), made->rev + 1);
        assert_int_equal(conf_revision(&c), made->rev + 1);
        cor_object_unref(made);
    }
    conf_close(&c);
}

struct stats {
    bool done;
    uint64_t count, average;
};

static void on_stats(void *arg, const struct cor_store_stats *from)
{
    struct stats *s = arg;

    assert_int_equal(from->err, 0);
    *s = (struct stats){true, from->count, from->average_bytes};
}

static struct stats stats(struct conf *c)
{
    struct stats s = {0};

    assert_int_equal(cor_store_stats(c->store, on_stats, &s, NULL), 0);
    conf_wait(c, &s.done);
    return s;
}

static uint64_t count(struct conf *c, const char *key)
{
    struct stats s = {0};

    assert_int_equal(cor_store_count(c->store, cor_strz(key), on_stats, &s, NULL), 0);
    conf_wait(c, &s.done);
    assert_int_equal(s.average, 0);
    return s.count;
}

/* Of the value in the engine: encryption adds a prefix, a nonce and a tag. */
static uint64_t stored_size(const struct conf *c, const struct cor_object *object)
{
    size_t more = c->transformer.encryption ? strlen("k8s:enc:aesgcm:v1:key1:") + 12 + 16 : 0;

    return object->len - object->rv_len + more;
}

/* RunTestStats, TestPrefixStats */
TEST(conformance, stats_follow_creates_updates_and_deletes)
{
    struct conf c;

    conf_open(&c);
    {
        struct stats s = stats(&c);
        struct cor_object *foo, *bar, *wide, *gone;

        assert_int_equal(s.count, 0);
        assert_int_equal(s.average, 0);
        foo = conf_put_pod(&c, "ns", "foo", NULL);
        s = stats(&c);
        assert_int_equal(s.count, 1);
        assert_int_equal(s.average, stored_size(&c, foo));
        bar = conf_put_pod(&c, "other", "bar-with-a-longer-name", NULL);
        s = stats(&c);
        assert_int_equal(s.count, 2);
        assert_int_equal(s.average, (stored_size(&c, foo) + stored_size(&c, bar)) / 2);
        wide = conf_put_pod(&c, "ns", "foo", "a-node-with-a-long-name");
        s = stats(&c);
        assert_int_equal(s.average, (stored_size(&c, wide) + stored_size(&c, bar)) / 2);
        conf_write_raw(&c, "/registry/podsies/a", "{}");
        assert_int_equal(stats(&c).count, 2);
        assert_int_equal(count(&c, "/pods/ns"), 1);
        assert_int_equal(count(&c, "/pods"), 2);
        {
            struct cor_store_delete_opts opts = {.preconditions.uid = COR_STR("other")};
            CONF_REPLY refused = conf_delete(&c, KEY, &opts);

            assert_true(refused.err < 0);
            assert_int_equal(stats(&c).count, 2);
        }
        gone = conf_remove(&c, KEY);
        s = stats(&c);
        assert_int_equal(s.count, 1);
        assert_int_equal(s.average, stored_size(&c, bar));
        cor_object_unref(foo);
        cor_object_unref(bar);
        cor_object_unref(wide);
        cor_object_unref(gone);
    }
    conf_close(&c);
}

/* TestLinearizedReadRevisionInvariant */
TEST(conformance, a_read_sees_every_write_that_was_answered_before_it)
{
    struct conf c;

    conf_open(&c);
    for (int i = 0; i < 20; i++) {
        struct cor_object *made = conf_put_pod(&c, "ns", "foo", i % 2 ? "a" : "b");
        CONF_REPLY got = conf_get(&c, KEY, "", false);

        assert_object_rv(got.object, made->rev);
        assert_true(conf_revision(&c) >= made->rev);
        cor_object_unref(made);
    }
    conf_close(&c);
}
