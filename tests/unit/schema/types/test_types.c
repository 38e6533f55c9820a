#include "meta/value/equality.h"
#include "schema/types/types.h"

#include "../rows.h"
#include "schema/kinds/resource_row.h"

static const struct cor_type_field *field_of(const char *type, const char *name)
{
    struct cor_member member;

    if (!cor_type_find_member(named(type), cor_strz(name), &member))
        fail_msg("%s has no field %s", type, name);
    return member.field;
}

#define assert_text(str, text)                                                                     \
    do {                                                                                           \
        struct cor_str got_ = (str);                                                               \
                                                                                                   \
        if (!cor_str_eqz(got_, (text)))                                                            \
            fail_msg("%.*s instead of %s", COR_STR_ARG(got_), (text));                             \
    } while (0)

TEST(types, describe_every_built_in_resource)
{
    size_t n;
    const struct cor_resource_row *rows = cor_api_builtins(&n);

    for (size_t i = 0; i < n; i++) {
        const struct cor_type *type =
            cor_type_of_kind(rows[i].group, rows[i].version, rows[i].kind);
        struct cor_member member;

        if (!type)
            fail_msg("%.*s of %.*s has no type", COR_STR_ARG(rows[i].kind),
                     COR_STR_ARG(rows[i].api_version));
        assert_true(cor_type_is(type, COR_TYPE_KIND));
        assert_true(cor_type_find_member(type, COR_STR("apiVersion"), &member));
        assert_ptr_equal(cor_type_field_type(member.via[0]), named("meta_v1.TypeMeta"));
    }
}

TEST(types, are_found_by_group_version_and_kind)
{
    assert_ptr_equal(cor_type_of_kind(COR_STR("apps"), COR_STR("v1"), COR_STR("Deployment")),
                     named("apps_v1.Deployment"));
    assert_ptr_equal(cor_type_of_kind(COR_STR(""), COR_STR("v1"), COR_STR("Pod")),
                     named("core_v1.Pod"));
    assert_null(cor_type_of_kind(COR_STR("apps"), COR_STR("v1"), COR_STR("Pod")));
    assert_null(cor_type_of_kind(COR_STR("apps"), COR_STR("v2"), COR_STR("Deployment")));
    /* A struct that is no kind. */
    assert_null(cor_type_of_kind(COR_STR("apps"), COR_STR("v1"), COR_STR("DeploymentSpec")));
    assert_null(cor_type_named(COR_STR("apps_v1.Frob")));
    assert_null(cor_type_named(COR_STR("frob_v1.Deployment")));
    assert_null(cor_type_named(COR_STR("Deployment")));
}

TEST(types, have_fields_in_the_order_of_declaration)
{
    const struct cor_type *owner = named("meta_v1.OwnerReference");

    assert_int_equal(cor_type_shape(owner), COR_SHAPE_STRUCT);
    assert_true(cor_type_is(owner, COR_TYPE_ATOMIC));
    assert_text(cor_type_field_name(cor_type_field(owner, 0)), "apiVersion");
    assert_int_equal(cor_type_field_number(cor_type_field(owner, 0)), 5);
    assert_text(cor_type_field_go_name(cor_type_field(owner, 0)), "APIVersion");
    assert_ptr_equal(cor_type_find_number(owner, 5), cor_type_field(owner, 0));
    assert_null(cor_type_find_number(owner, 2));
    assert_null(cor_type_find_number(named("meta_v1.Table"), 0));
}

TEST(types, have_members_in_the_order_of_their_names)
{
    for (size_t i = 0; i < cor_types_count(); i++) {
        const struct cor_type *type = cor_type_at(i);
        struct cor_member before, member;

        for (size_t m = 0; m < cor_type_nmembers(type); m++) {
            cor_type_member(type, m, &member);
            if (m > 0)
                assert_true(cor_str_cmp(cor_type_field_name(before.field),
                                        cor_type_field_name(member.field)) < 0);
            before = member;
            assert_true(cor_type_find_member(type, cor_type_field_name(member.field), &member));
            assert_ptr_equal(member.field, before.field);
        }
    }
}

TEST(types, show_the_members_of_inlined_structs)
{
    struct cor_member member;

    assert_true(cor_type_find_member(named("core_v1.Volume"), COR_STR("configMap"), &member));
    assert_text(cor_type_field_go_name(member.via[0]), "VolumeSource");
    assert_int_equal(cor_type_field_number(member.via[0]), 2);
    assert_true(cor_type_field_is(member.via[0], COR_FIELD_INLINE));
    assert_null(member.via[1]);
    /* Through two. */
    assert_true(cor_type_find_member(named("admissionregistration_v1.NamedRuleWithOperations"),
                                     COR_STR("apiGroups"), &member));
    assert_text(cor_type_field_go_name(member.via[0]), "RuleWithOperations");
    assert_text(cor_type_field_go_name(member.via[1]), "Rule");
    assert_false(cor_type_find_member(named("core_v1.Volume"), COR_STR("VolumeSource"), &member));
    assert_false(cor_type_find_member(named("core_v1.Volume"), COR_STR("ConfigMap"), &member));
}

TEST(types, know_presence_shape_and_name)
{
    const struct cor_type_field *replicas = field_of("apps_v1.DeploymentSpec", "replicas");
    const struct cor_type_field *created = field_of("meta_v1.ObjectMeta", "creationTimestamp");
    const struct cor_type *limits =
        cor_type_field_type(field_of("core_v1.ResourceRequirements", "limits"));

    assert_true(cor_type_field_is(replicas, COR_FIELD_POINTER));
    assert_true(cor_type_field_is(replicas, COR_FIELD_OMITEMPTY));
    assert_int_equal(cor_type_shape(cor_type_field_type(replicas)), COR_SHAPE_INT32);
    assert_false(cor_type_field_is(created, COR_FIELD_POINTER));
    assert_true(cor_type_field_is(created, COR_FIELD_OMITZERO));
    assert_int_equal(cor_type_shape(limits), COR_SHAPE_MAP);
    assert_text(cor_type_go_name(limits), "v1.ResourceList");
    assert_int_equal(cor_type_shape(cor_type_element(limits)), COR_SHAPE_QUANTITY);
    assert_text(cor_type_go_name(cor_type_field_type(field_of("core_v1.PodSpec", "containers"))),
                "[]v1.Container");
    assert_text(cor_type_go_name(cor_type_field_type(field_of("core_v1.Secret", "data"))),
                "map[string][]uint8");
    assert_int_equal(
        cor_type_shape(cor_type_field_type(field_of("apps_v1.ControllerRevision", "data"))),
        COR_SHAPE_RAW);
}

TEST(types, know_enums)
{
    const struct cor_type *type =
        cor_type_field_type(field_of("apps_v1.DeploymentStrategy", "type"));

    assert_true(cor_type_is(type, COR_TYPE_ENUM));
    assert_int_equal(cor_type_nvalues(type), 2);
    assert_text(cor_type_value(type, 0), "Recreate");
    assert_text(cor_type_value(type, 1), "RollingUpdate");
    assert_int_equal(cor_type_nvalues(named("core_v1.Pod")), 0);
}

/* Contract types 1.5.12: the keys of apply and of strategic merge differ. */
TEST(types, know_the_keys_of_apply_and_of_strategic_merge)
{
    const struct cor_type_field *ports = field_of("core_v1.Container", "ports");
    const struct cor_type_field *finalizers = field_of("meta_v1.ObjectMeta", "finalizers");
    const struct cor_type_field *conditions = field_of("batch_v1.JobStatus", "conditions");

    assert_int_equal(cor_type_field_list_kind(ports), COR_LIST_KIND_MAP);
    assert_int_equal(cor_type_field_nkeys(ports), 2);
    assert_text(cor_type_field_key(ports, 0), "containerPort");
    assert_text(cor_type_field_key(ports, 1), "protocol");
    assert_int_equal(cor_type_field_patch(ports), COR_PATCH_FLAG_MERGE);
    assert_text(cor_type_field_patch_key(ports), "containerPort");
    assert_int_equal(cor_type_field_list_kind(finalizers), COR_LIST_KIND_SET);
    assert_text(cor_type_field_patch_key(finalizers), "");
    assert_int_equal(cor_type_field_list_kind(conditions), COR_LIST_KIND_ATOMIC);
    assert_text(cor_type_field_patch_key(conditions), "type");
    assert_int_equal(cor_type_field_patch(field_of("core_v1.PodSpec", "volumes")),
                     COR_PATCH_FLAG_MERGE | COR_PATCH_FLAG_RETAIN_KEYS);
    assert_int_equal(
        cor_type_field_patch(field_of("policy_v1.PodDisruptionBudgetSpec", "selector")),
        COR_PATCH_FLAG_REPLACE);
}

/* Contract types 1.5.11: 57 fields have a strategy. */
TEST(types, have_as_many_strategies_as_upstream)
{
    size_t n = 0;

    for (size_t i = 0; i < cor_types_count(); i++) {
        for (size_t f = 0; f < cor_type_nfields(cor_type_at(i)); f++)
            n += cor_type_field_patch(cor_type_field(cor_type_at(i), f)) != 0;
    }
    assert_int_equal(n, 57);
}

TEST(types, know_defaults_and_gates_of_declarations)
{
    assert_text(cor_type_field_default(field_of("core_v1.ContainerPort", "protocol")), "\"TCP\"");
    assert_text(cor_type_field_default(field_of("apps_v1.DeploymentSpec", "replicas")), "");
    assert_text(cor_type_field_gate(field_of("core_v1.VolumeProjection", "podCertificate")),
                "PodCertificateProjection");
}

TEST(types, find_a_field_by_each_number)
{
    for (size_t i = 0; i < cor_types_count(); i++) {
        const struct cor_type *type = cor_type_at(i);
        size_t found = 0, numbered = 0;

        for (size_t f = 0; f < cor_type_nfields(type); f++) {
            const struct cor_type_field *field = cor_type_field(type, f);
            uint32_t number = cor_type_field_number(field);

            numbered += number > 0;
            if (number > 0)
                assert_ptr_equal(cor_type_find_number(type, number), field);
        }
        for (uint32_t number = 0; number < 300; number++)
            found += cor_type_find_number(type, number) != NULL;
        assert_int_equal(found, numbered);
    }
}

/* The shape of a value, or of the values of a map or of the elements of a list. */
static enum cor_shape inner_shape(const struct cor_type *type)
{
    while (cor_type_shape(type) == COR_SHAPE_MAP || cor_type_shape(type) == COR_SHAPE_LIST)
        type = cor_type_element(type);
    return cor_type_shape(type);
}

/* Names that mean a quantity in one type and a text in another, which wins. */
static bool is_ambiguous(struct cor_str name)
{
    return cor_str_eqz(name, "value") || cor_str_eqz(name, "default");
}

static void check_name(struct cor_str name, const struct cor_type *type)
{
    enum cor_equality_rule rule = cor_equality_rule_of(name);
    enum cor_shape shape = inner_shape(type);
    bool is_text = shape == COR_SHAPE_STRING || shape == COR_SHAPE_JSON || shape == COR_SHAPE_RAW;

    /* What the rule promises is true in every type: no text is taken for a quantity or a time. The
     * text in `requests` is the name of a request, in a list. */
    if (rule == COR_EQUALITY_QUANTITY && is_text && cor_type_shape(type) != COR_SHAPE_LIST)
        fail_msg("%.*s is a text in a type", COR_STR_ARG(name));
    if (rule == COR_EQUALITY_TIME && is_text)
        fail_msg("%.*s is no time in a type", COR_STR_ARG(name));
    if (rule == COR_EQUALITY_TEXTS && shape != COR_SHAPE_STRING && shape != COR_SHAPE_BYTES &&
        shape != COR_SHAPE_RAW && !cor_str_eqz(name, "nodeSelector"))
        fail_msg("%.*s is no map of texts in a type", COR_STR_ARG(name));
    /* And no quantity or time is missing. */
    if (shape == COR_SHAPE_QUANTITY && rule != COR_EQUALITY_QUANTITY && !is_ambiguous(name))
        fail_msg("%.*s is a quantity", COR_STR_ARG(name));
    if ((shape == COR_SHAPE_TIME || shape == COR_SHAPE_MICRO_TIME) && rule != COR_EQUALITY_TIME &&
        !cor_str_eqz(name, "disruptedPods"))
        fail_msg("%.*s is a time", COR_STR_ARG(name));
}

/* Semantic equality in clients knows names, and not types (coracle/equality.h). */
TEST(types, agree_with_the_names_of_semantic_equality)
{
    for (size_t i = 0; i < cor_types_count(); i++) {
        const struct cor_type *type = cor_type_at(i);

        for (size_t f = 0; f < cor_type_nfields(type); f++)
            check_name(cor_type_field_name(cor_type_field(type, f)),
                       cor_type_field_type(cor_type_field(type, f)));
    }
}
