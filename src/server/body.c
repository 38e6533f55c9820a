#include "server/body.h"

#include "base/err.h"
#include "codec/yaml.h"
#include "meta/field_error.h"
#include "meta/key.h"
#include "meta/resource_version.h"
#include "server/object_edit.h"
#include "json/json.h"
#include "json/writer.h"

#define STRICT_TEXT_MAX (16u * 1024)
#define YAML_JSON_MAX   (3u << 20)

void cor_body_deinit(struct cor_body *body)
{
    body->object = cor_object_unref(body->object);
}

int cor_write_options_validate(struct cor_call *call, const char *kind)
{
    static const char *const dry_runs[] = {"All"};
    static const char *const validations[] = {"Ignore", "Strict", "Warn"};
    static const struct cor_field_path dry_run = {.name = COR_STR("dryRun")};
    static const struct cor_field_path validation = {.name = COR_STR("fieldValidation")};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {0};
    const struct cor_api_options *o = &call->opts;
    struct cor_gk gk = {COR_STR("meta.k8s.io"), cor_strz(kind)};
    bool known = o->field_validation.n == 0;

    cor_buf_init(&list, COR_API_OPTIONS_BYTES_MAX);
    if (cor_call_is_dry_run(call) && !cor_str_eq(o->dry_run, COR_STR("All"))) {
        (void)cor_buf_addc(&list, '[');
        (void)cor_json_quote(&list, o->dry_run);
        (void)cor_buf_addc(&list, ']');
        cor_field_errors_add_not_supported(&errs, &dry_run, cor_field_json(cor_buf_str(&list)),
                                           dry_runs, 1);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(validations); i++)
        known = known || cor_str_eqz(o->field_validation, validations[i]);
    if (!known)
        cor_field_errors_add_not_supported(&errs, &validation,
                                           cor_field_string(o->field_validation), validations,
                                           COR_ARRAY_LEN(validations));
    if (errs.n == 0 && errs.error == 0)
        return 0;
    return cor_status_invalid(&call->status, &gk, COR_STR(""), &errs);
}

/* `Kind in version "v1" cannot be handled as a Kind: …` */
static int cannot_handle(struct cor_call *call, struct cor_str kind, const char *why)
{
    struct cor_str as = call->sub && call->sub->kind ? cor_strz(call->sub->kind) : call->res->kind;

    return cor_status_bad_request(
        &call->status, "%.*s in version \"%.*s\" cannot be handled as a %.*s: %s",
        COR_STR_ARG(kind), COR_STR_ARG(call->res->version), COR_STR_ARG(as), why);
}

int cor_body_report_dups(struct cor_call *call, const struct cor_json_dups *dups,
                         const char *prefix)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    bool strict = cor_str_eq(call->opts.field_validation, COR_STR("Strict"));
    int r = 0;

    if (dups->n == 0 || cor_str_eq(call->opts.field_validation, COR_STR("Ignore")))
        return 0;
    cor_buf_init(&text, STRICT_TEXT_MAX);
    if (strict)
        r = cor_buf_addz(&text, "strict decoding error: ");
    for (size_t i = 0; i < dups->n && r == 0; i++) {
        r = cor_buf_addf(&text, "%s%sduplicate field \"%s\"", strict && i > 0 ? ", " : "", prefix,
                         dups->v[i].path);
        if (strict || r < 0)
            continue;
        r = cor_warnings_add(&call->warnings, cor_buf_str(&text));
        cor_buf_reset(&text);
    }
    if (r == -COR_ENOMEM)
        return cor_status_set(&call->status, r, "%s", cor_err_text(r));
    return strict ? cannot_handle(call, call->res->kind, cor_buf_z(&text)) : 0;
}

static int check_type(struct cor_call *call, const struct cor_object *object)
{
    struct cor_str kind = cor_object_kind(object), version = cor_object_api_version(object);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {0};

    if (version.n > 0 && !cor_str_eq(version, call->res->api_version))
        return cor_status_bad_request(
            &call->status,
            "the API version in the data (%.*s) does not match the expected API version (%.*s)",
            COR_STR_ARG(version), COR_STR_ARG(call->res->api_version));
    if (kind.n == 0 || cor_str_eq(kind, call->res->kind))
        return 0;
    cor_buf_init(&why, COR_KEY_BYTES_MAX);
    (void)cor_buf_addf(&why, "converting (%.*s.%.*s) to (%.*s.%.*s): unknown conversion",
                       COR_STR_ARG(call->res->version), COR_STR_ARG(kind),
                       COR_STR_ARG(call->res->version), COR_STR_ARG(call->res->kind));
    return cannot_handle(call, kind, cor_buf_z(&why));
}

static int check_names(struct cor_call *call, const struct cor_object *object)
{
    struct cor_str name = cor_object_name(object), ns = cor_object_namespace(object);

    if (call->name.n > 0 && name.n > 0 && !cor_str_eq(name, call->name))
        return cor_status_bad_request(
            &call->status,
            "the name of the object (%.*s) does not match the name on the URL (%.*s)",
            COR_STR_ARG(name), COR_STR_ARG(call->name));
    if (call->name.n > 0 && name.n == 0)
        return cor_status_bad_request(
            &call->status,
            "the name of the object (based on URL) was undeterminable: name must be provided");
    if (cor_api_is_namespaced(call->res) && ns.n > 0 && !cor_str_eq(ns, call->ns))
        return cor_status_bad_request(
            &call->status, "the namespace of the provided object does not match the namespace "
                           "sent on the request");
    return 0;
}

static int check_object(struct cor_call *call, struct cor_str rv, struct cor_body *body)
{
    int r = check_type(call, body->object);

    if (r == 0)
        r = check_names(call, body->object);
    if (r == 0)
        r = cor_resource_version_parse(rv, &body->rev, &call->status);
    return r;
}

int cor_body_from_json(struct cor_call *call, struct cor_str json, struct cor_body *ret_body)
{
    struct cor_body body = {0};
    struct cor_str rv;
    int r = cor_object_parse(json, NULL, NULL, &rv, &body.object, &call->status);

    if (r == 0)
        r = check_object(call, rv, &body);
    if (r < 0) {
        cor_body_deinit(&body);
        return r;
    }
    *ret_body = body;
    return 0;
}

/* Each line of the decoder's report is one text: `line 3: key "a" already set in map`. */
static int report_yaml_dups(struct cor_call *call, struct cor_str report)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    bool strict = cor_str_eq(call->opts.field_validation, COR_STR("Strict"));
    int r = 0;

    if (report.n == 0 || cor_str_eq(call->opts.field_validation, COR_STR("Ignore")))
        return 0;
    cor_buf_init(&text, STRICT_TEXT_MAX);
    (void)cor_buf_addz(&text, "strict decoding error: ");
    (void)cor_str_cut(&report, '\n');
    for (size_t i = 0; report.n > 0 && r == 0; i++) {
        struct cor_str line = cor_str_trim(cor_str_cut(&report, '\n'));

        if (strict)
            (void)cor_buf_addf(&text, "%s%.*s", i > 0 ? ", " : "", COR_STR_ARG(line));
        else
            r = cor_warnings_add(&call->warnings, line);
    }
    if (r < 0)
        return cor_status_set(&call->status, r, "%s", cor_err_text(r));
    return strict ? cannot_handle(call, call->res->kind, cor_buf_z(&text)) : 0;
}

static int read_yaml(struct cor_call *call, struct cor_buf *scratch, struct cor_str *ret_json)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf dups = {0};
    struct cor_yaml_error why = {.message = ""};
    int r;

    cor_buf_init(&dups, STRICT_TEXT_MAX);
    cor_buf_init(scratch, YAML_JSON_MAX);
    r = cor_yaml_to_json(call->req->body, scratch, &dups, &why);
    if (r == -COR_EINVAL)
        return cor_status_bad_request(&call->status, "error converting YAML to JSON: %s",
                                      why.message);
    if (r < 0)
        return cor_status_set(&call->status, r, "%s",
                              why.message[0] ? why.message : cor_err_text(r));
    *ret_json = cor_buf_str(scratch);
    return report_yaml_dups(call, cor_buf_str(&dups));
}

int cor_body_json(struct cor_call *call, struct cor_buf *scratch, struct cor_str *ret_json)
{
    struct cor_str type = cor_media_type(call->req->content_type);

    if (cor_str_eq(type, COR_STR("application/yaml")))
        return read_yaml(call, scratch, ret_json);
    if (type.n > 0 && !cor_str_eq(type, COR_STR("application/json")))
        return cor_status_set(&call->status, -COR_EMEDIATYPE,
                              "the body of the request was in an unknown format - accepted media "
                              "types include: application/json, application/yaml");
    *ret_json = call->req->body;
    return 0;
}

int cor_body_read(struct cor_call *call, struct cor_body *ret_body)
{
    COR_CLEANUP(cor_json_dups_deinit) struct cor_json_dups dups;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {0};
    struct cor_body body = {0};
    struct cor_str json, rv;
    int r;

    cor_json_dups_init(&dups);
    r = cor_body_json(call, &scratch, &json);
    if (r == 0)
        r = cor_object_parse(json, NULL, scratch.n > 0 ? NULL : &dups, &rv, &body.object,
                             &call->status);
    if (r == 0)
        r = check_object(call, rv, &body);
    if (r == 0)
        r = cor_body_report_dups(call, &dups, "");
    if (r < 0) {
        cor_body_deinit(&body);
        return r;
    }
    *ret_body = body;
    return 0;
}
