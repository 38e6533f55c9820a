/* The options that all writes have: dryRun, fieldManager, fieldValidation, force. They are checked
 * before the body is read.
 *
 * Failures: 422 with all field errors, in upstream's words; no memory.
 * Thread: the call's loop. */
#include "server/write/write_options.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/utf8.h"
#include "http/url.h"
#include "meta/names/field_error.h"
#include "meta/names/patch_type.h"
#include "meta/status/quote.h"
#include "json/write/writer.h"

#define FIELD_MANAGER_MAX 128

/* Writes all values of dryRun as a JSON list, which a refusal shows; `ret_known`: all are "All". */
static int list_dry_runs(struct cor_str query, struct cor_buf *list, bool *ret_known)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    struct cor_str name, value;
    int r = 0, more;

    cor_buf_init(&text, COR_API_OPTIONS_BYTES_MAX);
    *ret_known = true;
    while (r == 0 && (more = cor_url_query_next(&query, &name, &value)) != 0) {
        if (more < 0 || !cor_url_query_is(name, COR_STR("dryRun")))
            continue;
        cor_buf_reset(&text);
        more = cor_url_unescape(value, COR_URL_QUERY, &text);
        if (more == -COR_ENOMEM)
            return more;
        if (more < 0)
            continue;
        *ret_known = *ret_known && cor_str_eq(cor_buf_str(&text), COR_STR("All"));
        r = cor_buf_addc(list, list->n > 0 ? ',' : '[');
        if (r == 0)
            r = cor_json_quote(list, cor_buf_str(&text));
    }
    return r < 0 || list->n == 0 ? r : cor_buf_addc(list, ']');
}

void cor_dry_run_check(struct cor_str query, struct cor_field_errors *errs)
{
    static const char *const known[] = {"All"};
    static const struct cor_field_path path = {.name = COR_STR("dryRun")};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {0};
    bool is_known;

    cor_buf_init(&list, 2 * COR_API_OPTIONS_BYTES_MAX);
    if (list_dry_runs(query, &list, &is_known) < 0)
        errs->error = -COR_ENOMEM;
    else if (!is_known)
        cor_field_errors_add_not_supported(errs, &path, cor_field_json(cor_buf_str(&list)), known,
                                           1);
}

/* A field manager consists of printable characters; each other character is named. */
static void check_manager(struct cor_str manager, struct cor_field_errors *errs)
{
    static const struct cor_field_path path = {.name = COR_STR("fieldManager")};
    struct cor_str rest = manager;
    char why[64];
    uint32_t code;

    if (manager.n > FIELD_MANAGER_MAX)
        cor_field_errors_add_too_long(errs, &path, FIELD_MANAGER_MAX);
    while (rest.n > 0) {
        size_t at = manager.n - rest.n, n = cor_utf8_first(rest, &code);

        rest = cor_str_from(rest, n);
        if (code == COR_UTF8_INVALID || cor_quote_prints(code))
            continue;
        snprintf(why, sizeof(why), "invalid character U+%04X (at position %zu)", code, at);
        cor_field_errors_add(errs, COR_FIELD_INVALID, &path, cor_field_string(manager), why);
    }
}

/* Warns that objects of this resource are stored and nothing more, if the object is stored. */
static int warn_of_inert(struct cor_call *call)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    int r;

    if (!call->res->inert)
        return 0;
    assert(call->warnings.n == call->nroute_warnings);
    cor_buf_init(&text, COR_WARNINGS_BYTES_MAX);
    r = cor_buf_addf(&text, "%.*s is stored but has no effect on this server: %s",
                     COR_STR_ARG(call->res->kind), call->res->inert);
    if (r == 0)
        r = cor_warnings_add(&call->warnings, cor_buf_str(&text));
    call->nsuccess_warnings = call->warnings.n;
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

int cor_write_options_validate(struct cor_call *call, const char *kind)
{
    static const char *const validations[] = {"", "Ignore", "Strict", "Warn"};
    static const struct cor_field_path validation = {.name = COR_STR("fieldValidation")};
    static const struct cor_field_path force = {.name = COR_STR("force")};
    static const struct cor_field_path manager = {.name = COR_STR("fieldManager")};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    const struct cor_api_options *o = &call->opts;
    struct cor_gk gk = {COR_STR("meta.k8s.io"), cor_strz(kind)};
    enum cor_patch_type patch;
    bool known = false;
    bool is_apply = call->req->info.verb == COR_API_VERB_PATCH &&
                    cor_patch_type_of(cor_media_type(call->req->content_type), &patch) &&
                    patch == COR_PATCH_APPLY;

    assert(call->req && kind);
    if (is_apply && o->field_manager.n == 0)
        cor_field_errors_add(&errs, COR_FIELD_REQUIRED, &manager, cor_field_none(),
                             "is required for apply patch");
    if (o->force != COR_UNSET && call->req->info.verb == COR_API_VERB_PATCH && !is_apply)
        cor_field_errors_add(&errs, COR_FIELD_FORBIDDEN, &force, cor_field_none(),
                             "may not be specified for non-apply patch");
    check_manager(o->field_manager, &errs);
    cor_dry_run_check(call->req->query, &errs);
    for (size_t i = 0; i < COR_ARRAY_LEN(validations); i++)
        known = known || cor_str_eqz(o->field_validation, validations[i]);
    if (!known)
        cor_field_errors_add_not_supported(&errs, &validation,
                                           cor_field_string(o->field_validation), validations,
                                           COR_ARRAY_LEN(validations));
    if (errs.n == 0 && errs.error == 0)
        return warn_of_inert(call);
    return cor_status_invalid(&call->status, &gk, COR_STR(""), &errs);
}
