/* What a kube-apiserver said of objects under random schemas, beside our answers
 * (tests/differential/custom.py): the causes as a set, the unknown fields, and the object that is
 * stored. */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "schema/structural/structural.h"
#include "test.h"
#include "json/text/json.h"

#define LINE_MAX_BYTES (256u << 10)
#define CAUSES_MAX     COR_STATUS_CAUSES_MAX

/* One request and what the server answered; texts are copies. */
struct recorded {
    struct cor_structural *schema;
    char *old, *new; /* old NULL: a creation */
    char *causes[CAUSES_MAX];
    char *unknown[CAUSES_MAX];
    size_t ncauses, nunknown;
    char *stored; /* NULL: refused */
};

/* The whole object, in canonical form. */
static void write_object(const char *spec, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = LINE_MAX_BYTES};
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;

    assert_int_equal(cor_buf_addf(&text,
                                  "{\"kind\":\"K\",\"apiVersion\":\"g/v1\",\"metadata\":{\"name\":"
                                  "\"n\",\"uid\":\"u\"},\"spec\":%s}",
                                  spec),
                     0);
    assert_int_equal(cor_json_canonicalize(cor_buf_str(&text), &limits, out, NULL, NULL), 0);
}

/* Replaces the object by what the steps make of it. */
static void rewrite(struct cor_structural *schema, unsigned steps, struct cor_buf *object,
                    struct cor_structural_unknown *unknown)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = LINE_MAX_BYTES};
    int r = cor_structural_rewrite(schema, cor_buf_str(object), steps, &out, unknown);

    assert_true(r == 0 || r == 1);
    if (r == 0)
        return;
    cor_buf_reset(object);
    assert_int_equal(cor_buf_adds(object, cor_buf_str(&out)), 0);
}

static bool has_text(char *const *texts, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(texts[i], text) == 0)
            return true;
    }
    return false;
}

/* Every error is a cause that the server had, and there are as many different ones. */
static void check_causes(const struct recorded *recorded, const struct cor_field_errors *errors)
{
    size_t distinct = 0;

    for (size_t i = 0; i < errors->n; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = LINE_MAX_BYTES};
        bool is_repeated = false;

        assert_int_equal(cor_buf_addf(&text, "%s: %s", errors->v[i].field, errors->v[i].body), 0);
        if (!has_text(recorded->causes, recorded->ncauses, cor_buf_z(&text)))
            fail_msg("%s\n(old: %s)\nhas the error\n%s", recorded->new,
                     recorded->old ? recorded->old : "none", cor_buf_z(&text));
        for (size_t j = 0; j < i; j++)
            is_repeated = is_repeated || (strcmp(errors->v[i].field, errors->v[j].field) == 0 &&
                                          strcmp(errors->v[i].body, errors->v[j].body) == 0);
        distinct += !is_repeated;
    }
    if (distinct != recorded->ncauses)
        fail_msg("%s\n(old: %s)\nhas %zu errors instead of %zu", recorded->new,
                 recorded->old ? recorded->old : "none", distinct, recorded->ncauses);
}

static void check_recorded(const struct recorded *recorded)
{
    COR_CLEANUP(cor_structural_unknown_freep)
    struct cor_structural_unknown *unknown = cor_structural_unknown_new();
    COR_CLEANUP(cor_buf_deinit) struct cor_buf object = {.max = LINE_MAX_BYTES};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf old = {.max = LINE_MAX_BYTES};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf stored = {.max = LINE_MAX_BYTES};
    struct cor_structural_validation validation = {0};
    struct cor_field_errors errors;

    write_object(recorded->new, &object);
    rewrite(recorded->schema, COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_REQUEST, &object,
            unknown);
    assert_int_equal(unknown->n, recorded->nunknown);
    for (size_t i = 0; i < unknown->n; i++) {
        COR_CLEANUP(cor_freep) char *path = cor_strndup(unknown->v[i].p, unknown->v[i].n);

        assert_true(has_text(recorded->unknown, recorded->nunknown, path));
    }
    validation.object = cor_buf_str(&object);
    if (recorded->old) {
        write_object(recorded->old, &old);
        rewrite(recorded->schema, COR_STRUCTURAL_ALL | COR_STRUCTURAL_NUMBERS, &old, NULL);
        validation.old = cor_buf_str(&old);
    }
    cor_field_errors_init(&errors);
    cor_structural_validate(recorded->schema, &validation, &errors);
    cor_structural_check_embedded(recorded->schema, &validation, &errors);
    cor_structural_check_lists(recorded->schema, &validation, &errors);
    assert_int_equal(errors.error, 0);
    check_causes(recorded, &errors);
    cor_field_errors_deinit(&errors);
    if (!recorded->stored)
        return;
    write_object(recorded->stored, &stored);
    rewrite(recorded->schema, COR_STRUCTURAL_NUMBERS, &stored, NULL);
    rewrite(recorded->schema, COR_STRUCTURAL_NUMBERS, &object, NULL);
    assert_string_equal(cor_buf_z(&object), cor_buf_z(&stored));
    /* What is stored stays as it is when it is read. */
    rewrite(recorded->schema, COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_STORED, &object, NULL);
    assert_string_equal(cor_buf_z(&object), cor_buf_z(&stored));
}

static void forget_answer(struct recorded *recorded)
{
    for (size_t i = 0; i < recorded->ncauses; i++)
        cor_free(recorded->causes[i]);
    for (size_t i = 0; i < recorded->nunknown; i++)
        cor_free(recorded->unknown[i]);
    recorded->ncauses = recorded->nunknown = 0;
    recorded->new = cor_free(recorded->new);
    recorded->stored = cor_free(recorded->stored);
}

static void take_schema(struct recorded *recorded, const char *spec)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = LINE_MAX_BYTES};

    cor_structural_free(recorded->schema);
    recorded->schema = NULL;
    assert_int_equal(
        cor_buf_addf(&text, "{\"type\":\"object\",\"properties\":{\"spec\":%s}}", spec), 0);
    assert_int_equal(cor_structural_compile(cor_buf_str(&text), NULL, &recorded->schema, NULL), 0);
}

/* Contract crd 4.6.3, 4.6.4, 4.7.24, 4.10.6. */
TEST(structural_recorded, answers_are_those_of_a_kube_apiserver)
{
    const char *path = getenv("COR_CUSTOM_RECORDS");
    struct recorded recorded = {0};
    size_t n = 0;
    char *line = NULL;
    size_t cap = 0;
    ssize_t bytes;
    FILE *f;

    if (!path)
        skip(); /* the suite names the file */
    f = fopen(path, "r");
    assert_non_null(f);
    while ((bytes = getline(&line, &cap, f)) > 0) {
        line[bytes - 1] = '\0';
        if (line[0] != ' ' && recorded.new) {
            check_recorded(&recorded);
            forget_answer(&recorded);
            n++;
        }
        if (strncmp(line, "schema ", 7) == 0) {
            take_schema(&recorded, line + 7);
        } else if (strncmp(line, "old", 3) == 0) {
            cor_free(recorded.old);
            recorded.old = line[3] ? cor_strdup(line + 4) : NULL;
        } else if (strncmp(line, "new ", 4) == 0) {
            recorded.new = cor_strdup(line + 4);
        } else if (strncmp(line, "  - ", 4) == 0) {
            assert_true(recorded.ncauses < CAUSES_MAX);
            recorded.causes[recorded.ncauses++] = cor_strdup(line + 4);
        } else if (strncmp(line, "  unknown ", 10) == 0) {
            assert_true(recorded.nunknown < CAUSES_MAX);
            recorded.unknown[recorded.nunknown++] = cor_strdup(line + 10);
        } else if (strncmp(line, "  = ", 4) == 0) {
            recorded.stored = cor_strdup(line + 4);
        } else {
            fail_msg("what is this line? %s", line);
        }
    }
    check_recorded(&recorded);
    assert_true(n > 400);
    forget_answer(&recorded);
    cor_free(recorded.old);
    cor_structural_free(recorded.schema);
    free(line);
    fclose(f);
}
