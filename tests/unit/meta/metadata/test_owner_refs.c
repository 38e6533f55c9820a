#include "base/err.h"
#include "coracle/metadata.h"
#include "meta/object/object.h"
#include "test.h"

static struct cor_object *object_of(const char *json)
{
    struct cor_object *object = NULL;

    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    return object;
}

#define SITE                                                                                       \
    "{\"kind\":\"Site\",\"apiVersion\":\"example.com/v1\",\"metadata\":{\"name\":\"s\","           \
    "\"namespace\":\"n\",\"uid\":\"u-1\"}}"
#define SITE_AGAIN                                                                                 \
    "{\"kind\":\"Site\",\"apiVersion\":\"example.com/v2\",\"metadata\":{\"name\":\"s\","           \
    "\"namespace\":\"n\",\"uid\":\"u-2\"}}"
#define OTHER                                                                                      \
    "{\"kind\":\"Other\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"o\",\"uid\":\"u-3\"}}"
#define CHILD "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"}}"

typedef int (*owner_fn)(struct cor_builder *b, const struct cor_object *owner);

/* Applies `fn` with `owner` to `child`: the result is `json`, or the refusal when `r` is negative.
 */
static void expect_edit(owner_fn fn, const char *owner, const char *child, int r, const char *text)
{
    struct cor_object *of = object_of(owner), *before = object_of(child), *after = NULL;
    struct cor_status why = {0};
    struct cor_builder *b = NULL;

    assert_int_equal(cor_builder_new(before, &b), 0);
    assert_int_equal(fn(b, of), r);
    if (r < 0)
        assert_int_equal(fn(b, of), r); /* the builder remembers it */
    assert_int_equal(cor_builder_finish(b, &after, &why), r < 0 ? r : 0);
    if (r < 0)
        assert_string_equal(cor_status_message(&why), text);
    else
        assert_string_equal(cor_object_json(after).p, text);
    cor_status_deinit(&why);
    cor_object_unref(after);
    cor_builder_free(b);
    cor_object_unref(before);
    cor_object_unref(of);
}

#define WITH(refs)                                                                                 \
    "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\","                    \
    "\"ownerReferences\":[" refs "]}}"
#define SITE_CONTROLS                                                                              \
    "{\"apiVersion\":\"example.com/v1\",\"blockOwnerDeletion\":true,\"controller\":true,"          \
    "\"kind\":\"Site\",\"name\":\"s\",\"uid\":\"u-1\"}"
#define SITE_OWNS                                                                                  \
    "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Site\",\"name\":\"s\",\"uid\":\"u-1\"}"
#define SITE_AGAIN_CONTROLS                                                                        \
    "{\"apiVersion\":\"example.com/v2\",\"blockOwnerDeletion\":true,\"controller\":true,"          \
    "\"kind\":\"Site\",\"name\":\"s\",\"uid\":\"u-2\"}"
#define OTHER_OWNS "{\"apiVersion\":\"v1\",\"kind\":\"Other\",\"name\":\"o\",\"uid\":\"u-3\"}"
#define OTHER_CONTROLS                                                                             \
    "{\"apiVersion\":\"v1\",\"blockOwnerDeletion\":true,\"controller\":true,\"kind\":\"Other\","   \
    "\"name\":\"o\",\"uid\":\"u-3\"}"

/* Contract controllers 6.9.1 */
TEST(owner_refs, the_controller_is_added_and_replaced_in_place)
{
    expect_edit(cor_builder_set_controller, SITE, CHILD, 1, WITH(SITE_CONTROLS));
    expect_edit(cor_builder_set_controller, SITE, WITH(SITE_CONTROLS), 0, WITH(SITE_CONTROLS));
    expect_edit(cor_builder_set_controller, SITE_AGAIN, WITH(SITE_CONTROLS "," OTHER_OWNS), 1,
                WITH(SITE_AGAIN_CONTROLS "," OTHER_OWNS));
    expect_edit(cor_builder_set_controller, SITE, WITH(OTHER_OWNS "," SITE_OWNS), 1,
                WITH(OTHER_OWNS "," SITE_CONTROLS));
    /* An owner without a namespace may own anything. */
    expect_edit(cor_builder_set_controller, OTHER, CHILD, 1, WITH(OTHER_CONTROLS));
}

/* Contract controllers 6.9.2 */
TEST(owner_refs, an_owner_is_neither_controller_nor_blocks)
{
    expect_edit(cor_builder_set_owner, SITE, CHILD, 1, WITH(SITE_OWNS));
    expect_edit(cor_builder_set_owner, SITE, WITH(SITE_OWNS), 0, WITH(SITE_OWNS));
    expect_edit(cor_builder_set_owner, SITE, WITH(OTHER_CONTROLS), 1,
                WITH(OTHER_CONTROLS "," SITE_OWNS));
    expect_edit(cor_builder_set_owner, SITE, WITH(SITE_CONTROLS), 1, WITH(SITE_OWNS));
}

TEST(owner_refs, owners_that_may_not_own_are_refused)
{
    static const owner_fn fns[] = {cor_builder_set_controller, cor_builder_set_owner};

    for (size_t i = 0; i < 2; i++) {
        expect_edit(fns[i], SITE, "{\"metadata\":{\"name\":\"c\"}}", -COR_EINVAL,
                    "cluster-scoped resource must not have a namespace-scoped owner, owner's "
                    "namespace n");
        expect_edit(fns[i], SITE, "{\"metadata\":{\"name\":\"c\",\"namespace\":\"m\"}}",
                    -COR_EINVAL,
                    "cross-namespace owner references are disallowed, owner's namespace n, obj's "
                    "namespace m");
        expect_edit(fns[i], "{\"kind\":\"A\"}", CHILD, -COR_EINVAL, "the owner has no apiVersion");
        expect_edit(fns[i], "{\"apiVersion\":\"v1\"}", CHILD, -COR_EINVAL, "the owner has no kind");
        expect_edit(fns[i], "{\"apiVersion\":\"v1\",\"kind\":\"A\"}", CHILD, -COR_EINVAL,
                    "the owner has no metadata.name");
        expect_edit(fns[i], "{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{\"name\":\"a\"}}",
                    CHILD, -COR_EINVAL, "the owner has no metadata.uid");
    }
    expect_edit(cor_builder_set_controller, SITE, WITH(OTHER_CONTROLS), -COR_EPRECONDITION,
                "Object n/c is already owned by another Other controller o");
    expect_edit(cor_builder_set_owner, SITE,
                "{\"metadata\":{\"namespace\":\"n\",\"ownerReferences\":{}}}", -COR_EINVAL,
                "metadata.ownerReferences: the value is not an array");
}

TEST(owner_refs, removing_says_what_is_not_there)
{
    expect_edit(cor_builder_remove_owner, SITE, WITH(OTHER_OWNS "," SITE_OWNS), 1,
                WITH(OTHER_OWNS));
    expect_edit(cor_builder_remove_owner, SITE_AGAIN, WITH(SITE_OWNS), 1, CHILD);
    expect_edit(cor_builder_remove_owner, SITE, CHILD, -COR_ENOTFOUND,
                "ConfigMap does not have any owner references");
    expect_edit(cor_builder_remove_owner, SITE, WITH(OTHER_OWNS), -COR_ENOTFOUND,
                "ConfigMap does not have an owner reference for Site");
    expect_edit(cor_builder_remove_owner, "{}", "{}", -COR_ENOTFOUND,
                "object does not have any owner references");
    expect_edit(cor_builder_remove_controller, SITE, WITH(SITE_CONTROLS), 1, CHILD);
    expect_edit(cor_builder_remove_controller, SITE, WITH(SITE_OWNS), -COR_ENOTFOUND,
                "ConfigMap does not have a owner reference with controller equals true");
    expect_edit(cor_builder_remove_controller, SITE, WITH(OTHER_CONTROLS), -COR_ENOTFOUND,
                "ConfigMap does not have an controller reference for Site");
    expect_edit(cor_builder_remove_controller, SITE, WITH(OTHER_CONTROLS "," SITE_OWNS),
                -COR_ENOTFOUND, "Site owner is not the controller reference for ConfigMap");
}

TEST(owner_refs, owners_are_read_in_their_order)
{
    struct cor_object *child = object_of(WITH(OTHER_OWNS "," SITE_CONTROLS));
    struct cor_object *site = object_of(SITE), *again = object_of(SITE_AGAIN);
    struct cor_object *other = object_of(OTHER), *alone = object_of(CHILD);
    struct cor_owner_ref ref;

    assert_true(cor_object_owner(child, 0, &ref));
    assert_str(ref.kind, "Other");
    assert_false(ref.is_controller || ref.blocks_deletion);
    assert_true(cor_object_owner(child, 1, &ref));
    assert_str(ref.api_version, "example.com/v1");
    assert_str(ref.name, "s");
    assert_str(ref.uid, "u-1");
    assert_true(ref.is_controller && ref.blocks_deletion);
    assert_false(cor_object_owner(child, 2, &ref));
    assert_false(cor_object_owner(alone, 0, &ref));
    assert_true(cor_object_controller(child, &ref));
    assert_str(ref.kind, "Site");
    assert_false(cor_object_controller(alone, &ref));
    assert_true(cor_object_is_controlled_by(child, site));
    assert_false(cor_object_is_controlled_by(child, again)); /* by uid */
    assert_false(cor_object_is_controlled_by(child, other)); /* an owner, not the controller */
    assert_false(cor_object_is_controlled_by(alone, site));
    assert_true(cor_object_has_owner(child, again)); /* by group, kind and name */
    assert_true(cor_object_has_owner(child, other));
    assert_false(cor_object_has_owner(child, alone));
    cor_object_unref(child);
    cor_object_unref(site);
    cor_object_unref(again);
    cor_object_unref(other);
    cor_object_unref(alone);
}

TEST(owner_refs, survive_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object *site = NULL, *other = NULL, *child = NULL, *next = NULL;
        struct cor_builder *b = NULL;

        if (cor_object_from_json(cor_strz(SITE), &site, NULL) == 0 &&
            cor_object_from_json(cor_strz(OTHER), &other, NULL) == 0 &&
            cor_object_from_json(cor_strz(CHILD), &child, NULL) == 0 &&
            cor_builder_new(child, &b) == 0) {
            cor_builder_set_owner(b, other);
            cor_builder_set_controller(b, site);
            cor_builder_remove_owner(b, other);
            if (cor_builder_finish(b, &next, NULL) == 0) {
                assert_false(test_alloc_failed());
                assert_string_equal(cor_object_json(next).p, WITH(SITE_CONTROLS));
            }
        }
        cor_object_unref(next);
        cor_builder_free(b);
        cor_object_unref(child);
        cor_object_unref(other);
        cor_object_unref(site);
    }
}
