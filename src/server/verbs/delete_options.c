/* clang-format off */
/* The options of a deletion: from the body of a DELETE (DeleteOptions in JSON, YAML or protobuf),
 * else from its query, or from a member of an Eviction.
 *
 * Flow for a body: to JSON ──► canonical ──► its kind must be DeleteOptions or absent ──► each
 * member is read with its Go type. A member of the wrong type is refused (400) in the words of Go's
 * decoder; values that are not allowed are gathered as field errors (422). Unknown members are
 * ignored. The result owns its strings; on failure there is nothing to release.
 * Thread: the thread that has the call (a stage). */
/* clang-format on */
#include "server/verbs/delete_options.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "meta/names/field_error.h"
#include "schema/kinds/decode.h"
#include "schema/walk/read.h"
#include "server/write/write_body.h"
#include "server/write/write_options.h"
#include "json/text/json.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define BODY_MAX (64u * 1024)
#define SCHEME                                                                                     \
    "in scheme \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\""

static const struct cor_field_path policy_path = {.name = COR_STR("propagationPolicy")};
static const struct cor_field_path dry_run_path = {.name = COR_STR("dryRun")};

void cor_delete_options_deinit(struct cor_delete_options *options)
{
    cor_free(options->uid);
    cor_free(options->resource_version);
    *options = (struct cor_delete_options){0};
}

/* The propagation policy was given; an empty one is refused too. */
static void read_policy(struct cor_str policy, struct cor_delete_options *options,
                        struct cor_field_errors *errs)
{
    static const char *const known[] = {"Foreground", "Background", "Orphan", "nil"};

    if (cor_str_eq(policy, COR_STR("Background")))
        options->propagation = COR_PROPAGATE_BACKGROUND;
    else if (cor_str_eq(policy, COR_STR("Foreground")))
        options->propagation = COR_PROPAGATE_FOREGROUND;
    else if (cor_str_eq(policy, COR_STR("Orphan")))
        options->propagation = COR_PROPAGATE_ORPHAN;
    else
        cor_field_errors_add_not_supported(errs, &policy_path, cor_field_string(policy), known,
                                           COR_ARRAY_LEN(known));
    if (options->orphan_dependents != COR_UNSET)
        cor_field_errors_add(errs, COR_FIELD_INVALID, &policy_path, cor_field_string(policy),
                             "orphanDependents and deletionPropagation cannot be both set");
}

static void read_dry_run(struct cor_str value, struct cor_delete_options *options,
                         struct cor_field_errors *errs)
{
    static const char *const known[] = {"All"};
    struct cor_json_iter it = cor_json_iter(value);

    while (cor_json_iter_elem(&it)) {
        struct cor_str raw;

        options->is_dry_run = true;
        if (cor_json_to_raw(cor_json_iter_value(&it), &raw) == 0 && cor_str_eq(raw, COR_STR("All")))
            continue;
        cor_field_errors_add_not_supported(errs, &dry_run_path, cor_field_json(value), known, 1);
        return;
    }
}

/* A member that is there and not null; p == NULL: there is none. */
static struct cor_str member_of(struct cor_str object, const char *key)
{
    struct cor_str value;

    if (cor_json_get(object, cor_strz(key), COR_JSON_SORTED, &value) < 0 ||
        cor_json_type(value) == COR_JSON_NULL)
        return (struct cor_str){NULL, 0};
    return value;
}

static int copy_text(struct cor_str text, char **ret)
{
    *ret = cor_strndup(text.p, text.n);
    return *ret ? 0 : -COR_ENOMEM;
}

static int read_preconditions(struct cor_call *call, struct cor_str preconditions,
                              struct cor_delete_options *options)
{
    struct cor_str uid = member_of(preconditions, "uid");
    struct cor_str version = member_of(preconditions, "resourceVersion"), raw = COR_STR("");
    int r = 0;

    if (uid.p && cor_json_to_raw(uid, &raw) == 0)
        r = copy_text(raw, &options->uid);
    if (r == 0 && version.p && cor_json_to_raw(version, &raw) == 0)
        r = copy_text(raw, &options->resource_version);
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

/* Options are what every group calls DeleteOptions; a kind that is something else is refused, and
 * so is a group without a version. `json` is the canonical form of `body`. */
static int check_options_kind(struct cor_call *call, struct cor_str body, bool is_sent_json,
                              struct cor_str json)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = BODY_MAX};
    struct cor_gv gv;
    struct cor_str kind = COR_STR(""), version = COR_STR("");

    if (member_of(json, "kind").p)
        (void)cor_json_to_raw(member_of(json, "kind"), &kind);
    if (member_of(json, "apiVersion").p)
        (void)cor_json_to_raw(member_of(json, "apiVersion"), &version);
    /* What YAML becomes is sorted at kube-apiserver, where the names in small letters come last. */
    if (is_sent_json && cor_decode_sniff(body, &version, &kind, &why) < 0)
        return cor_status_untyped(&call->status, -COR_EINVAL, "%s", cor_buf_z(&why));
    if (version.n == 0 || cor_str_eq(version, COR_STR("/")) ||
        cor_str_eq(version, COR_STR("meta.k8s.io/")))
        version = COR_STR("meta.k8s.io/v1");
    if (cor_gv_parse(version, &gv, NULL) < 0)
        return cor_status_untyped(&call->status, -COR_EINVAL,
                                  "unexpected GroupVersion string: %.*s", COR_STR_ARG(version));
    if (gv.version.n == 0)
        return cor_status_untyped(&call->status, -COR_EINVAL,
                                  "Object 'apiVersion' is missing in '%.*s'", COR_STR_ARG(body));
    if (kind.n == 0 || cor_str_eq(kind, COR_STR("DeleteOptions")))
        return 0;
    return cor_status_untyped(&call->status, -COR_EINVAL,
                              "no kind \"%.*s\" is registered for version \"%.*s\" " SCHEME,
                              COR_STR_ARG(kind), COR_STR_ARG(version));
}

/* Returns whether the body is an object. If only its text is invalid, the text is mended in
 * `mended`; `*body` is then what can be read. */
static int check_options_bytes(struct cor_call *call, struct cor_str *body, struct cor_buf *mended)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = BODY_MAX}, first = {.max = BODY_MAX};
    int r;

    if (cor_decode_check_bytes(*body, &first) == 0)
        return 0;
    r = cor_json_mend(*body, mended);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    if (r == 0 || cor_decode_check_bytes(cor_buf_str(mended), &why) < 0)
        return cor_status_untyped(&call->status, -COR_EINVAL, "%s",
                                  cor_buf_z(r == 0 ? &first : &why));
    *body = cor_buf_str(mended);
    return 0;
}

/* `json` is canonical, and DeleteOptions can hold its values. */
static int delete_options_from_json(struct cor_call *call, struct cor_str json,
                                    struct cor_delete_options *options,
                                    struct cor_field_errors *errs)
{
    struct cor_str grace = member_of(json, "gracePeriodSeconds");
    struct cor_str policy = member_of(json, "propagationPolicy"), raw = COR_STR("");
    struct cor_str orphan = member_of(json, "orphanDependents");
    struct cor_str preconditions = member_of(json, "preconditions");
    struct cor_str dry_run = member_of(json, "dryRun");
    bool b = false;

    options->has_grace = grace.p && cor_json_to_i64(grace, &options->grace_s) == 0;
    if (orphan.p && cor_json_to_bool(orphan, &b) == 0)
        options->orphan_dependents = b ? COR_TRUE : COR_FALSE;
    if (policy.p && cor_json_to_raw(policy, &raw) == 0)
        read_policy(raw, options, errs);
    if (dry_run.p)
        read_dry_run(dry_run, options, errs);
    return preconditions.p ? read_preconditions(call, preconditions, options) : 0;
}

/* A value that DeleteOptions cannot hold is refused: without a precondition, for one, more would be
 * deleted than was asked. Unknown and repeated fields are not reported, as upstream. */
static int check_options_types(struct cor_call *call, struct cor_str body)
{
    const struct cor_type *type = cor_type_named(COR_STR("meta_v1.DeleteOptions"));
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = NULL;
    int r;

    if (cor_read_is_clean(body, type))
        return 0;
    report = cor_read_report_new();
    r = report ? cor_read(body, type, report) : -COR_ENOMEM;
    if (r == -COR_EINVAL)
        return cor_status_untyped(&call->status, r, "%s", cor_buf_z(&report->error));
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

static int delete_options_from_body(struct cor_call *call, struct cor_delete_options *options,
                                    struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0}, text = {0}, dups = {0}, why = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf mended = {.max = 3 * COR_BODY_BYTES_MAX};
    /* The walk over the type judges numbers, and fields that it does not have are dropped. */
    const struct cor_json_limits limits = {BODY_MAX, COR_JSON_DEPTH_MAX, true};
    const struct cor_gvk expected = {COR_STR("meta.k8s.io"), COR_STR("v1"),
                                     COR_STR("DeleteOptions")};
    struct cor_str body;
    int r;

    cor_buf_init(&text, COR_BODY_BYTES_MAX);
    cor_buf_init(&dups, COR_BODY_DUPS_MAX);
    r = cor_body_json(call, &expected, &text, &dups, &body);
    if (r < 0)
        return r;
    if (cor_str_eq(cor_str_trim(body), COR_STR("null")))
        return 0;
    r = check_options_bytes(call, &body, &mended);
    if (r < 0)
        return r;
    cor_buf_init(&why, BODY_MAX);
    cor_buf_init(&json, BODY_MAX);
    r = cor_json_canonicalize(body, &limits, &json, NULL, NULL);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    if (cor_decode_check_type(cor_buf_str(&json), &why) < 0)
        return cor_status_untyped(&call->status, -COR_EINVAL, "%s", cor_buf_z(&why));
    r = check_options_kind(call, body, text.n == 0, cor_buf_str(&json));
    if (r == 0)
        r = check_options_types(call, body);
    return r < 0 ? r : delete_options_from_json(call, cor_buf_str(&json), options, errs);
}

/* The query has the preconditions under the names uid and resourceVersion. */
static int delete_options_from_query(struct cor_call *call, struct cor_delete_options *options,
                                     struct cor_field_errors *errs)
{
    const struct cor_api_options *o = &call->opts;
    int r = 0;

    options->has_grace = o->has_grace_period;
    options->grace_s = o->grace_period_seconds;
    options->orphan_dependents = o->orphan_dependents;
    if (o->has_propagation_policy)
        read_policy(o->propagation_policy, options, errs);
    options->is_dry_run = o->has_dry_run;
    cor_dry_run_check(call->req->query, errs);
    if (o->uid.n > 0)
        r = copy_text(o->uid, &options->uid);
    if (r == 0 && o->resource_version.n > 0)
        r = copy_text(o->resource_version, &options->resource_version);
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

static int warn_of_orphans(struct cor_call *call, const struct cor_delete_options *options)
{
    int r;

    if (!call->res->orphan_warning || options->propagation != COR_PROPAGATE_DEFAULT ||
        options->orphan_dependents != COR_UNSET)
        return 0;
    r = cor_warnings_add(&call->warnings, cor_strz(call->res->orphan_warning));
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

/* Gives the options to the caller, or releases them when there is a failure or a field error. */
static int delete_options_finish(struct cor_call *call, int r, const struct cor_field_errors *errs,
                                 struct cor_delete_options *take_options,
                                 struct cor_delete_options *ret_options)
{
    static const struct cor_gk gk = {COR_STR("meta.k8s.io"), COR_STR("DeleteOptions")};

    if (r == 0 && (errs->n > 0 || errs->error < 0))
        r = cor_status_invalid(&call->status, &gk, COR_STR(""), errs);
    if (r < 0)
        cor_delete_options_deinit(take_options);
    else
        *ret_options = *take_options;
    return r;
}

int cor_delete_options_from(struct cor_call *call, struct cor_str json,
                            struct cor_delete_options *ret_options)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_delete_options options = {0};
    int r;

    assert(json.p);
    r = delete_options_from_json(call, json, &options, &errs);
    return delete_options_finish(call, r, &errs, &options, ret_options);
}

int cor_delete_options_read(struct cor_call *call, struct cor_delete_options *ret_options)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_delete_options options = {0};
    int r = 0;

    assert(call->req);
    if (call->req->body.n > 0)
        r = delete_options_from_body(call, &options, &errs);
    else
        r = delete_options_from_query(call, &options, &errs);
    r = delete_options_finish(call, r, &errs, &options, ret_options);
    return r < 0 ? r : warn_of_orphans(call, &options);
}
