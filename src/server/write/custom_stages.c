/* clang-format off */
/* What the stages of a write do to objects of custom resources, in upstream's order (contract crd 4.1.4):
 *
 *   decode    a kind and a version are there ──► the metadata is one of Kubernetes ──► fields that the schema of the request's
 *             version does not know, and nulls, are dropped; metadata of embedded resources is read; defaults are filled in
 *   strict    what was repeated, unknown in the metadata, and dropped, in this order (`findings`)
 *   match     the kind is the resource's
 *   validate  the keywords of the schema of the request's version, its scale, embedded resources, lists; warnings
 *   store     numbers get upstream's form; the schema of the stored version drops and fills in once more, unless the object is
 *             stored as it was decoded: an apply drops nothing before, a scale adds to an object, a creation drops the status
 *
 * An object of another kind passes decoding as it is, and is refused by "match".
 * Failures: 400 for a body, 422 for what a patch made; no memory; an object over its maximum.
 * Thread: the thread that has the call. */
/* clang-format on */
#include "server/write/custom_stages.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str_set.h"
#include "meta/object/object_edit.h"
#include "meta/status/gvk.h"
#include "meta/status/quote.h"
#include "schema/custom/custom_scale.h"
#include "schema/kinds/custom_row.h"
#include "schema/kinds/custom_schema.h"
#include "schema/kinds/decode.h"
#include "schema/structural/structural.h"
#include "schema/walk/read.h"
#include "schema/walk/rewrite.h"
#include "server/strategy/scale_write.h"
#include "server/write/stages.h"
#include "server/write/write_body.h"

#define WHY_MAX        (64u * 1024)
#define LOOP_JSON_MAX  (4u * COR_HEAVY_BYTES)
#define FINALIZERS_MAX (1u << 22) /* more than a body has room for */

bool cor_write_is_custom(const struct cor_call *call)
{
    return call->type && call->type->custom;
}

/* The type of the metadata of all objects. */
static const struct cor_type *metadata_type(void)
{
    struct cor_member member;
    const struct cor_type *any =
        cor_row_schema(cor_api_of_role(COR_ROLE_NAMESPACES)); /* it has metadata, as all have */

    return cor_type_find_member(any, COR_STR("metadata"), &member)
               ? cor_type_field_type(member.field)
               : NULL;
}

static int custom_refuse(struct cor_write *write, const char *why)
{
    if (write->apply)
        return cor_body_refuse_patched(write, why);
    return cor_body_cannot_handle(&write->call, COR_STR(""), COR_STR(""), why);
}

static int custom_check_kind(struct cor_write *write, const struct cor_object *object)
{
    struct cor_call *call = &write->call;
    struct cor_str body = write->apply ? write->json : call->req->body;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = WHY_MAX + body.n};
    int r = cor_decode_check_type(cor_object_json(object), &why);
    struct cor_gv gv;

    if (r == 0 && cor_object_kind(object).n == 0) {
        r = cor_buf_addz(&why, "Object 'Kind' is missing in '");
        if (r == 0)
            r = cor_buf_adds(&why, body);
        if (r == 0)
            r = cor_buf_addc(&why, '\'');
        if (r < 0)
            return cor_status_set_err(&call->status, r);
        r = -COR_EINVAL;
    }
    if (r == 0 && cor_gv_parse(cor_object_api_version(object), &gv, NULL) < 0) {
        r = cor_buf_addf(&why, "unexpected GroupVersion string: %.*s",
                         COR_STR_ARG(cor_object_api_version(object)));
        r = r < 0 ? r : -COR_EINVAL;
    }
    if (r == 0)
        return 0;
    if (why.n == 0)
        return cor_status_set_err(&call->status, r);
    return write->apply ? cor_body_refuse_patched(write, cor_buf_z(&why))
                        : cor_body_unrecognized(call, cor_buf_z(&why));
}

/* The version that the object says it is of; "/v1" and "v1" are the same. */
static struct cor_str custom_version(const struct cor_object *object)
{
    struct cor_str version = cor_object_api_version(object);

    return version.n > 0 && version.p[0] == '/' ? cor_str_from(version, 1) : version;
}

/* Adds a finding for the stage "strict"; each ends with a NUL. Beyond the maximum they are left
 * out.
 */
static int add_finding(struct cor_write *write, const char *what, struct cor_str prefix,
                       struct cor_str path)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf whole = {.max = WHY_MAX};
    int r = cor_buf_adds(&whole, prefix);

    if (r == 0)
        r = cor_buf_adds(&whole, path);
    if (r == 0)
        r = cor_buf_addz(&write->findings, what);
    if (r == 0)
        r = cor_quote(cor_buf_str(&whole), &write->findings);
    if (r == 0)
        r = cor_buf_addc(&write->findings, '\0');
    return r == -COR_ETOOBIG ? 0 : r;
}

/* The findings of the walk over the metadata name paths below it: `unknown field "colour"`. */
static int add_metadata_findings(struct cor_write *write, const struct cor_read_report *report)
{
    int r = 0;

    for (size_t i = 0; i < report->n && r == 0; i++) {
        struct cor_str finding = cor_read_finding(report, i);
        struct cor_str rest = finding, what = cor_str_cut(&rest, '"');

        r = cor_buf_adds(&write->findings, what);
        if (r == 0)
            r = cor_buf_addz(&write->findings, "\"metadata.");
        if (r == 0)
            r = cor_buf_adds(&write->findings, rest);
        if (r == 0)
            r = cor_buf_addc(&write->findings, '\0');
    }
    return r == -COR_ETOOBIG ? 0 : r;
}

int cor_custom_check_metadata(struct cor_write *write, struct cor_str json)
{
    struct cor_str metadata;
    char why[96];

    if (cor_json_get(json, COR_STR("metadata"), COR_JSON_ANY_ORDER, &metadata) < 0 ||
        cor_json_type(metadata) == COR_JSON_OBJECT || cor_json_type(metadata) == COR_JSON_NULL)
        return 0;
    snprintf(why, sizeof(why), "json: cannot unmarshal %s into Go value of type v1.ObjectMeta",
             cor_json_go_type(cor_json_type(metadata)));
    return custom_refuse(write, why);
}

/* Reads the metadata as upstream's typed ObjectMeta, and writes it back. */
static int custom_take_metadata(struct cor_write *write, struct cor_object **object)
{
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf normal = {.max = COR_WRITE_JSON_MAX};
    struct cor_str metadata = cor_object_member(*object, COR_STR("metadata"));
    const struct cor_type *type = metadata_type();
    struct cor_call *call = &write->call;
    struct cor_object_edit edit;
    struct cor_object *made;
    int r;

    if (!metadata.p)
        return 0;
    if (!cor_read_is_clean(metadata, type)) {
        report = cor_read_report_new();
        r = report ? cor_read(metadata, type, report) : -COR_ENOMEM;
        if (r == -COR_EINVAL)
            return custom_refuse(write, cor_buf_z(&report->error));
        if (r == 0)
            r = add_metadata_findings(write, report);
        if (r < 0)
            return cor_status_set_err(&call->status, r);
    }
    r = cor_rewrite(type, metadata, &normal);
    if (r <= 0)
        return r < 0 ? cor_status_set_err(&call->status, r) : 0;
    edit = (struct cor_object_edit){
        .kind = cor_object_kind(*object),
        .api_version = cor_object_api_version(*object),
        .top = cor_object_json(*object),
        .metadata = cor_buf_str(&normal),
    };
    r = cor_object_edit(&edit, &made, &call->status);
    if (r < 0)
        return r;
    cor_object_unref(*object);
    *object = made;
    return 0;
}

/* Are the defaults of the row's schema too large for the present object? 0 or 1, -COR_ENOMEM. */
static int custom_defaults_are_large(const struct cor_write *write,
                                     const struct cor_resource_row *row)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    const struct cor_structural *schema = NULL;
    int r = cor_custom_schema_peek(row->custom->schema, &schema);

    if (r == 0 && schema && write->current)
        r = cor_structural_rewrite(schema, cor_object_json(write->current), COR_STRUCTURAL_DEFAULT,
                                   &json, NULL);
    if (r == -COR_ETOOBIG)
        return 1;
    return r < 0 ? r : 0;
}

/* Objects that were stored before their defaults became too large, in the stored version or in that
 * of the request, are served without them, and an update may leave such an object so. Any other
 * object is refused. */
static int custom_check_defaults(struct cor_write *write)
{
    struct cor_call *call = &write->call;
    int r = custom_defaults_are_large(write, call->stored);

    if (r == 0 && call->type != call->stored)
        r = custom_defaults_are_large(write, call->type);
    if (r == 1)
        return 0;
    return r < 0 ? cor_status_set_err(&call->status, r)
                 : cor_status_set(&call->status, -COR_ETOOBIG,
                                  "Request entity too large: defaults make the object too large");
}

/* Runs steps of the schema of `row` (enum cor_structural_step) over the object. -COR_EINVAL, of
 * EMBEDDED_REQUEST, is left to the caller: `unknown` says why. COR_WORK_YIELD: the object is more
 * than a loop has time for, or defaults make more of it. */
static int custom_rewrite(struct cor_write *write, const struct cor_resource_row *row,
                          unsigned steps, struct cor_structural_unknown *unknown,
                          struct cor_object **object)
{
    struct cor_call *call = &write->call;
    bool on_loop = cor_heavy_has_threads(call) && !cor_heavy_is_running(call);
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf json = {.max = on_loop ? LOOP_JSON_MAX : COR_WRITE_JSON_MAX};
    const struct cor_structural *schema;
    int r;

    assert(row->custom);
    r = cor_custom_schema_peek(row->custom->schema, &schema);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    if (!schema)
        return 0;
    if (cor_work_charge(&write->work, cor_object_json(*object).n / COR_WORK_STEP_BYTES) ==
        COR_WORK_YIELD)
        return COR_WORK_YIELD;
    r = cor_structural_rewrite(schema, cor_object_json(*object), steps, &json, unknown);
    (void)cor_work_charge(&write->work, json.n / COR_WORK_STEP_BYTES);
    if (r == -COR_EINVAL)
        return r;
    if (r == -COR_ETOOBIG && on_loop)
        return COR_WORK_YIELD;
    if ((steps & COR_STRUCTURAL_DEFAULT) && !write->is_create &&
        (r == -COR_ETOOBIG || (r == 1 && json.n > COR_OBJECT_BYTES_MAX_DEFAULT))) {
        write->lacks_defaults = true;
        if (unknown)
            unknown->n = 0;
        return custom_rewrite(write, row, steps & ~(unsigned)COR_STRUCTURAL_DEFAULT, unknown,
                              object);
    }
    if (r == -COR_ETOOBIG)
        return cor_status_set(&call->status, r,
                              "Request entity too large: defaults make the object too large");
    return cor_write_take_rewritten(call, r, &json, object);
}

/* Upstream decodes bodies and what other patches make; what an apply makes gets defaults alone,
 * until it is read from the store, and not even them if it is the present object. */
static int custom_take_fields(struct cor_write *write, struct cor_object **object)
{
    unsigned steps = write->is_applied ? COR_STRUCTURAL_DEFAULT
                                       : COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_REQUEST;
    COR_CLEANUP(cor_structural_unknown_freep)
    struct cor_structural_unknown *unknown = cor_structural_unknown_new();
    struct cor_call *call = &write->call;
    int r;

    if (write->is_applied && write->applies_nothing)
        return 0;
    r = unknown ? custom_rewrite(write, call->type, steps, unknown, object)
                : cor_status_set_err(&call->status, -COR_ENOMEM);
    if (r == -COR_EINVAL)
        return custom_refuse(write, cor_buf_z(&unknown->why));
    if (r < 0 || cor_str_eq(call->opts.field_validation, COR_STR("Ignore")))
        return r;
    for (size_t i = 0; i < unknown->n && r == 0; i++)
        r = add_finding(write, "unknown field ", COR_STR(""), unknown->v[i]);
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

int cor_write_decode_custom(struct cor_write *write, const struct cor_json_dups *dups,
                            struct cor_object **object)
{
    struct cor_call *call = &write->call;
    int r = custom_check_kind(write, *object);

    cor_buf_reset(&write->findings);
    write->lacks_defaults = false;
    if (r < 0)
        return r;
    write->api_version = custom_version(*object);
    if (!cor_str_eq(cor_object_kind(*object), call->type->kind))
        return 0;
    for (size_t i = 0; i < dups->n && r == 0; i++)
        r = add_finding(write, "duplicate field ", COR_STR(""), cor_strz(dups->v[i].path));
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    r = custom_take_metadata(write, object);
    if (r < 0)
        return r;
    r = custom_take_fields(write, object);
    write->api_version = custom_version(*object);
    return r;
}

/* `found` has the escapes of JSON. */
static void must_be(const char *name, struct cor_str found, struct cor_str wanted,
                    struct cor_field_errors *errs)
{
    const struct cor_field_path path = {.name = cor_strz(name)};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = found.n + 3};
    char detail[512];

    if (cor_str_eq(found, wanted))
        return;
    snprintf(detail, sizeof(detail), "must be %.*s", COR_STR_ARG(wanted));
    if (cor_buf_addf(&json, "\"%.*s\"", COR_STR_ARG(found)) < 0)
        errs->error = -COR_ENOMEM;
    else
        cor_field_errors_add(errs, COR_FIELD_INVALID, &path, cor_field_json(cor_buf_str(&json)),
                             detail);
}

int cor_custom_match_kind(struct cor_write *write)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_call *call = &write->call;
    struct cor_str kind = cor_object_kind(write->body);
    struct cor_gk gk = {call->type->group, kind};
    struct cor_gv gv = {call->type->group, call->type->version};

    must_be("kind", kind, call->type->kind, &errs);
    must_be("apiVersion", write->api_version, call->type->api_version, &errs);
    if (errs.n == 0 && errs.error == 0)
        return 0;
    if (cor_gv_parse(write->api_version, &gv, NULL) == 0)
        gk.group = gv.group;
    return cor_status_invalid(&call->status, &gk, cor_object_name(write->body), &errs);
}

/* The present object as the request's version has it: upstream decodes it in that version. What is
 * the same in both is forgiven, and the new object was read by the schema of that version; compared
 * with the stored object, all that this schema drops or fills in would count as a change. Appends
 * it to `out`, unless it is the stored object itself: 0, with `ret_old`. */
static int custom_old_of_version(const struct cor_write *write, const struct cor_structural *schema,
                                 struct cor_buf *out, struct cor_str *ret_old)
{
    const struct cor_call *call = &write->call;
    const unsigned steps = COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_STORED;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *plain = NULL;
    int r = 0;

    *ret_old = cor_object_json(write->current);
    if (!schema || call->res == call->stored)
        return 0;
    r = cor_object_at(write->current, 0, &plain);
    if (r == 0)
        r = cor_structural_rewrite(schema, cor_object_json(plain), steps, out, NULL);
    if (r == -COR_ETOOBIG)
        r = cor_structural_rewrite(schema, cor_object_json(plain),
                                   steps & ~(unsigned)COR_STRUCTURAL_DEFAULT, out, NULL);
    if (r == 1)
        *ret_old = cor_buf_str(out);
    return r < 0 ? r : 0;
}

void cor_custom_validate(struct cor_write *write, struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf old = {.max = COR_WRITE_JSON_MAX};
    const struct cor_call *call = &write->call;
    struct cor_structural_validation validation = {
        .work = &write->work,
        .object = cor_object_json(write->object),
        .is_status = call->sub && call->sub->part == COR_PART_STATUS,
    };
    const struct cor_custom_row *custom = call->res->custom;
    const struct cor_structural *schema;

    int r = cor_custom_schema_peek(custom->schema, &schema);

    if (r == 0 && !write->is_create)
        r = custom_old_of_version(write, schema, &old, &validation.old);
    if (r < 0 && errs->error == 0)
        errs->error = r;
    if (r == 0 && schema)
        cor_structural_validate(schema, &validation, errs);
    if (errs->error == COR_WORK_YIELD)
        return;
    if (custom->scale)
        cor_custom_scale_check(custom->scale, validation.object, validation.is_status, errs);
    if (schema)
        cor_structural_check_embedded(schema, &validation, errs);
    if (schema)
        cor_structural_check_lists(schema, &validation, errs);
    if (schema)
        cor_structural_check_rules(schema, errs);
}

/* Finalizers of an object: raw text of a JSON list. */
static struct cor_json_iter finalizers_of(const struct cor_object *object)
{
    struct cor_str list =
        object ? cor_object_meta_member(object, COR_STR("finalizers")) : cor_str(NULL, 0);

    return cor_json_iter(list.p ? list : COR_STR("[]"));
}

static int compare_texts(const void *a, const void *b)
{
    return cor_str_cmp(*(const struct cor_str *)a, *(const struct cor_str *)b);
}

/* `name` is valid, and a quoted text. */
static int warn_of_finalizer(struct cor_call *call, struct cor_str name)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = WHY_MAX};
    int r;

    if (memchr(name.p, '/', name.n) || cor_str_eq(name, COR_STR("\"orphan\"")) ||
        cor_str_eq(name, COR_STR("\"foregroundDeletion\"")) ||
        cor_str_eq(name, COR_STR("\"kubernetes\"")))
        return 0;
    r = cor_buf_addf(&text,
                     "metadata.finalizers: %.*s: prefer a domain-qualified finalizer name %sto "
                     "avoid accidental conflicts with other finalizer writers",
                     COR_STR_ARG(name), memchr(name.p, '.', name.n) ? "including a path (/) " : "");
    return r < 0 ? r : cor_warnings_add(&call->warnings, cor_buf_str(&text));
}

int cor_custom_warn(struct cor_write *write)
{
    struct cor_json_iter old = finalizers_of(write->is_create ? NULL : write->current);
    struct cor_json_iter new_ = finalizers_of(write->object);
    struct cor_str *added = NULL;
    struct cor_str_set known;
    size_t n = 0, cap = 0;
    bool is_new;
    int r = 0;

    if (write->call.sub && write->call.sub->part != COR_PART_SCALE)
        return 0;
    cor_str_set_init(&known, FINALIZERS_MAX);
    while (r == 0 && cor_json_iter_elem(&old))
        r = cor_str_set_add(&known, cor_json_iter_value(&old), &is_new);
    while (r == 0 && cor_json_iter_elem(&new_)) {
        struct cor_str name = cor_json_iter_value(&new_);

        r = cor_str_set_add(&known, name, &is_new);
        if (r == 0 && is_new)
            r = COR_ARRAY_RESERVE(&added, n, &cap, FINALIZERS_MAX);
        if (r == 0 && is_new)
            added[n++] = name;
    }
    if (n > 1)
        qsort(added, n, sizeof(added[0]), compare_texts);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = warn_of_finalizer(&write->call, added[i]);
    cor_str_set_deinit(&known);
    cor_free(added);
    return r < 0 ? cor_status_set_err(&write->call.status, r) : 0;
}

bool cor_custom_is_stored(const struct cor_write *write)
{
    return write->call.stored->custom != NULL;
}

/* May the schema of the stored version have something left to do? It has nothing for an object that
 * was decoded in that version, and is stored as it was decoded. */
static bool is_changed_after_decoding(const struct cor_write *write,
                                      const struct cor_structural *schema)
{
    const struct cor_call *call = &write->call;

    return write->is_applied || call->res != call->stored || cor_scale_is_written(call) ||
           (write->is_create && schema && cor_structural_fills_in(schema, COR_STR("status")));
}

int cor_custom_to_stored(struct cor_write *write)
{
    struct cor_call *call = &write->call;
    unsigned steps = COR_STRUCTURAL_NUMBERS;
    const struct cor_structural *schema;
    int r = cor_custom_schema_peek(call->stored->custom->schema, &schema);

    if (r < 0)
        return cor_status_set_err(&call->status, r);
    if (is_changed_after_decoding(write, schema))
        steps |= COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_STORED;
    r = custom_rewrite(write, call->stored, steps, NULL, &write->object);
    return r == 0 && write->lacks_defaults ? custom_check_defaults(write) : r;
}

int cor_custom_refuse_create(struct cor_write *write)
{
    struct cor_call *call = &write->call;
    struct cor_gr gr = cor_api_gr(call->res);

    if (!write->is_create || !call->res->custom || write->gate)
        return 0;
    if (cor_creation_gate_enter(call->res->life->gate)) {
        write->gate = call->res->life->gate;
        return 0;
    }
    return cor_status_forbidden(
        &call->status, &gr, cor_object_name(write->body),
        "create not allowed while custom resource definition is terminating");
}
