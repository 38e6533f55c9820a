/* The entries of metadata.managedFields, and the conflicts of a refused apply, as
 * coracle/managed_fields.h has them. Both are read in place; nothing is allocated.
 * Thread: any. */
#include "coracle/managed_fields.h"

#include <string.h>

#include "base/str.h"
#include "meta/object/object.h"

static struct cor_str raw_of(struct cor_view entry, const char *key)
{
    struct cor_str raw;

    return cor_view_raw(cor_view_member(entry, cor_strz(key)), &raw) == 0 ? raw : COR_STR("");
}

bool cor_object_managed_fields(const struct cor_object *object, size_t i,
                               struct cor_managed_fields *ret)
{
    struct cor_view metadata = cor_view_member(cor_object_view(object), COR_STR("metadata"));
    struct cor_view_iter it = cor_view_iter(cor_view_member(metadata, COR_STR("managedFields")));

    while (cor_view_next(&it))
        if (i-- == 0) {
            *ret = (struct cor_managed_fields){
                .manager = raw_of(it.value, "manager"),
                .operation = raw_of(it.value, "operation"),
                .api_version = raw_of(it.value, "apiVersion"),
                .subresource = raw_of(it.value, "subresource"),
                .time = raw_of(it.value, "time"),
                .fields = cor_view_member(it.value, COR_STR("fieldsV1")),
            };
            return true;
        }
    return false;
}

/* Copies the text between the double quotes at the start of *at, which Go's %q has written, and
 * moves *at behind them. Quotes and backslashes lose their backslash; the other escapes, of what
 * does not print, stay as they are written. False: there is no such text, and *at has not moved. */
static bool take_quoted(struct cor_str *at, char *to, size_t cap)
{
    size_t n = 0, i = 1;

    if (at->n == 0 || at->p[0] != '"')
        return false;
    for (; i < at->n && at->p[i] != '"'; i++) {
        if (at->p[i] == '\\' && i + 1 < at->n && (at->p[i + 1] == '"' || at->p[i + 1] == '\\'))
            i++;
        if (n + 1 < cap)
            to[n++] = at->p[i];
    }
    to[n] = '\0';
    if (i == at->n)
        return false;
    *at = cor_str_from(*at, i + 1);
    return true;
}

static bool take_prefix(struct cor_str *at, struct cor_str prefix)
{
    if (!cor_str_starts(*at, prefix))
        return false;
    *at = cor_str_from(*at, prefix.n);
    return true;
}

/* Reads `conflict with "manager" with subresource "status" using apps/v1`, whose second and third
 * part may be absent. */
static void read_owner(struct cor_str text, struct cor_field_conflict *conflict)
{
    if (!take_prefix(&text, COR_STR("conflict with ")) ||
        !take_quoted(&text, conflict->manager, sizeof(conflict->manager))) {
        conflict->manager[0] = '\0';
        return;
    }
    if (take_prefix(&text, COR_STR(" with subresource ")))
        take_quoted(&text, conflict->subresource, sizeof(conflict->subresource));
    if (take_prefix(&text, COR_STR(" using "))) {
        size_t n =
            text.n < sizeof(conflict->api_version) ? text.n : sizeof(conflict->api_version) - 1;

        memcpy(conflict->api_version, text.p, n);
        conflict->api_version[n] = '\0';
    }
}

bool cor_status_field_conflict(const struct cor_status *st, size_t i,
                               struct cor_field_conflict *ret)
{
    for (size_t at = 0; at < st->ncauses; at++) {
        const struct cor_status_cause *cause = &st->causes[at];

        if (!cause->type || strcmp(cause->type, "FieldManagerConflict") != 0 || i-- > 0)
            continue;
        *ret = (struct cor_field_conflict){.field = cause->field ? cause->field : ""};
        read_owner(cor_strz(cause->message), ret);
        return true;
    }
    return false;
}
