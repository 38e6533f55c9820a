/* clang-format off */
/* Server-side apply, the stage APPLY_PATCH of a PATCH with application/apply-patch+yaml: the
 * configuration that a client sends is merged into the present object, and what the client applied
 * before and does not apply any more goes (schema/apply/field_managers.h).
 *
 *   YAML or JSON ──► canonical JSON ──► the managers of the present object ──► apiVersion and kind are
 *   the endpoint's ──► no managedFields are sent ──► cor_field_managers_apply() ──► `json` and `managed`
 *
 * Without a present object the configuration is applied to the zero object of the kind, and a new
 * object is made. What the stage makes goes through the other stages like a body.
 *
 * Failures, in upstream's words: 400 for what is not YAML or of another kind; 409 with a cause for
 * each field that another manager owns; 500 for a field that the type does not have, or a value of
 * another type, and for a present object whose managers cannot be read. COR_WORK_YIELD: it is too
 * much for a loop; 413: it is too much for the budget of a request.
 * Thread: the thread that has the call. */
/* clang-format on */
#include "server/write/stage_apply.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "codec/yaml.h"
#include "meta/object/object_edit.h"
#include "meta/status/gvk.h"
#include "schema/structural/numbers.h"
#include "server/write/last_applied.h"
#include "server/write/managed_versions.h"
#include "json/text/scan.h"

#define WORDS_MAX (4u << 20)

/* ---- the configuration ---- */

/* `err` is -COR_EINVAL, or -COR_ETOOBIG for what only this server does not take. */
static int refuse_yaml(struct cor_call *call, int err, const char *why)
{
    return err == -COR_ETOOBIG
               ? cor_status_set(&call->status, err, "error decoding YAML: %s", why)
               : cor_status_bad_request(&call->status, "error decoding YAML: %s", why);
}

/* Appends the bytes as they are sent, if they are JSON that repeats nothing. 1: they are not. */
static int add_json(struct cor_str sent, const struct cor_json_limits *limits, struct cor_buf *out)
{
    COR_CLEANUP(cor_json_dups_deinit) struct cor_json_dups dups;
    size_t before = out->n;
    int r;

    cor_json_dups_init(&dups);
    r = cor_json_canonicalize(sent, limits, out, &dups, NULL);
    if (r == -COR_ENOMEM)
        return r;
    if (r == 0 && dups.n == 0)
        return 0;
    cor_buf_truncate(out, before);
    return 1;
}

static int add_yaml(const struct cor_applying *write, struct cor_str sent,
                    const struct cor_json_limits *limits, struct cor_buf *out)
{
    struct cor_call *call = write->call;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = COR_WRITE_JSON_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf words = {.max = WORDS_MAX};
    struct cor_yaml_error why = {.message = ""};
    int r = cor_yaml_to_json(sent, &text, &write->received->yaml_dups, &why);

    if (r == -COR_EINVAL || (r == -COR_ETOOBIG && why.message[0])) {
        int err = r;

        r = cor_buf_addf(&words, "error converting YAML to JSON: %s", why.message);
        return r < 0 ? cor_status_set_err(&call->status, r)
                     : refuse_yaml(call, err, cor_buf_z(&words));
    }
    if (r == 0)
        r = cor_json_canonicalize(cor_buf_str(&text), limits, out, NULL, NULL);
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

/* Writes numbers as they are after a trip through Go's YAML: 3.0 is 3. */
static int write_numbers(struct cor_buf *config)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf numbers = {.max = COR_WRITE_JSON_MAX};
    int r = cor_structural_write_numbers(cor_buf_str(config), &numbers);

    if (r > 0) {
        cor_buf_reset(config);
        r = cor_buf_adds(config, cor_buf_str(&numbers));
    }
    return r;
}

/* The configuration as canonical JSON. 0, or a failure in the status. */
static int read_config(const struct cor_applying *write, struct cor_str sent, struct cor_buf *out)
{
    static const struct cor_json_limits limits = {COR_WRITE_JSON_MAX, COR_JSON_DEPTH_MAX, true};
    struct cor_call *call = write->call;
    enum cor_json_type type;
    int r =
        cor_str_trim(sent).n > 0 && *cor_str_trim(sent).p == '{' ? add_json(sent, &limits, out) : 1;

    if (r < 0)
        return cor_status_set_err(&call->status, r);
    cor_buf_reset(&write->received->yaml_dups);
    if (r > 0)
        r = add_yaml(write, sent, &limits, out);
    if (r < 0)
        return r;
    r = write_numbers(out);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    type = cor_json_type(cor_buf_str(out));
    if (type == COR_JSON_NULL) {
        cor_buf_reset(out);
        r = cor_buf_addz(out, "{}");
        return r < 0 ? cor_status_set_err(&call->status, r) : 0;
    }
    if (type == COR_JSON_OBJECT)
        return 0;
    return cor_status_bad_request(
        &call->status,
        "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
        "%s into Go value of type map[string]interface {}",
        cor_json_go_type(type));
}

/* A text of an object; "" when it has none. */
static struct cor_str text_at(struct cor_str object, const char *key)
{
    struct cor_str value, raw;

    if (cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) < 0 ||
        cor_json_to_raw(value, &raw) < 0)
        return COR_STR("");
    return raw;
}

static struct cor_str member_at(struct cor_str object, const char *key)
{
    struct cor_str value;

    return cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) < 0 ? COR_STR("")
                                                                               : value;
}

/* Is it a list of objects? Upstream takes everything else for no managedFields. */
static bool is_list_of_objects(struct cor_str value)
{
    struct cor_json_iter it;

    if (value.n == 0 || cor_json_type(value) != COR_JSON_ARRAY)
        return false;
    it = cor_json_iter(value);
    while (cor_json_iter_elem(&it)) {
        if (cor_json_type(cor_json_iter_value(&it)) != COR_JSON_OBJECT)
            return false;
    }
    return true;
}

/* What the configuration says about itself. */
static int check_config(struct cor_call *call, struct cor_str config)
{
    struct cor_str version = text_at(config, "apiVersion"), kind = text_at(config, "kind");
    struct cor_gv gv = {COR_STR(""), COR_STR("")};

    if (cor_gv_parse(version, &gv, NULL) < 0)
        kind = COR_STR("");
    if (!cor_str_eq(gv.group, call->type->group) || !cor_str_eq(gv.version, call->type->version) ||
        !cor_str_eq(kind, call->type->kind))
        return cor_status_bad_request(&call->status, "invalid object type: %.*s/%.*s, Kind=%.*s",
                                      COR_STR_ARG(gv.group), COR_STR_ARG(gv.version),
                                      COR_STR_ARG(kind));
    if (is_list_of_objects(member_at(member_at(config, "metadata"), "managedFields")))
        return cor_status_bad_request(&call->status, "metadata.managedFields must be nil");
    return 0;
}

/* ---- the result ---- */

static int on_conflict(void *arg, struct cor_str who, struct cor_str path)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = WORDS_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf field = {.max = WORDS_MAX};
    struct cor_call *call = arg;
    int r = cor_buf_adds(&text, who);

    if (r == 0)
        r = cor_buf_adds(&field, path);
    return r < 0 ? r
                 : cor_status_add_cause(&call->status, "FieldManagerConflict", cor_buf_z(&text),
                                        cor_buf_z(&field));
}

/* Sets the status to a failure; too much work for a loop is not a failure. */
static int fail_with(struct cor_call *call, int r)
{
    return r == COR_WORK_YIELD ? r : cor_status_set_err(&call->status, r);
}

/* Sets the status of an apply that failed with `r`. */
static int refuse_apply(struct cor_call *call, int r, const struct cor_buf *words)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status causes = {0};
    int added = 0;

    if (r == -COR_EINVALID)
        return cor_status_untyped(&call->status, -COR_EINTERNAL, "%s", cor_buf_z(words));
    if (r != -COR_ECONFLICT)
        return fail_with(call, r);
    /* The causes are there already; setting the message drops them. */
    cor_status_move(&causes, &call->status);
    cor_status_set(&call->status, r, "%s", cor_buf_z(words));
    for (size_t i = 0; i < causes.ncauses && added == 0; i++)
        added = cor_status_add_cause(&call->status, causes.causes[i].type, causes.causes[i].message,
                                     causes.causes[i].field);
    return added < 0 ? cor_status_set_err(&call->status, added) : r;
}

/* An object that is created has no uid yet. */
static int check_uid(const struct cor_applying *write)
{
    struct cor_str uid = text_at(member_at(write->received->json, "metadata"), "uid");
    struct cor_gr gr = cor_api_gr(write->call->res);

    if (!write->present->is_create || uid.n == 0)
        return 0;
    return cor_status_conflict(&write->call->status, &gr, write->call->name,
                               "uid mismatch: the provided object specified uid %.*s, and no "
                               "existing object was found",
                               COR_STR_ARG(uid));
}

/* The managers of the present object. 0, or a failure in the status. */
static int read_live(struct cor_managed *m, struct cor_field_managers *ret)
{
    const struct cor_managing *write = m->write;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf words = {.max = WORDS_MAX};
    struct cor_str list = write->present->current ? cor_object_meta_member(write->present->current,
                                                                           COR_STR("managedFields"))
                                                  : cor_str(NULL, 0);
    int r;

    *ret = (struct cor_field_managers){0};
    if (!list.p)
        return 0;
    r = cor_managed_read(m, list, ret, &words);
    if (r == -COR_EINVAL)
        return cor_status_untyped(&write->call->status, -COR_EINTERNAL,
                                  "failed to decode managed fields: %s", cor_buf_z(&words));
    return r < 0 ? fail_with(write->call, r) : 0;
}

/* Applies the configuration: sets `json` and `managed`. */
static int apply_merged(const struct cor_applying *write, struct cor_managed *m,
                        struct cor_field_managers *managers, struct cor_str config)
{
    struct cor_call *call = write->call;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf zero = {.max = COR_WRITE_JSON_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf live = {.max = COR_WRITE_JSON_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf words = {.max = WORDS_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf last = {.max = COR_WRITE_JSON_MAX};
    bool is_kubectl;
    int r = cor_managed_add_zero(call, &zero);

    if (r == 0)
        r = write->present->current ? cor_managed_add_object(call, write->present->current, &live)
                                    : cor_buf_adds(&live, cor_buf_str(&zero));
    if (r < 0)
        return call->status.err < 0 ? r : cor_status_set_err(&call->status, r);
    is_kubectl = cor_str_eqz(m->request.manager, COR_LAST_APPLIED_MANAGER);
    if (is_kubectl)
        r = cor_last_applied_read(cor_buf_str(&live), call->type->api_version, &last);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    m->request.last_applied = cor_buf_str(&last);
    cor_buf_init(&write->received->text, COR_WRITE_JSON_MAX);
    r = cor_field_managers_apply(managers, &m->request, cor_buf_str(&zero), cor_buf_str(&live),
                                 config, &write->received->text, &words);
    if (r < 0)
        return refuse_apply(call, r, &words);
    write->received->applies_nothing =
        write->present->current &&
        cor_str_eq(cor_buf_str(&write->received->text), cor_buf_str(&live));
    r = cor_managed_write(m, managers);
    if (r == 0 && is_kubectl)
        r = cor_last_applied_renew(config, &write->received->text);
    if (r < 0)
        return fail_with(call, r);
    write->received->json = cor_buf_str(&write->received->text);
    return check_uid(write);
}

/* Appends what messages call an object: "ns/name; group/version, Kind=Kind". */
static int add_subject(const struct cor_call *call, struct cor_str ns, struct cor_str name,
                       struct cor_buf *out)
{
    return cor_buf_addf(out, "%.*s/%.*s; %.*s/%.*s, Kind=%.*s", COR_STR_ARG(ns), COR_STR_ARG(name),
                        COR_STR_ARG(call->type->group), COR_STR_ARG(call->type->version),
                        COR_STR_ARG(call->type->kind));
}

int cor_write_apply_config(const struct cor_applying *write, struct cor_str sent)
{
    struct cor_call *call = write->call;
    const struct cor_managing managing = {.call = call,
                                          .work = write->work,
                                          .asked = write->asked,
                                          .present = write->present,
                                          .received = write->received,
                                          .managed = write->managed};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf config = {.max = COR_WRITE_JSON_MAX};
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf subject = {.max = COR_WRITE_JSON_MAX}, live = {.max = COR_WRITE_JSON_MAX};
    struct cor_field_managers managers;
    struct cor_managed m;
    struct cor_str metadata;
    int r = read_config(write, sent, &config);

    assert(write->asked->is_applied && (call->schema || call->type->custom));
    assert(write->present->is_create || write->present->current);
    if (r < 0)
        return r;
    metadata = member_at(cor_buf_str(&config), "metadata");
    r = add_subject(call, text_at(metadata, "namespace"), text_at(metadata, "name"), &subject);
    if (r == 0)
        r = add_subject(call, call->ns, call->name, &live);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    r = cor_managed_init(&m, &managing);
    if (r < 0)
        r = fail_with(call, r);
    m.request.force = call->opts.force == COR_TRUE;
    m.request.subject = cor_buf_str(&subject);
    m.request.live_subject = cor_buf_str(&live);
    m.request.on_conflict = on_conflict;
    m.request.arg = call;
    if (r == 0)
        r = read_live(&m, &managers);
    if (r == 0)
        r = check_config(call, cor_buf_str(&config));
    if (r == 0)
        r = apply_merged(write, &m, &managers, cor_buf_str(&config));
    cor_managed_deinit(&m);
    return r;
}
