/* What holds for every type of the tables, tried with random objects of each: the forms of an
 * object say the same, a walk that has run once changes nothing the second time, and a patch with
 * the object itself changes nothing. A failure prints the seed (COR_TEST_SEED). */
#include "../random_object.h"
#include "base/err.h"
#include "codec/yaml.h"
#include "schema/merge/strategic_merge.h"
#include "schema/protobuf/protobuf.h"
#include "schema/walk/default.h"
#include "schema/walk/normalize.h"
#include "schema/walk/rewrite.h"
#include "test.h"
#include "json/patch/patch.h"

#define OBJECT_MAX (8u << 20)

static const struct cor_json_limits limits = {OBJECT_MAX, COR_JSON_DEPTH_MAX, false};

typedef void (*check_fn)(const struct cor_type *type, enum random_form form);

/* The canonical form puts kind and apiVersion first, which only a kind has as its own; another
 * struct with such a member (OwnerReference) is met inside of kinds. */
static bool can_be_outermost(const struct cor_type *type)
{
    struct cor_member m;

    return cor_type_shape(type) == COR_SHAPE_STRUCT &&
           (cor_type_is(type, COR_TYPE_KIND) ||
            (!cor_type_find_member(type, COR_STR("kind"), &m) &&
             !cor_type_find_member(type, COR_STR("apiVersion"), &m)));
}

/* Calls `check` with each struct of the tables, and with both forms of objects. */
static void for_each_struct(check_fn check)
{
    for (size_t i = 0; i < cor_types_count(); i++) {
        const struct cor_type *type = cor_type_at(i);

        if (!can_be_outermost(type))
            continue;
        check(type, RANDOM_FULL);
        check(type, RANDOM_LOOSE);
    }
}

/* Both texts end with a NUL. */
static void expect_same(const struct cor_type *type, const char *what, struct cor_str got,
                        struct cor_str want)
{
    size_t i = 0;

    if (cor_str_eq(got, want))
        return;
    while (i < got.n && i < want.n && got.p[i] == want.p[i])
        i++;
    i -= i > 80 ? 80 : i;
    fail_msg("%.*s, %s: got  …%.240s\nwant …%.240s", (int)cor_type_go_name(type).n,
             cor_type_go_name(type).p, what, got.p + i, want.p + i);
}

/* Appends `json` in canonical form. Raw values, whose bytes are kept, are canonical then, too. */
static void canonicalize(struct cor_str json, struct cor_buf *out)
{
    cor_buf_init(out, OBJECT_MAX);
    assert_int_equal(cor_json_canonicalize(json, &limits, out, NULL, NULL), 0);
    cor_buf_z(out);
}

/* Initialises `out` with a random object in canonical form. */
static void make_object(const struct cor_type *type, enum random_form form, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = OBJECT_MAX};

    random_object(type, form, &json);
    canonicalize(cor_buf_str(&json), out);
}

/* Replaces `object` by what `walk` makes of it, and expects that the walk then changes nothing. */
static void settle(const struct cor_type *type, const char *name,
                   int (*walk)(const struct cor_type *, struct cor_str, struct cor_buf *),
                   struct cor_buf *object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf once = {.max = OBJECT_MAX}, twice = {0}, again = {0};
    int r = walk(type, cor_buf_str(object), &once);

    assert_uint_in_range(r, 0, 1);
    if (r == 1) {
        cor_buf_deinit(object);
        canonicalize(cor_buf_str(&once), object);
    }
    cor_buf_init(&twice, OBJECT_MAX);
    r = walk(type, cor_buf_str(object), &twice);
    assert_uint_in_range(r, 0, 1);
    /* Escapes inside of raw values are all that may differ. */
    if (r == 1) {
        canonicalize(cor_buf_str(&twice), &again);
        expect_same(type, name, cor_buf_str(&again), cor_buf_str(object));
    }
}

static void normalize_twice(const struct cor_type *type, enum random_form form)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf object = {0};

    make_object(type, form, &object);
    settle(type, "normalised twice", cor_normalize, &object);
}

TEST(random, an_object_that_is_normal_stays_as_it_is)
{
    for_each_struct(normalize_twice);
}

static void default_twice(const struct cor_type *type, enum random_form form)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf object = {0};

    if (!cor_type_is(type, COR_TYPE_KIND))
        return;
    make_object(type, form, &object);
    settle(type, "normalised", cor_normalize, &object);
    if (cor_type_is(type, COR_TYPE_DEFAULTS))
        settle(type, "defaulted twice", cor_default, &object);
    settle(type, "normalised after defaulting", cor_normalize, &object);
    settle(type, "rewritten", cor_rewrite, &object);
}

TEST(random, an_object_with_its_defaults_stays_as_it_is)
{
    for_each_struct(default_twice);
}

static void through_yaml(const struct cor_type *type, enum random_form form)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf object = {0}, yaml = {.max = OBJECT_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = OBJECT_MAX}, got = {0};

    make_object(type, form, &object);
    assert_int_equal(cor_yaml_from_json(cor_buf_str(&object), &yaml), 0);
    assert_int_equal(cor_yaml_to_json(cor_buf_str(&yaml), &json, NULL, NULL), 0);
    canonicalize(cor_buf_str(&json), &got);
    expect_same(type, "YAML", cor_buf_str(&got), cor_buf_str(&object));
}

TEST(random, an_object_is_the_same_after_a_trip_through_yaml)
{
    for_each_struct(through_yaml);
}

/* Upstream declares no protobuf for a few types (Table); their fields have no numbers. TypeMeta,
 * which is inlined, is in the envelope. */
static bool is_in_protobuf(const struct cor_type *type)
{
    for (size_t i = 0; i < cor_type_nfields(type); i++) {
        const struct cor_type_field *field = cor_type_field(type, i);

        if (cor_type_field_number(field) == 0 && !cor_type_field_is(field, COR_FIELD_INLINE))
            return false;
    }
    return true;
}

static void through_protobuf(const struct cor_type *type, enum random_form form)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf object = {0}, wire = {.max = OBJECT_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = OBJECT_MAX}, got = {0};
    struct cor_pb_error why = {.message = ""};
    struct cor_protobuf opened;

    if (!is_in_protobuf(type))
        return;
    make_object(type, form, &object);
    settle(type, "normalised", cor_normalize, &object);
    if (cor_protobuf_from_json(COR_STR("a/v1"), COR_STR("K"), type, cor_buf_str(&object), &wire,
                               &why) < 0)
        fail_msg("%.*s: %s", (int)cor_type_go_name(type).n, cor_type_go_name(type).p, why.message);
    assert_int_equal(cor_protobuf_open(cor_buf_str(&wire), &opened, &why), 0);
    opened.api_version = opened.kind = COR_STR("");
    if (cor_protobuf_to_json(&opened, type, &json, &why) < 0)
        fail_msg("%.*s: %s", (int)cor_type_go_name(type).n, cor_type_go_name(type).p, why.message);
    canonicalize(cor_buf_str(&json), &got);
    expect_same(type, "protobuf", cor_buf_str(&got), cor_buf_str(&object));
}

TEST(random, a_normal_object_is_the_same_after_a_trip_through_protobuf)
{
    for_each_struct(through_protobuf);
}

static void patch_with_itself(const struct cor_type *type, enum random_form form)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf object = {0}, merged = {.max = OBJECT_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf strategic = {.max = OBJECT_MAX}, got = {0};

    if (!cor_type_is(type, COR_TYPE_KIND))
        return;
    make_object(type, form, &object);
    settle(type, "rewritten", cor_rewrite, &object);
    assert_int_equal(cor_json_merge_patch(cor_buf_str(&object), cor_buf_str(&object), &limits,
                                          &merged, NULL, NULL),
                     0);
    /* Null removes a member; Go writes it again. */
    settle(type, "merge patch", cor_rewrite, &merged);
    expect_same(type, "merge patch", cor_buf_str(&merged), cor_buf_str(&object));
    assert_int_equal(cor_strategic_merge(cor_buf_str(&object), cor_buf_str(&object), type, &limits,
                                         &strategic, NULL, NULL),
                     0);
    canonicalize(cor_buf_str(&strategic), &got);
    settle(type, "strategic patch", cor_rewrite, &got);
    expect_same(type, "strategic patch", cor_buf_str(&got), cor_buf_str(&object));
}

TEST(random, a_patch_with_the_object_itself_changes_nothing)
{
    for_each_struct(patch_with_itself);
}
