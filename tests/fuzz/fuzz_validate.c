/* Promises of validation. The input is an object, and behind a line break the object that it
 * replaces; both are made what the server would keep of them. Messages also see the object as it
 * was sent.
 *   - Whatever the objects hold, every program of the kind ends, without reading anything outside
 *     of them and without a failure.
 *   - A second run finds the same.
 *   - An object that replaces itself changes nothing: no field is refused for having changed. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "fuzz.h"
#include "fuzz_kind.h"
#include "schema/validate/validate.h"
#include "schema/walk/read.h"
#include "schema/walk/rewrite.h"
#include "json/text/json.h"

#define JSON_MAX (1u << 22)

/* Appends what the server would keep of the text, and its canonical bytes to `canonical`. False: it
 * would refuse the text. */
static bool keep(struct cor_str text, struct cor_buf *out, struct cor_buf *canonical,
                 const struct cor_type **ret_type)
{
    const struct cor_json_limits limits = {JSON_MAX, COR_JSON_DEPTH_MAX};
    bool is_kept = false;

    if (cor_json_canonicalize(text, &limits, canonical, NULL, NULL) == 0)
        *ret_type = fuzz_type_of(cor_buf_str(canonical));
    if (*ret_type) {
        struct cor_read_report *report = cor_read_report_new();
        int r;

        FUZZ_CHECK(report);
        r = cor_read(cor_buf_str(canonical), *ret_type, report);
        if (r == 0)
            r = cor_rewrite(*ret_type, cor_buf_str(canonical), out);
        if (r == 0)
            r = cor_buf_adds(out, cor_buf_str(canonical));
        is_kept = r >= 0;
        cor_read_report_free(report);
    }
    return is_kept;
}

static void check_same(const struct cor_field_errors *a, const struct cor_field_errors *b)
{
    FUZZ_CHECK(a->n == b->n);
    for (size_t i = 0; i < a->n; i++) {
        FUZZ_CHECK(a->v[i].type == b->v[i].type && strcmp(a->v[i].field, b->v[i].field) == 0);
        FUZZ_CHECK(strcmp(a->v[i].body, b->v[i].body) == 0);
    }
}

static int take_warning(void *arg, struct cor_str text)
{
    (void)arg;
    FUZZ_CHECK(text.n > 0);
    return 0;
}

static void validate(const struct cor_validation *validation)
{
    struct cor_field_errors errors = {0}, again = {0};

    (void)cor_validate(validation, &errors);
    FUZZ_CHECK(errors.error == 0);
    (void)cor_validate(validation, &again);
    check_same(&errors, &again);
    for (size_t i = 0; i < errors.n && validation->old.p == validation->object.p; i++)
        FUZZ_CHECK(!cor_str_ends(cor_strz(errors.v[i].body), COR_STR(": field is immutable")));
    cor_validate_warn(validation, &again);
    FUZZ_CHECK(again.error == 0 && again.n == errors.n);
    cor_field_errors_deinit(&errors);
    cor_field_errors_deinit(&again);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str rest = cor_str((const char *)data, size), text = cor_str_cut(&rest, '\n');
    const struct cor_type *type = NULL, *old_type = NULL;
    struct cor_buf object, old, sent, ignored;

    cor_buf_init(&object, JSON_MAX);
    cor_buf_init(&old, JSON_MAX);
    cor_buf_init(&sent, JSON_MAX);
    cor_buf_init(&ignored, JSON_MAX);
    if (keep(text, &object, &sent, &type)) {
        bool has_old = rest.p && keep(rest, &old, &ignored, &old_type) && old_type == type;

        for (size_t i = 0; i < COR_CHECK_OPERATIONS_N; i++) {
            struct cor_validation validation = {
                .type = type,
                .operation = (enum cor_check_operation)i,
                .object = cor_buf_str(&object),
                .sent = cor_buf_str(&sent),
                .meta = {COR_NAME_DNS1123_SUBDOMAIN, true, false},
                .warn = take_warning,
            };

            if (i == COR_CHECK_CREATE) {
                validate(&validation);
                continue;
            }
            validation.old = validation.object;
            validate(&validation);
            if (has_old) {
                validation.old = cor_buf_str(&old);
                validate(&validation);
            }
        }
    }
    cor_buf_deinit(&object);
    cor_buf_deinit(&old);
    cor_buf_deinit(&sent);
    cor_buf_deinit(&ignored);
    return 0;
}
