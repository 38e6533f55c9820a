#include "conformance.h"

#define KEY "/pods/ns/foo"

static struct cor_object *put_foo(struct conf *c, const char *node)
{
    return conf_put_pod(c, "ns", "foo", node);
}

/* RunTestUnconditionalDelete */
TEST(conformance, unconditional_delete_returns_the_content_at_a_new_revision)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *made = put_foo(&c, "n1");
        CONF_REPLY deleted = conf_delete(&c, KEY, NULL);
        CONF_REPLY got = conf_get(&c, KEY, "", false);
        CONF_REPLY missing = conf_delete(&c, "/pods/ns/non-existing", NULL);

        assert_int_equal(deleted.err, 0);
        assert_true(deleted.object->rev > made->rev);
        assert_true(cor_object_same_stored(deleted.object, made));
        assert_int_equal(got.err, -COR_ENOTFOUND);
        assert_int_equal(missing.err, -COR_ENOTFOUND);
        cor_object_unref(made);
    }
    conf_close(&c);
}

/* RunTestConditionalDelete */
TEST(conformance, conditional_delete_checks_the_uid)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *made = put_foo(&c, NULL);
        struct cor_store_delete_opts wrong = {.preconditions.uid = COR_STR("other")};
        struct cor_store_delete_opts right = {.preconditions.uid = COR_STR("foo-uid")};
        CONF_REPLY refused = conf_delete(&c, KEY, &wrong);
        CONF_REPLY got = conf_get(&c, KEY, "", false);
        CONF_REPLY deleted = conf_delete(&c, KEY, &right);

        assert_int_equal(refused.err, -COR_EPRECONDITION);
        assert_string_equal(
            cor_status_message(&refused.status),
            "StorageError: invalid object, Code: 4, Key: /registry/pods/ns/foo, ResourceVersion: 0, "
            "AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object "
            "meta: foo-uid");
        assert_object_rv(got.object, made->rev);
        assert_int_equal(deleted.err, 0);
        cor_object_unref(made);
    }
    conf_close(&c);
}

TEST(conformance, conditional_delete_checks_the_resource_version)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *made = put_foo(&c, NULL);
        struct cor_store_delete_opts wrong = {.preconditions.resource_version = COR_STR("1")};
        struct cor_store_delete_opts right = {.preconditions.resource_version =
                                                  cor_object_resource_version(made)};
        CONF_REPLY refused = conf_delete(&c, KEY, &wrong);
        CONF_REPLY deleted = conf_delete(&c, KEY, &right);

        assert_int_equal(refused.err, -COR_EPRECONDITION);
        assert_non_null(strstr(cor_status_message(&refused.status),
                               "Precondition failed: ResourceVersion in precondition: 1, "
                               "ResourceVersion in object meta: "));
        assert_int_equal(deleted.err, 0);
        cor_object_unref(made);
    }
    conf_close(&c);
}

/* RunTestDeleteWithSuggestion */
TEST(conformance, delete_with_suggestion_works)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *made = put_foo(&c, NULL);
        struct cor_store_delete_opts opts = {.suggestion = made};
        CONF_REPLY deleted = conf_delete(&c, KEY, &opts);
        CONF_REPLY got = conf_get(&c, KEY, "", false);

        assert_int_equal(deleted.err, 0);
        assert_int_equal(got.err, -COR_ENOTFOUND);
        cor_object_unref(made);
    }
    conf_close(&c);
}

/* RunTestDeleteWithSuggestionAndConflict */
TEST(conformance, delete_with_suggestion_and_conflict_returns_the_latest_content)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *old = put_foo(&c, "old");
        struct cor_object *new = put_foo(&c, "new");
        struct cor_store_delete_opts opts = {.suggestion = old};
        CONF_REPLY deleted = conf_delete(&c, KEY, &opts);

        assert_int_equal(deleted.err, 0);
        assert_true(cor_object_same_stored(deleted.object, new));
        assert_true(deleted.object->rev > new->rev);
        cor_object_unref(old);
        cor_object_unref(new);
    }
    conf_close(&c);
}

/* RunTestDeleteWithSuggestionOfDeletedObject */
TEST(conformance, delete_with_suggestion_of_deleted_object_is_not_found)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *made = put_foo(&c, NULL);
        struct cor_object *gone = conf_remove(&c, KEY);
        struct cor_store_delete_opts opts = {.suggestion = made};
        CONF_REPLY deleted = conf_delete(&c, KEY, &opts);

        assert_int_equal(deleted.err, -COR_ENOTFOUND);
        cor_object_unref(made);
        cor_object_unref(gone);
    }
    conf_close(&c);
}

/* A step that lets another write land before it accepts, the first time. */
struct meddler {
    struct conf *c;
    int calls;
    struct cor_store_change *change;
    struct cor_object *object;
};

static void meddle_write(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    cor_store_change_write(change, cor_object_ref(((struct meddler *)arg)->object), 0);
}

static void meddle_done(void *arg, const struct cor_store_reply *reply)
{
    assert_int_equal(reply->err, 0);
    cor_store_change_accept(((struct meddler *)arg)->change);
}

static void meddle(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct meddler *m = arg;
    struct cor_store_update_opts opts = {.step = meddle_write, .on_done = meddle_done, .arg = m};

    if (m->calls++ > 0) {
        cor_store_change_accept(change);
        return;
    }
    m->change = change;
    assert_int_equal(cor_store_update(m->c->store, COR_STR(KEY), &opts, NULL), 0);
}

/* RunTestDeleteWithConflict */
TEST(conformance, delete_with_conflict_validates_twice_and_returns_the_updated_object)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *made = put_foo(&c, "old");
        struct meddler m = {.c = &c, .object = conf_pod("ns", "foo", "new")};
        struct cor_store_delete_opts opts = {.step = meddle, .arg = &m};
        CONF_REPLY deleted = conf_delete(&c, KEY, &opts);

        assert_int_equal(deleted.err, 0);
        assert_int_equal(m.calls, 2);
        assert_true(cor_object_same_stored(deleted.object, m.object));
        cor_object_unref(made);
        cor_object_unref(m.object);
    }
    conf_close(&c);
}

/* Accepts only objects on the node it names. */
struct validator {
    const char *node;
    int calls;
};

static void validate(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct validator *v = arg;
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};

    v->calls++;
    if (strstr(current->bytes, v->node)) {
        cor_store_change_accept(change);
        return;
    }
    cor_status_set(&status, -COR_EINVAL, "validation failure");
    cor_store_change_refuse(change, -COR_EINVAL, &status);
}

/* RunTestValidateDeletionWithSuggestion */
TEST(conformance, validate_deletion_with_suggestion_runs_again_on_the_live_object)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *old = put_foo(&c, "old");
        struct validator never = {"nowhere", 0}, new_only = {"new", 0};
        struct cor_store_delete_opts refused_opts = {
            .suggestion = old, .step = validate, .arg = &never};
        struct cor_store_delete_opts opts = {.suggestion = old, .step = validate, .arg = &new_only};
        CONF_REPLY refused = conf_delete(&c, KEY, &refused_opts);
        struct cor_object *new = put_foo(&c, "new");
        CONF_REPLY deleted = conf_delete(&c, KEY, &opts);

        assert_int_equal(refused.err, -COR_EINVAL);
        assert_string_equal(cor_status_message(&refused.status), "validation failure");
        assert_int_equal(never.calls, 1);
        assert_int_equal(deleted.err, 0);
        assert_int_equal(new_only.calls, 2);
        cor_object_unref(old);
        cor_object_unref(new);
    }
    conf_close(&c);
}

/* RunTestValidateDeletionWithOnlySuggestionValid */
TEST(conformance, validate_deletion_with_only_suggestion_valid_fails)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *old = put_foo(&c, "old");
        struct cor_object *new = put_foo(&c, "new");
        struct validator v = {"old", 0};
        struct cor_store_delete_opts opts = {.suggestion = old, .step = validate, .arg = &v};
        CONF_REPLY refused = conf_delete(&c, KEY, &opts);
        CONF_REPLY got = conf_get(&c, KEY, "", false);

        assert_int_equal(refused.err, -COR_EINVAL);
        assert_int_equal(v.calls, 2);
        assert_object_rv(got.object, new->rev);
        cor_object_unref(old);
        cor_object_unref(new);
    }
    conf_close(&c);
}

/* RunTestPreconditionalDeleteWithSuggestion */
TEST(conformance, preconditional_delete_with_suggestion_is_judged_by_the_live_object)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *old = put_foo(&c, "old");
        struct cor_object *new = put_foo(&c, "new");
        struct cor_store_delete_opts opts = {
            .suggestion = old, .preconditions.resource_version = cor_object_resource_version(new)};
        CONF_REPLY deleted = conf_delete(&c, KEY, &opts);

        assert_int_equal(deleted.err, 0);
        assert_true(cor_object_same_stored(deleted.object, new));
        cor_object_unref(old);
        cor_object_unref(new);
    }
    conf_close(&c);
}

/* RunTestPreconditionalDeleteWithOnlySuggestionPass */
TEST(conformance, preconditional_delete_with_only_suggestion_pass_fails)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *old = put_foo(&c, "old");
        struct cor_object *new = put_foo(&c, "new");
        struct cor_store_delete_opts opts = {
            .suggestion = old, .preconditions.resource_version = cor_object_resource_version(old)};
        CONF_REPLY refused = conf_delete(&c, KEY, &opts);
        CONF_REPLY got = conf_get(&c, KEY, "", false);

        assert_int_equal(refused.err, -COR_EPRECONDITION);
        assert_object_rv(got.object, new->rev);
        cor_object_unref(old);
        cor_object_unref(new);
    }
    conf_close(&c);
}

/* RunTestDeleteExpectedTransformOrDecodeError,
 * RunTestDeleteWithSuggestionAndMissingExpectedTransformOrDecodeError */
TEST(conformance, unsafe_delete_removes_only_what_cannot_be_read)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *made = put_foo(&c, NULL);
        struct cor_store_delete_opts opts = {.unreadable = true, .suggestion = made};
        CONF_REPLY readable = conf_delete(&c, KEY, &opts);

        assert_int_equal(readable.err, -COR_EPRECONDITION);
        assert_non_null(
            strstr(cor_status_message(&readable.status),
                   "unsafe deletion is not allowed because the object is decodable from storage"));
        c.transformer.broken = true;
        {
            CONF_REPLY normal = conf_delete(&c, KEY, NULL);
            CONF_REPLY unsafe = conf_delete(&c, KEY, &opts);
            CONF_REPLY got = conf_get(&c, KEY, "", false);

            assert_int_equal(normal.err, -COR_EINTERNAL);
            assert_int_equal(unsafe.err, 0);
            assert_null(unsafe.object);
            assert_int_equal(got.err, -COR_ENOTFOUND);
        }
        cor_object_unref(made);
    }
    conf_close(&c);
}

/* RunTestDeleteWithConflictAndMissingExpectedTransformOrDecodeError: a write that lands meanwhile
 * makes the object readable again. */

static void heal(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct meddler *m = arg;

    assert_null(current);
    m->c->transformer.broken = false;
    meddle(arg, change, current);
}

TEST(conformance, unsafe_delete_stops_when_the_object_becomes_readable)
{
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *made = put_foo(&c, "old");
        struct meddler m = {.c = &c, .object = conf_pod("ns", "foo", "new")};
        struct cor_store_delete_opts opts = {.unreadable = true, .step = heal, .arg = &m};

        c.transformer.broken = true;
        {
            CONF_REPLY deleted = conf_delete(&c, KEY, &opts);

            assert_int_equal(deleted.err, -COR_EPRECONDITION);
            assert_int_equal(m.calls, 1);
        }
        cor_object_unref(made);
        cor_object_unref(m.object);
    }
    conf_close(&c);
}
