/* Promises of compiled schemas of custom resources: whatever the schema, pruning and dropping nulls
 * is done after one pass; what a rewrite makes is canonical; validation ends, and forgives an
 * object no more than it forgives one that has not changed. The first line is a schema, the second
 * an object, the third the old object. */
#include "base/err.h"
#include "fuzz.h"
#include "schema/structural/structural.h"
#include "json/text/json.h"

#define BYTES_MAX (16u << 20)

static bool read_line(struct cor_str line, struct cor_buf *text)
{
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;

    return cor_json_canonicalize(line, &limits, text, NULL, NULL) == 0 && text->n > 0 &&
           text->p[0] == '{';
}

static void check_rewrite(struct cor_structural *schema, struct cor_str object, unsigned steps)
{
    COR_CLEANUP(cor_structural_unknown_freep)
    struct cor_structural_unknown *unknown = cor_structural_unknown_new();
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf again = {.max = BYTES_MAX};
    struct cor_json_limits limits = {BYTES_MAX, COR_JSON_DEPTH_MAX, true, NULL, NULL};
    bool is_canonical;
    int r;

    FUZZ_CHECK(unknown != NULL);
    r = cor_structural_rewrite(schema, object, steps, &out, unknown);
    FUZZ_CHECK(r == 0 || r == 1 || r == -COR_EINVAL || r == -COR_ETOOBIG);
    if (r != 1) {
        FUZZ_CHECK(out.n == 0);
        return;
    }
    if (cor_json_check(cor_buf_str(&out), &limits, &is_canonical, NULL) == 0)
        FUZZ_CHECK(is_canonical); /* defaults may have made it deeper than JSON may be */
    for (size_t i = 1; i < unknown->n; i++)
        FUZZ_CHECK(steps != COR_STRUCTURAL_PRUNE ||
                   cor_str_cmp(unknown->v[i - 1], unknown->v[i]) <= 0);
    if (!(steps & COR_STRUCTURAL_DEFAULT))
        FUZZ_CHECK(cor_structural_rewrite(schema, cor_buf_str(&out), steps, &again, NULL) == 0);
}

static size_t count_errors(struct cor_structural *schema, struct cor_str object, struct cor_str old)
{
    const struct cor_structural_validation validation = {.object = object, .old = old};
    const struct cor_structural_validation status = {
        .object = object, .old = old, .is_status = true};
    struct cor_field_errors errors;
    size_t n;

    cor_field_errors_init(&errors);
    cor_structural_validate(schema, &validation, &errors);
    n = errors.n;
    cor_structural_validate(schema, &status, &errors);
    cor_structural_check_embedded(schema, &validation, &errors);
    cor_structural_check_lists(schema, &validation, &errors);
    FUZZ_CHECK(errors.error == 0);
    cor_field_errors_deinit(&errors);
    return n;
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf object = {.max = BYTES_MAX}, old = {.max = BYTES_MAX};
    COR_CLEANUP(cor_structural_freep) struct cor_structural *schema = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = 1000};
    struct cor_str rest = cor_str((const char *)data, size), first = cor_str_cut(&rest, '\n');
    struct cor_str second = rest.p ? cor_str_cut(&rest, '\n') : rest;
    const struct cor_field_path path = cor_field_root(COR_STR("schema"));
    struct cor_field_errors errors;
    size_t whole;
    int r = cor_structural_compile(first, NULL, &schema, &why);

    FUZZ_CHECK(r == 0 || r == -COR_EINVAL || r == -COR_ETOOBIG ||
               (r == -COR_EINVALID && why.n > 0));
    if (r < 0)
        return 0;
    cor_field_errors_init(&errors);
    cor_structural_check_defaults(schema, &path, &errors);
    FUZZ_CHECK(errors.error == 0);
    cor_field_errors_deinit(&errors);
    if (!read_line(second, &object))
        return 0;
    check_rewrite(schema, cor_buf_str(&object), COR_STRUCTURAL_PRUNE);
    check_rewrite(schema, cor_buf_str(&object), COR_STRUCTURAL_PRUNE | COR_STRUCTURAL_NULLS);
    check_rewrite(schema, cor_buf_str(&object),
                  COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_REQUEST);
    check_rewrite(schema, cor_buf_str(&object),
                  COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_STORED);
    whole = count_errors(schema, cor_buf_str(&object), cor_str(NULL, 0));
    FUZZ_CHECK(count_errors(schema, cor_buf_str(&object), cor_buf_str(&object)) <= whole);
    if (read_line(rest, &old) && whole == 0)
        FUZZ_CHECK(count_errors(schema, cor_buf_str(&object), cor_buf_str(&old)) == 0);
    return 0;
}
