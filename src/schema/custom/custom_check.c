/* clang-format off */
/* The checks of definitions and custom objects, each in the order of the write path:
 *
 *   a definition   JSON of an object ──► cor_read: types, unknown and repeated fields ──► normal form
 *                  ──► defaults ──► status of a new definition ──► the program of the kind
 *   an object      JSON of an object ──► metadata by its type ──► rewrite by the schema: unknown
 *                  fields, nulls, defaults ──► no status, if that is a subresource ──►
 *                  metadata ──► schema, scale, embedded resources, lists
 *
 * What a step refuses ends the checks where a server would answer. Failures: no memory, and texts
 * over the maximum of an object. Thread: any. */
/* clang-format on */
#include "schema/custom/custom_check.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/status/gvk.h"
#include "schema/convert/conversion.h"
#include "schema/custom/custom_scale.h"
#include "schema/strategies/strategy_hooks.h"
#include "schema/structural/structural.h"
#include "schema/validate/validate.h"
#include "schema/walk/default.h"
#include "schema/walk/normalize.h"
#include "schema/walk/read.h"
#include "json/text/json.h"
#include "json/text/scan.h"
#include "json/write/edits.h"

#define BYTES_MAX (8u * COR_OBJECT_BYTES_MAX_DEFAULT)

#define GROUP   "apiextensions.k8s.io"
#define VERSION "v1"
#define KIND    "CustomResourceDefinition"

/* --- findings ------------------------------------------------------------------------------- */

static void report_add(struct cor_custom_report *report, bool is_warning, struct cor_str path,
                       struct cor_str words)
{
    if (is_warning)
        report->nwarnings++;
    else
        report->nerrors++;
    report->on_finding(report->arg, is_warning, path, words);
}

static int report_errors(struct cor_custom_report *report, const struct cor_field_errors *errors)
{
    for (size_t i = 0; i < errors->n; i++)
        report_add(report, false, cor_strz(errors->v[i].field), cor_strz(errors->v[i].body));
    return errors->error;
}

/* What the read walk has found; `prefix` precedes the paths in its findings. */
static int report_read(struct cor_custom_report *report, const struct cor_read_report *read, int r)
{
    if (r == -COR_EINVAL) {
        report_add(report, false, COR_STR(""), cor_buf_str(&read->error));
        return 0;
    }
    for (size_t i = 0; r == 0 && i < read->n; i++)
        report_add(report, true, COR_STR(""), cor_read_finding(read, i));
    return r;
}

/* --- documents ------------------------------------------------------------------------------ */

/* The raw text of a member that is a string; empty: there is none. */
static struct cor_str text_of(struct cor_str object, const char *key)
{
    struct cor_str value, raw = {"", 0};

    if (cor_json_type(object) == COR_JSON_OBJECT &&
        cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) == 0)
        (void)cor_json_to_raw(value, &raw);
    return raw;
}

bool cor_custom_is_definition(struct cor_str json)
{
    return cor_str_eq(text_of(json, "apiVersion"), COR_STR(GROUP "/" VERSION)) &&
           cor_str_eq(text_of(json, "kind"), COR_STR(KIND));
}

/* Appends the canonical form of the document. Fields that are twice are added to `dups` (NULL: not
 * asked for). */
static int canonical_of(struct cor_str json, struct cor_buf *out, struct cor_json_dups *dups)
{
    static const struct cor_json_limits limits = {BYTES_MAX, COR_JSON_DEPTH_MAX, true};

    return cor_json_canonicalize(json, &limits, out, dups, NULL);
}

/* Replaces *json by what a walk makes of it, in `room`: 1 of the walk means that there is another
 * form. */
static int take_form(int r, struct cor_buf *room, struct cor_str *json)
{
    if (r == 1)
        *json = cor_buf_str(room);
    return r < 0 ? r : 0;
}

/* --- definitions ---------------------------------------------------------------------------- */

/* Appends the definition with the status that a server gives to a new one. */
static int add_status(const struct cor_type *type, struct cor_str json, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf status = {.max = BYTES_MAX};
    struct cor_prepare prepare = {.on = COR_ON_CREATE,
                                  .type = type,
                                  .object = json,
                                  .spec = cor_convert_member(json, "spec")};
    struct cor_edits edits = {.n = 0};
    int r = cor_strategy_stored_version(
        &prepare,
        COR_STR("{\"acceptedNames\":{\"kind\":\"\",\"plural\":\"\"},\"conditions\":null,"
                "\"storedVersions\":null}"),
        &status);

    if (r < 0)
        return r;
    if (r == 0)
        r = cor_buf_addz(&status, "{\"acceptedNames\":{\"kind\":\"\",\"plural\":\"\"},"
                                  "\"conditions\":null,\"storedVersions\":null}");
    if (r < 0)
        return r;
    cor_edits_set(&edits, COR_STR("status"), cor_buf_str(&status));
    return cor_edits_apply(&edits, json, out);
}

static int warn_of(void *arg, struct cor_str text)
{
    report_add(arg, true, COR_STR(""), text);
    return 0;
}

int cor_custom_check_definition(struct cor_str json, struct cor_custom_report *report,
                                struct cor_buf *out)
{
    const struct cor_type *type = cor_type_of_kind(COR_STR(GROUP), COR_STR(VERSION), COR_STR(KIND));
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *read = cor_read_report_new();
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors = {0};
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf canonical = {.max = BYTES_MAX}, normal = {.max = BYTES_MAX},
                   full = {.max = BYTES_MAX}, whole = {.max = BYTES_MAX};
    struct cor_validation validation = {.type = type,
                                        .operation = COR_CHECK_CREATE,
                                        .api_version = COR_STR(GROUP "/" VERSION),
                                        .meta = {.name = COR_NAME_DNS1123_SUBDOMAIN},
                                        .warn = warn_of,
                                        .warn_arg = report};
    size_t before = report->nerrors;
    struct cor_str form;
    int r;

    assert(type && cor_custom_is_definition(json));
    if (!read)
        return -COR_ENOMEM;
    r = cor_read(json, type, read);
    if (r == -COR_EINVAL || r == -COR_ENOMEM)
        return report_read(report, read, r);
    (void)report_read(report, read, r);
    r = canonical_of(json, &canonical, NULL);
    form = cor_buf_str(&canonical);
    if (r == 0)
        r = take_form(cor_normalize(type, form, &normal), &normal, &form);
    if (r == 0)
        r = take_form(cor_default(type, form, &full), &full, &form);
    if (r == 0)
        r = add_status(type, form, &whole);
    if (r < 0)
        return r;
    validation.object = cor_buf_str(&whole);
    (void)cor_validate(&validation, &errors);
    r = report_errors(report, &errors);
    if (r == 0 && report->nerrors == before)
        r = cor_buf_adds(out, cor_buf_str(&whole));
    return r;
}

/* --- objects -------------------------------------------------------------------------------- */

/* The member of spec.versions of this name that is served; p == NULL: there is none. */
static struct cor_str version_of(struct cor_str definition, struct cor_str name)
{
    struct cor_str versions =
        cor_convert_member(cor_convert_member(definition, "spec"), "versions");
    struct cor_json_iter it = cor_json_iter(versions.p ? versions : COR_STR("[]"));

    while (cor_json_iter_elem(&it)) {
        struct cor_str version = cor_json_iter_value(&it);

        if (cor_str_eq(text_of(version, "name"), name) &&
            cor_str_eq(cor_convert_member(version, "served"), COR_STR("true")))
            return version;
    }
    return (struct cor_str){NULL, 0};
}

bool cor_custom_defines(struct cor_str definition, struct cor_str json)
{
    struct cor_str spec = cor_convert_member(definition, "spec");
    struct cor_gv gv;

    return cor_gv_parse(text_of(json, "apiVersion"), &gv, NULL) == 0 &&
           cor_str_eq(text_of(spec, "group"), gv.group) &&
           cor_str_eq(text_of(cor_convert_member(spec, "names"), "kind"), text_of(json, "kind")) &&
           version_of(definition, gv.version).p;
}

/* What the decoder finds in the metadata, whose type is known to it. The paths of its findings
 * begin at the metadata. */
static int check_metadata_type(struct cor_str json, struct cor_custom_report *report)
{
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *read = cor_read_report_new();
    struct cor_str metadata = cor_convert_member(json, "metadata");
    int r;

    if (!read)
        return -COR_ENOMEM;
    if (!metadata.p)
        return 0;
    r = cor_read(metadata, cor_type_named(COR_STR("meta_v1.ObjectMeta")), read);
    return report_read(report, read, r);
}

/* Appends the object with the namespace that kubectl would send. */
static int add_namespace(struct cor_str json, bool is_namespaced, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf metadata = {.max = BYTES_MAX};
    struct cor_str before = cor_convert_member(json, "metadata");
    struct cor_edits edits = {.n = 0}, top = {.n = 0};
    int r;

    if (!is_namespaced || text_of(before, "namespace").n > 0)
        return cor_buf_adds(out, json);
    cor_edits_set(&edits, COR_STR("namespace"), COR_STR("\"default\""));
    r = cor_edits_apply(&edits, before.p ? before : COR_STR("{}"), &metadata);
    if (r < 0)
        return r;
    cor_edits_set(&top, COR_STR("metadata"), cor_buf_str(&metadata));
    return cor_edits_apply(&top, json, out);
}

/* Appends the object without the status, which a server drops from a new object when the
 * subresource is on. */
static int drop_status(struct cor_str json, struct cor_buf *out)
{
    struct cor_edits edits = {.n = 0};

    cor_edits_drop(&edits, COR_STR("status"));
    return cor_edits_apply(&edits, json, out);
}

static int check_values(const struct cor_structural *schema, const struct cor_custom_scale *scale,
                        struct cor_str object, bool is_namespaced, struct cor_custom_report *report)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors = {0};
    const struct cor_structural_validation validation = {.object = object};
    const struct cor_object_meta_rules rules = {COR_NAME_DNS1123_SUBDOMAIN, is_namespaced,
                                                /* any_finalizer= */ true};
    struct cor_str metadata = cor_convert_member(object, "metadata");

    cor_object_meta_check(metadata.p ? metadata : COR_STR("{}"), &rules, &errors);
    cor_structural_validate(schema, &validation, &errors);
    if (scale)
        cor_custom_scale_check(scale, object, false, &errors);
    cor_structural_check_embedded(schema, &validation, &errors);
    cor_structural_check_lists(schema, &validation, &errors);
    cor_structural_check_rules(schema, &errors);
    return report_errors(report, &errors);
}

int cor_custom_check_object(struct cor_str definition, struct cor_str json,
                            struct cor_custom_report *report)
{
    COR_CLEANUP(cor_structural_unknown_freep)
    struct cor_structural_unknown *unknown = cor_structural_unknown_new();
    COR_CLEANUP(cor_structural_freep) struct cor_structural *schema = NULL;
    COR_CLEANUP(cor_custom_scale_freep) struct cor_custom_scale *scale = NULL;
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf canonical = {.max = BYTES_MAX}, named = {.max = BYTES_MAX},
                   rewritten = {.max = BYTES_MAX}, created = {.max = BYTES_MAX},
                   why = {.max = BYTES_MAX};
    struct cor_str spec = cor_convert_member(definition, "spec"), form, version;
    COR_CLEANUP(cor_json_dups_deinit) struct cor_json_dups dups;
    bool is_namespaced = cor_str_eq(text_of(spec, "scope"), COR_STR("Namespaced"));
    size_t before = report->nerrors;
    struct cor_gv gv;
    int r;

    assert(cor_custom_defines(definition, json));
    cor_json_dups_init(&dups);
    r = unknown ? canonical_of(json, &canonical, &dups) : -COR_ENOMEM;
    for (size_t i = 0; i < dups.n; i++)
        report_add(report, true, cor_strz(dups.v[i].path), COR_STR("duplicate field"));
    if (r == 0)
        r = check_metadata_type(cor_buf_str(&canonical), report);
    if (r < 0 || report->nerrors > before)
        return r;
    (void)cor_gv_parse(text_of(json, "apiVersion"), &gv, NULL);
    version = version_of(definition, gv.version);
    r = cor_structural_compile(
        cor_convert_member(cor_convert_member(version, "schema"), "openAPIV3Schema"), NULL, &schema,
        &why);
    if (r == 0)
        r = cor_custom_scale_new(cor_convert_member(version, "subresources"), &scale);
    if (r == 0)
        r = add_namespace(cor_buf_str(&canonical), is_namespaced, &named);
    if (r < 0)
        return r;
    form = cor_buf_str(&named);
    r = cor_structural_rewrite(schema, form, COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_REQUEST,
                               &rewritten, unknown);
    if (r == -COR_EINVAL) {
        report_add(report, false, COR_STR(""), cor_buf_str(&unknown->why));
        return 0;
    }
    r = take_form(r, &rewritten, &form);
    for (size_t i = 0; i < unknown->n; i++)
        report_add(report, true, unknown->v[i], COR_STR("unknown field"));
    if (r == 0 && cor_convert_member(cor_convert_member(version, "subresources"), "status").p) {
        r = drop_status(form, &created);
        form = cor_buf_str(&created);
    }
    return r < 0 ? r : check_values(schema, scale, form, is_namespaced, report);
}
