/* What a validation may cost: schemas and objects both come from clients, and their product must
 * not hold a thread. Each test makes one kind of work that grows with both, and expects the one
 * error that ends it. */
#include "base/err.h"
#include "schema/structural/structural.h"
#include "test.h"

#define TEXT_MAX (4u << 20)

/* Adds `text` n times, with commas between; "%zu" in it is the number of the copy. */
static void add_many(struct cor_buf *to, size_t n, const char *before, bool is_numbered,
                     const char *after)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(cor_buf_addz(to, i ? "," : ""), 0);
        assert_int_equal(cor_buf_addz(to, before), 0);
        if (is_numbered)
            assert_int_equal(cor_buf_addf(to, "%zu", i), 0);
        assert_int_equal(cor_buf_addz(to, after), 0);
    }
}

static void assert_is_too_much(const struct cor_buf *text, const struct cor_buf *object)
{
    COR_CLEANUP(cor_structural_freep) struct cor_structural *schema = NULL;
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors = {0};
    const struct cor_structural_validation validation = {.object = cor_buf_str(object)};

    assert_int_equal(cor_structural_compile(cor_buf_str(text), NULL, &schema, NULL), 0);
    cor_structural_validate(schema, &validation, &errors);
    assert_int_equal(errors.error, 0);
    assert_int_equal(errors.n, 1);
    assert_int_equal(errors.v[0].type, COR_FIELD_FORBIDDEN);
    assert_string_equal(errors.v[0].body,
                        "Forbidden: the object has too many values for the branches of its schema: "
                        "validation takes more than 16777216 steps");
}

TEST(structural_work, ends_when_values_meet_too_many_branches)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX}, object = {.max = TEXT_MAX};

    assert_int_equal(cor_buf_addz(&text, "{\"type\":\"object\",\"properties\":{\"list\":{\"type\":"
                                         "\"array\",\"items\":{\"type\":\"integer\",\"anyOf\":["),
                     0);
    add_many(&text, 4500, "{\"minimum\":1000", true, "}");
    assert_int_equal(cor_buf_addz(&text, "]}}}}"), 0);
    assert_int_equal(cor_buf_addz(&object, "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"list\":["), 0);
    add_many(&object, 3729, "1", false, "");
    assert_int_equal(cor_buf_addz(&object, "]}"), 0);
    assert_is_too_much(&text, &object);
}

/* A text is read again by each branch. */
TEST(structural_work, ends_when_a_long_text_meets_too_many_branches)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX}, object = {.max = TEXT_MAX};

    assert_int_equal(cor_buf_addz(&text, "{\"type\":\"object\",\"properties\":{\"s\":{\"type\":"
                                         "\"string\",\"anyOf\":["),
                     0);
    add_many(&text, 300, "{\"minLength\":1000000", true, "}");
    assert_int_equal(cor_buf_addz(&text, "]}}}"), 0);
    assert_int_equal(cor_buf_addz(&object, "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"s\":\""), 0);
    for (size_t i = 0; i < 1u << 16; i++)
        assert_int_equal(cor_buf_addz(&object, "0123456789abcdef"), 0);
    assert_int_equal(cor_buf_addz(&object, "\"}"), 0);
    assert_is_too_much(&text, &object);
}

/* The patterns of a schema that its account has no room for are compiled for each value. */
TEST(structural_work, ends_when_patterns_are_compiled_too_often)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX}, object = {.max = TEXT_MAX};

    assert_int_equal(cor_buf_addz(&text, "{\"type\":\"object\",\"properties\":{\"list\":{\"type\":"
                                         "\"array\",\"items\":{\"type\":\"string\",\"anyOf\":["),
                     0);
    add_many(&text, 700, "{\"pattern\":\"^x", true, "$\"}");
    assert_int_equal(cor_buf_addz(&text, "]}}}}"), 0);
    assert_int_equal(cor_buf_addz(&object, "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"list\":["), 0);
    add_many(&object, 200, "\"a\"", false, "");
    assert_int_equal(cor_buf_addz(&object, "]}"), 0);
    assert_is_too_much(&text, &object);
}

TEST(structural_work, ends_when_too_many_members_are_required_of_too_many_objects)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX}, object = {.max = TEXT_MAX};

    assert_int_equal(cor_buf_addz(&text, "{\"type\":\"object\",\"properties\":{\"list\":{\"type\":"
                                         "\"array\",\"items\":{\"type\":\"object\",\"required\":["),
                     0);
    add_many(&text, 5000, "\"r", true, "\"");
    assert_int_equal(cor_buf_addz(&text, "]}}}}"), 0);
    assert_int_equal(cor_buf_addz(&object, "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"list\":["), 0);
    add_many(&object, 3500, "{}", false, "");
    assert_int_equal(cor_buf_addz(&object, "]}"), 0);
    assert_is_too_much(&text, &object);
}

/* Each branch looks at all members of an object, and all items of a list, also at those that it
 * says nothing of. */
TEST(structural_work, ends_when_members_and_items_are_passed_too_often)
{
    static const char *const opening[] = {"{", "["};
    static const char *const closing[] = {"}", "]"};

    for (size_t k = 0; k < COR_ARRAY_LEN(opening); k++) {
        COR_CLEANUP(cor_buf_deinit)
        struct cor_buf text = {.max = TEXT_MAX}, object = {.max = TEXT_MAX};

        assert_int_equal(cor_buf_addz(&text, "{\"type\":\"object\",\"properties\":{\"o\":{"
                                             "\"x-kubernetes-preserve-unknown-fields\":true,"
                                             "\"anyOf\":["),
                         0);
        add_many(&text, 4500, "{\"minProperties\":99999", true, ",\"minItems\":99999}");
        assert_int_equal(cor_buf_addz(&text, "]}}}"), 0);
        assert_int_equal(cor_buf_addz(&object, "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"o\":"), 0);
        assert_int_equal(cor_buf_addz(&object, opening[k]), 0);
        add_many(&object, 3800, k == 0 ? "\"m1" : "1", k == 0, k == 0 ? "\":1" : "");
        assert_int_equal(cor_buf_addz(&object, closing[k]), 0);
        assert_int_equal(cor_buf_addz(&object, "}"), 0);
        assert_is_too_much(&text, &object);
    }
}

/* Each branch looks for names that are not there: what it passes on its way is counted, and found
 * by halves. */
TEST(structural_work, ends_when_absent_names_are_looked_for_in_too_many_branches)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX}, object = {.max = TEXT_MAX};

    assert_int_equal(cor_buf_addz(&text, "{\"type\":\"object\",\"properties\":{\"list\":{\"type\":"
                                         "\"array\",\"items\":{\"type\":\"object\",\"anyOf\":["),
                     0);
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(cor_buf_addz(&text, i ? ",{\"required\":[" : "{\"required\":["), 0);
        add_many(&text, 16, "\"absent", true, "\"");
        assert_int_equal(cor_buf_addz(&text, "]}"), 0);
    }
    assert_int_equal(cor_buf_addz(&text, "]}}}}"), 0);
    assert_int_equal(cor_buf_addz(&object, "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"list\":["), 0);
    for (size_t i = 0; i < 300; i++) {
        assert_int_equal(cor_buf_addz(&object, i ? ",{" : "{"), 0);
        add_many(&object, 100, "\"k", true, "\":1");
        assert_int_equal(cor_buf_addz(&object, "}"), 0);
    }
    assert_int_equal(cor_buf_addz(&object, "]}"), 0);
    assert_is_too_much(&text, &object);
}

/* RE2 has no memory for all the sets of states that this pattern can be in, and goes through the
 * states for each byte. */
TEST(structural_work, ends_when_patterns_take_long_for_each_byte)
{
    COR_CLEANUP(cor_structural_freep) struct cor_structural *schema = NULL;
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX}, object = {.max = TEXT_MAX};
    struct cor_work loop = cor_work_new(true);
    struct cor_structural_validation validation = {.work = &loop};
    uint32_t random = 1;

    assert_int_equal(
        cor_buf_addz(&text, "{\"type\":\"object\",\"properties\":{\"list\":{\"type\":\"array\","
                            "\"items\":{\"type\":\"string\",\"not\":{\"pattern\":"
                            "\"[a-q][^u-z]{900}x\"}}}}}"),
        0);
    assert_int_equal(cor_buf_addz(&object, "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"list\":["), 0);
    for (size_t i = 0; i < 500; i++) {
        assert_int_equal(cor_buf_addz(&object, i ? ",\"" : "\""), 0);
        for (size_t k = 0; k < 3000; k++) {
            random = random * 1664525 + 1013904223;
            assert_int_equal(cor_buf_addc(&object, (char)('a' + (random >> 24) % 20)), 0);
        }
        assert_int_equal(cor_buf_addc(&object, '"'), 0);
    }
    assert_int_equal(cor_buf_addz(&object, "]}"), 0);
    assert_int_equal(cor_structural_compile(cor_buf_str(&text), NULL, &schema, NULL), 0);
    validation.object = cor_buf_str(&object);
    cor_structural_validate(schema, &validation, &errors);
    assert_int_equal(errors.error, COR_WORK_YIELD);
    assert_uint_in_range(loop.steps, 1, 1000);
    assert_is_too_much(&text, &object);
}

/* On a loop a validation gives up early, and has then found nothing; on a thread it has all steps
 * that the request has left. */
TEST(structural_work, yields_on_a_loop_and_charges_the_request)
{
    COR_CLEANUP(cor_structural_freep) struct cor_structural *schema = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX}, object = {.max = TEXT_MAX};
    struct cor_work loop = cor_work_new(true), thread = cor_work_new(false), spent = thread;
    struct {
        struct cor_work *work;
        int error;
        size_t n;
    } rows[] = {{&loop, COR_WORK_YIELD, 0}, {&thread, 0, 0}, {&spent, 0, 1}};

    assert_int_equal(cor_buf_addz(&text, "{\"type\":\"object\",\"properties\":{\"list\":{\"type\":"
                                         "\"array\",\"items\":{\"type\":\"integer\",\"anyOf\":["),
                     0);
    add_many(&text, 200, "{\"minimum\":1000", true, "}");
    assert_int_equal(cor_buf_addz(&text, ",{\"minimum\":1}]}}}}"), 0);
    assert_int_equal(cor_buf_addz(&object, "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"list\":["), 0);
    add_many(&object, 1000, "1", false, "");
    assert_int_equal(cor_buf_addz(&object, "]}"), 0);
    assert_int_equal(cor_structural_compile(cor_buf_str(&text), NULL, &schema, NULL), 0);
    spent.steps = spent.max - 1000;
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors = {0};
        const struct cor_structural_validation validation = {.object = cor_buf_str(&object),
                                                             .work = rows[i].work};

        cor_structural_validate(schema, &validation, &errors);
        assert_int_equal(errors.error, rows[i].error);
        assert_int_equal(errors.n, rows[i].n);
    }
    assert_int_equal(loop.steps, 0); /* it was not begun */
    assert_uint_in_range(thread.steps, 200 * 1000, 500 * 1000);
}

/* A definition that became dear holds none of its objects: what an update leaves as it is need not
 * be judged again, in the slice of a loop; what it changes is. */
TEST(structural_work, passes_what_an_update_has_not_changed)
{
    COR_CLEANUP(cor_structural_freep) struct cor_structural *schema = NULL;
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf text = {.max = TEXT_MAX}, list = {.max = TEXT_MAX}, old = {.max = TEXT_MAX};
    static const struct {
        const char *rest;
        size_t n; /* mistakes */
    } rows[] = {{",\"metadata\":{\"labels\":{\"a\":\"b\"}},\"small\":1}", 0},
                {",\"metadata\":{},\"small\":2}", 0},
                {",\"metadata\":{},\"small\":-1}", 1},
                {",\"metadata\":{}}", 0}};

    assert_int_equal(cor_buf_addz(&text, "{\"type\":\"object\",\"properties\":{\"small\":{\"type\":"
                                         "\"integer\",\"minimum\":0},\"list\":{\"type\":\"array\","
                                         "\"items\":{\"type\":\"integer\",\"anyOf\":["),
                     0);
    add_many(&text, 4500, "{\"minimum\":1000", true, "}");
    assert_int_equal(cor_buf_addz(&text, "]}}}}"), 0);
    assert_int_equal(cor_structural_compile(cor_buf_str(&text), NULL, &schema, NULL), 0);
    assert_int_equal(cor_buf_addz(&list, "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"list\":["), 0);
    add_many(&list, 3729, "1", false, "");
    assert_int_equal(cor_buf_addz(&list, "]"), 0);
    assert_int_equal(cor_buf_adds(&old, cor_buf_str(&list)), 0);
    assert_int_equal(cor_buf_addz(&old, rows[0].rest), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf object = {.max = TEXT_MAX};
        COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors = {0};
        struct cor_work work = cor_work_new(true);
        const struct cor_structural_validation validation = {
            .old = cor_buf_str(&old), .object = {NULL, 0}, .work = &work};
        struct cor_structural_validation with = validation;

        assert_int_equal(cor_buf_adds(&object, cor_buf_str(&list)), 0);
        assert_int_equal(cor_buf_addz(&object, rows[i].rest), 0);
        with.object = cor_buf_str(&object);
        cor_structural_validate(schema, &with, &errors);
        assert_int_equal(errors.error, 0);
        assert_int_equal(errors.n, rows[i].n);
        assert_uint_in_range(work.steps, 3729, 20000);
    }
}

/* An object with members that the schema does not know is equal to none. When there are not enough
 * steps for it, an update that leaves it as it is passes all the same. */
TEST(structural_work, forgives_what_it_cannot_judge_when_only_the_metadata_changes)
{
    COR_CLEANUP(cor_structural_freep) struct cor_structural *schema = NULL;
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf text = {.max = TEXT_MAX}, members = {.max = TEXT_MAX};
    static const struct {
        const char *metadata, *rest;
        size_t n; /* mistakes */
    } rows[] = {{"{}", "}}", 0},
                {"{\"labels\":{\"a\":\"b\"}}", "}}", 0},
                {"{}", "},\"p\":1}", 1},
                {"{}", ",\"n\":1}}", 1}};
    struct cor_buf objects[COR_ARRAY_LEN(rows)];

    assert_int_equal(cor_buf_addz(&text,
                                  "{\"type\":\"object\",\"properties\":{\"p\":{\"type\":"
                                  "\"integer\"},\"o\":{\"type\":\"object\","
                                  "\"x-kubernetes-preserve-unknown-fields\":true,\"anyOf\":["),
                     0);
    add_many(&text, 4500, "{\"minProperties\":99999", true, "}");
    assert_int_equal(cor_buf_addz(&text, "]}}}"), 0);
    assert_int_equal(cor_structural_compile(cor_buf_str(&text), NULL, &schema, NULL), 0);
    add_many(&members, 3800, "\"m1", true, "\":1");
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors = {0};
        struct cor_structural_validation validation;

        objects[i] = (struct cor_buf){.max = TEXT_MAX};
        assert_int_equal(
            cor_buf_addf(&objects[i],
                         "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":%s,\"o\":{",
                         rows[i].metadata),
            0);
        assert_int_equal(cor_buf_adds(&objects[i], cor_buf_str(&members)), 0);
        assert_int_equal(cor_buf_addz(&objects[i], rows[i].rest), 0);
        validation = (struct cor_structural_validation){.object = cor_buf_str(&objects[i]),
                                                        .old = cor_buf_str(&objects[0])};
        cor_structural_validate(schema, &validation, &errors);
        assert_int_equal(errors.error, 0);
        assert_int_equal(errors.n, rows[i].n);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        cor_buf_deinit(&objects[i]);
}

/* Each of many branches reads the text without its escapes, and finds a mistake that shows it: no
 * copy of it is kept for either. */
TEST(structural_work, has_memory_for_a_long_text_that_many_branches_refuse)
{
    static const char *const junctors[] = {"allOf", "anyOf"};

    for (size_t k = 0; k < COR_ARRAY_LEN(junctors); k++) {
        COR_CLEANUP(cor_structural_freep) struct cor_structural *schema = NULL;
        COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors = {0};
        COR_CLEANUP(cor_buf_deinit)
        struct cor_buf text = {.max = TEXT_MAX}, object = {.max = TEXT_MAX};
        struct cor_structural_validation validation = {0};

        assert_int_equal(cor_buf_addf(&text,
                                      "{\"type\":\"object\",\"properties\":{\"s\":{\"type\":"
                                      "\"string\",\"%s\":[",
                                      junctors[k]),
                         0);
        add_many(&text, 200, "{\"minLength\":9000000", true, "}");
        assert_int_equal(cor_buf_addz(&text, "]}}}"), 0);
        assert_int_equal(cor_buf_addz(&object, "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"s\":\""),
                         0);
        for (size_t i = 0; i < 1u << 16; i++)
            assert_int_equal(cor_buf_addz(&object, "0123456789abcdef"), 0);
        assert_int_equal(cor_buf_addz(&object, "\\n\"}"), 0);
        assert_int_equal(cor_structural_compile(cor_buf_str(&text), NULL, &schema, NULL), 0);
        validation.object = cor_buf_str(&object);
        cor_structural_validate(schema, &validation, &errors);
        assert_int_equal(errors.error, 0);
        assert_true(errors.n > 0);
    }
}
