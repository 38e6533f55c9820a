/* clang-format off */
/* The stage "validate": what the object that is about to be stored must not be. All that is wrong
 * is collected and answered together, as upstream does.
 *
 *   create:               the metadata
 *   update:               fields that may not change, finalizers of an object that is being
 *                         deleted, then the metadata
 *   part of an object:    the uid of the body alone; metadata does not come from the body
 *                         (server/strategy/parts.h)
 *
 * Failures: 422 with all field errors, 409 for the uid of a scale; no memory.
 * Thread: the thread that has the call. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str_set.h"
#include "meta/field_error.h"
#include "meta/object_edit.h"
#include "meta/object_meta.h"
#include "server/strategy/parts.h"
#include "server/write/stages.h"
#include "json/scan.h"

#define TEXT_MAX (64u * 1024)

static bool same_value(struct cor_str a, struct cor_str b)
{
    return cor_str_eq(a.p ? a : COR_STR(""), b.p ? b : COR_STR(""));
}

static void check_immutable(struct cor_field_errors *errs, const struct cor_object *old,
                            const struct cor_object *object, const char *key)
{
    struct cor_field_path meta = cor_field_root(COR_STR("metadata"));
    struct cor_field_path path = cor_field_child(&meta, cor_strz(key));
    struct cor_str value = cor_object_meta_member(object, cor_strz(key));

    if (!same_value(cor_object_meta_member(old, cor_strz(key)), value))
        cor_field_errors_add(errs, COR_FIELD_INVALID, &path,
                             cor_field_json(value.p ? value : COR_STR("null")),
                             "field is immutable");
}

/* Adds the elements of an array to the set, as their bytes. */
static int read_elements(struct cor_str array, struct cor_str_set *set)
{
    struct cor_json_iter it = cor_json_iter(array.p ? array : COR_STR("[]"));
    bool is_new;
    int r = 0;

    while (r == 0 && cor_json_iter_elem(&it))
        r = cor_str_set_add(set, cor_json_iter_value(&it), &is_new);
    return r;
}

/* Once deletion has begun, finalizers may be removed but not added. */
static int check_finalizers(struct cor_field_errors *errs, const struct cor_object *old,
                            const struct cor_object *object)
{
    struct cor_field_path meta = cor_field_root(COR_STR("metadata"));
    struct cor_field_path path = cor_field_child(&meta, COR_STR("finalizers"));
    struct cor_str before = cor_object_meta_member(old, COR_STR("finalizers"));
    struct cor_str after = cor_object_meta_member(object, COR_STR("finalizers"));
    struct cor_json_iter it = cor_json_iter(after.p ? after : COR_STR("[]"));
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set known = {.nfew = 0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    size_t n = 0;
    int r;

    if (!cor_object_meta_member(old, COR_STR("deletionTimestamp")).p)
        return 0;
    cor_str_set_init(&known, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&text, TEXT_MAX);
    r = read_elements(before, &known);
    if (r == 0)
        r = cor_buf_addz(&text,
                         "no new finalizers can be added if the object is being deleted, found "
                         "new finalizers []string{");
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str raw = cor_json_iter_value(&it);

        if (cor_str_set_has(&known, raw))
            continue;
        r = cor_buf_addf(&text, "%s%.*s", n++ > 0 ? ", " : "", COR_STR_ARG(raw));
    }
    if (r == 0)
        r = cor_buf_addc(&text, '}');
    /* The message names as many as fit. */
    if (r == -COR_ETOOBIG)
        r = 0;
    if (r == 0 && n > 0)
        cor_field_errors_add(errs, COR_FIELD_FORBIDDEN, &path, cor_field_none(), cor_buf_z(&text));
    return r;
}

/* Refuses a body whose uid is not the object's. Upstream has other words for a scale, which is not
 * a stored object. */
static int check_part_uid(struct cor_call *call, const struct cor_object *old,
                          const struct cor_object *body)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_str want = cor_object_uid(body), have = cor_object_uid(old);
    struct cor_gr scale = {call->res->group, COR_STR("")};
    struct cor_gk gk = cor_api_gk(call->res);
    char resource[128];

    if (want.n == 0 || cor_str_eq(want, have))
        return 0;
    if (call->sub->part == COR_PART_SCALE) {
        snprintf(resource, sizeof(resource), "%.*s/%s", COR_STR_ARG(call->res->plural),
                 call->sub->name);
        scale.resource = cor_strz(resource);
        return cor_status_conflict(
            &call->status, &scale, call->name,
            "Precondition failed: UID in precondition: %.*s, UID in object meta: %.*s",
            COR_STR_ARG(want), COR_STR_ARG(have));
    }
    check_immutable(&errs, old, body, "uid");
    return cor_status_invalid(&call->status, &gk, call->name, &errs);
}

int cor_write_validate(struct cor_write *write)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_call *call = &write->call;
    const struct cor_object *old = write->current, *object = write->object;
    struct cor_object_meta_rules rules = {call->res->name_rule, cor_api_is_namespaced(call->res),
                                          call->res->flags & COR_API_ANY_FINALIZER};
    struct cor_gk gk = cor_api_gk(call->res);
    int r;

    assert(object && (write->is_create || old));
    if (!write->is_create) {
        if (cor_part_is_written(call))
            return check_part_uid(call, old, write->body);
        check_immutable(&errs, old, object, "uid");
        check_immutable(&errs, old, object, "deletionTimestamp");
        check_immutable(&errs, old, object, "deletionGracePeriodSeconds");
        r = check_finalizers(&errs, old, object);
        if (r < 0)
            return cor_status_set_err(&call->status, r);
    }
    cor_object_meta_check(cor_object_metadata(object), &rules, &errs);
    if (errs.n == 0 && errs.error == 0)
        return 0;
    return cor_status_invalid(&call->status, &gk, cor_object_name(object), &errs);
}
