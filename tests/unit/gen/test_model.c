/* The model of the built-in types, and what is written of it. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "gen/c_text.h"
#include "gen/from_tables.h"
#include "gen/views.h"
#include "test.h"

#define LONG_TEXT 200000

static const struct cor_gen_views_opts opts = {.source = "a test", .version = "1"};

static const struct cor_gen_field *field_of(const struct cor_gen_type *type, const char *name)
{
    for (const struct cor_gen_field *f = type->fields; f; f = f->next) {
        if (cor_str_eqz(f->name, name))
            return f;
    }
    fail_msg("no field %s", name);
    return NULL;
}

TEST(model, has_the_built_in_types)
{
    struct cor_gen_model model;
    struct cor_gen_package *core;
    const struct cor_gen_type *spec, *pod;

    cor_gen_model_init(&model);
    assert_int_equal(cor_gen_from_tables(&model, COR_GEN_TYPES_PREFIX, COR_GEN_TYPES_FOLDER), 0);
    assert_int_equal(cor_gen_name(&model), 0);
    core = cor_gen_find_package(&model, COR_STR("core_v1"));
    assert_non_null(core);
    assert_str(core->version, "v1");
    pod = cor_gen_find_type(&model, core, COR_STR("Pod"));
    spec = cor_gen_find_type(&model, core, COR_STR("PodSpec"));
    assert_true(pod->is_kind && !spec->is_kind);
    assert_str(pod->plural, "pods");
    assert_str(spec->c_name, "cor_core_v1_pod_spec");
    assert_ptr_equal(field_of(pod, "spec")->type, spec);
    assert_str(field_of(spec, "containers")->key, "name");
    assert_int_equal(field_of(spec, "containers")->type->shape, COR_SHAPE_LIST);
    assert_true(field_of(spec, "containers")->type->element->is_element);
    assert_true(field_of(spec, "priority")->is_pointer);
    cor_gen_model_deinit(&model);
}

TEST(model, writes_what_the_built_in_types_have)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf header, source;
    struct cor_gen_model model;

    cor_buf_init(&header, 1u << 24);
    cor_buf_init(&source, 1u << 24);
    /* The second time everything is written behind the first. */
    for (size_t i = 0; i < 2; i++) {
        cor_gen_model_init(&model);
        assert_int_equal(cor_gen_from_tables(&model, COR_GEN_TYPES_PREFIX, COR_GEN_TYPES_FOLDER),
                         0);
        assert_int_equal(cor_gen_name(&model), 0);
        assert_int_equal(cor_gen_views(&model,
                                       cor_gen_find_package(&model, COR_STR("scheduling_v1")),
                                       &opts, &header, &source),
                         0);
        cor_gen_model_deinit(&model);
    }
    assert_true(strstr(cor_buf_z(&header), "cor_scheduling_v1_priority_class_value("));
    assert_true(strstr(cor_buf_z(&source),
                       "cor_value_int32(v.at, \"value\", COR_VALUE_FIELD(5, 2, 0, 0, 0))"));
    assert_memory_equal(header.p, header.p + header.n / 2, header.n / 2);
    assert_memory_equal(source.p, source.p + source.n / 2, source.n / 2);
}

TEST(model, fails_without_memory)
{
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf header, source;
        struct cor_gen_model model;
        struct cor_gen_package *package;
        struct cor_gen_type *thing;
        int r;

        cor_buf_init(&header, 1u << 20);
        cor_buf_init(&source, 1u << 20);
        cor_gen_model_init(&model);
        package = cor_gen_package(&model, COR_STR("a_v1"), COR_STR("a_v1_"), COR_STR(""));
        thing = cor_gen_add_type(&model, package, COR_STR("Thing"), COR_SHAPE_STRUCT);
        cor_gen_add_field(&model, thing, COR_STR("things"),
                          cor_gen_plain_type(&model, COR_SHAPE_LIST, thing));
        r = cor_gen_name(&model);
        if (r == 0)
            r = cor_gen_views(&model, package, &opts, &header, &source);
        if (r == 0) {
            assert_true(strstr(cor_buf_z(&header), "struct a_v1_thing_array a_v1_thing_things("));
            assert_true(strstr(cor_buf_z(&source), "cor_value_next(&array->at, &ret->at)"));
        } else {
            assert_int_equal(r, -COR_ENOMEM);
        }
        cor_gen_model_deinit(&model);
    }
}

TEST(model, gives_names_that_are_taken_an_underscore)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf header, source;
    struct cor_gen_model model;
    struct cor_gen_package *package;
    const struct cor_gen_type *text;
    struct cor_gen_type *pod, *spec;

    cor_buf_init(&header, 1u << 20);
    cor_buf_init(&source, 1u << 20);
    cor_gen_model_init(&model);
    package = cor_gen_package(&model, COR_STR("a_v1"), COR_STR("a_v1_"), COR_STR(""));
    text = cor_gen_plain_type(&model, COR_SHAPE_STRING, NULL);
    pod = cor_gen_add_type(&model, package, COR_STR("Pod"), COR_SHAPE_STRUCT);
    spec = cor_gen_add_type(&model, package, COR_STR("PodSpec"), COR_SHAPE_STRUCT);
    cor_gen_add_type(&model, package, COR_STR("Pod-Spec"), COR_SHAPE_STRUCT);
    cor_gen_add_field(&model, pod, COR_STR("specName"), text)->words =
        COR_STR("ends a comment: */ and is \"quoted\".");
    cor_gen_add_field(&model, spec, COR_STR("name"), text);
    cor_gen_plain_type(&model, COR_SHAPE_LIST, pod);
    cor_gen_add_type(&model, package, COR_STR("PodArray"), COR_SHAPE_STRUCT);
    assert_int_equal(cor_gen_name(&model), 0);
    assert_int_equal(cor_gen_views(&model, package, &opts, &header, &source), 0);
    assert_true(strstr(cor_buf_z(&header), "struct a_v1_pod_array {"));
    assert_true(strstr(cor_buf_z(&header), "struct a_v1_pod_array_ {"));
    assert_true(strstr(cor_buf_z(&header), "struct a_v1_pod_spec_ {"));
    assert_true(
        strstr(cor_buf_z(&header), "struct cor_text a_v1_pod_spec_name(struct a_v1_pod v);"));
    assert_true(
        strstr(cor_buf_z(&header), "struct cor_text a_v1_pod_spec_name_(struct a_v1_pod_spec v);"));
    assert_true(strstr(cor_buf_z(&header), "/* ends a comment: * / and is \"quoted\". */"));
    cor_gen_model_deinit(&model);
}

TEST(model, a_long_text_is_a_literal_in_linear_time)
{
    struct cor_gen_model model;
    char *text = cor_calloc(1, LONG_TEXT);
    struct cor_str made;

    assert_non_null(text);
    memset(text, 'x', LONG_TEXT);
    text[0] = '"';
    text[1] = '\n';
    cor_gen_model_init(&model);
    made = cor_gen_literal(&model, cor_str(text, LONG_TEXT));
    assert_int_equal(cor_gen_model_error(&model), 0);
    assert_int_equal(made.n, LONG_TEXT + 2 + 6);
    assert_memory_equal(made.p, "\"\\042\\012xx", 11);
    cor_gen_model_deinit(&model);
    cor_free(text);
}
