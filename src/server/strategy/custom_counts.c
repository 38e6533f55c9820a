/* Compares two states of a custom resource member by member, in the version of the request: what
 * that version does not know counts for nothing. Failures: no memory. */
#include "server/strategy/custom_counts.h"

#include <assert.h>

#include "base/err.h"
#include "schema/kinds/custom_row.h"
#include "json/text/scan.h"

/* Moves to the next member that counts for the generation: it is not kind, apiVersion or metadata,
 * is not edited, and is not null. False: there is none. */
static bool next_counted(struct cor_json_iter *it, const struct cor_edits *edits,
                         struct cor_str *ret_key, struct cor_str *ret_value)
{
    while (cor_json_iter_member(it, ret_key)) {
        bool counts = !cor_str_eqz(*ret_key, "kind") && !cor_str_eqz(*ret_key, "apiVersion") &&
                      !cor_str_eqz(*ret_key, "metadata");

        *ret_value = cor_json_iter_value(it);
        for (size_t i = 0; i < edits->n && counts; i++)
            counts = !cor_str_eq(edits->v[i].key, *ret_key);
        if (counts && cor_json_type(*ret_value) != COR_JSON_NULL)
            return true;
    }
    return false;
}

/* Both are canonical, so that equal objects have equal members in the same order. */
static bool differ(const struct cor_object *object, const struct cor_object *before,
                   const struct cor_edits *edits)
{
    struct cor_json_iter body = cor_json_iter(cor_object_json(object));
    struct cor_json_iter old = cor_json_iter(cor_object_json(before));
    struct cor_str key, value, old_key, old_value;

    for (;;) {
        bool has = next_counted(&body, edits, &key, &value);
        bool had = next_counted(&old, edits, &old_key, &old_value);

        if (!has || !had)
            return has != had;
        if (!cor_str_eq(key, old_key) || !cor_str_eq(value, old_value))
            return true;
    }
}

int cor_custom_counts(const struct cor_call *call, const struct cor_object *body,
                      const struct cor_object *old, const struct cor_edits *edits)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *shown = NULL, *shown_old = NULL;
    int r;

    assert(call->res->custom && body && old);
    if (call->res == call->stored)
        return differ(body, old, edits);
    r = cor_row_convert(call->res, call->res->conversion, body, &shown);
    if (r == 0)
        r = cor_row_convert(call->res, call->res->conversion, old, &shown_old);
    return r < 0 ? r : differ(shown, shown_old, edits);
}
