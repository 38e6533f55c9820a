/* clang-format off */
/* Who owns which fields of an object, as metadata.managedFields records it: the entries, the fields
 * that a manager has applied (client-go's Extract), and the conflicts of a refused server-side
 * apply. All functions work on what a server has sent before; none asks a server.
 *
 * A program that applies its fields, and wants to change one of them without losing the others:
 *
 *   cor_object_extract(current, "my-agent", NULL, &mine, &why);
 *   const struct cor_apply apply = {COR_APPLY, .how = COR_APPLY_FIELDS, .object = mine, .mutate = change, ...};
 *   r = cor_client_apply(client, &apply, NULL, NULL, &why);
 *   for (size_t i = 0; cor_status_field_conflict(&why, i, &conflict); i++)
 *       printf("%s is owned by %s\n", conflict.field, conflict.manager);
 *
 * Thread: any. */
/* clang-format on */
#ifndef CORACLE_MANAGED_FIELDS_H
#define CORACLE_MANAGED_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "coracle/api.h"
#include "coracle/object.h"
#include "coracle/status.h"
#include "coracle/str.h"
#include "coracle/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One entry of metadata.managedFields, borrowed from the object. An absent text is empty; a text
 * with escapes is returned as it is written. */
struct cor_managed_fields {
    struct cor_str manager;
    struct cor_str
        operation; /* "Apply": the manager applied the fields; "Update": any other write */
    struct cor_str api_version; /* the version in which the fields are named */
    struct cor_str subresource; /* "status", …; empty: the object itself */
    struct cor_str time;        /* RFC 3339 */
    struct cor_view fields;     /* FieldsV1: {"f:data":{".":{},"f:key":{}}} */
};

/* The entry at index `i`; false when there are fewer entries:
 *
 *   for (size_t i = 0; cor_object_managed_fields(object, i, &entry); i++) ... */
COR_API bool cor_object_managed_fields(const struct cor_object *object, size_t i,
                                       struct cor_managed_fields *ret);

/* Makes an object of what `manager` has applied to `object`, through the object itself (NULL) or a
 * subresource ("status"): apiVersion, kind, name and namespace, and the fields that the manager's
 * entry of operation Apply names, with their present values. Without such an entry there are only
 * apiVersion, kind, name and namespace. The result is what the manager would apply to change
 * nothing; applying it with one field less gives that field up.
 *
 * The object must be read as a whole, with its managedFields. A list's items are found by the keys,
 * values or indexes that the entry has, so that no schema is needed. An entry does not tell whether
 * an owned map or list without owned members is owned as a whole (atomic) or only for itself; it is
 * extracted with its content, unless another entry owns something in it, and then as empty. Memory:
 * some times the bytes of managedFields and of the result. 0, -COR_ENOMEM, -COR_ETOOBIG. */
COR_API int cor_object_extract(const struct cor_object *object, const char *manager,
                               const char *subresource, struct cor_object **ret_object,
                               struct cor_status *reterr);

#define COR_CONFLICT_MANAGER_MAX 260 /* with its NUL; a server accepts 128 bytes */
#define COR_CONFLICT_TEXT_MAX    320

/* A field that a refused apply wanted to change, and a manager that owns it. A text that does not
 * fit is truncated. */
struct cor_field_conflict {
    const char *field; /* ".spec.replicas", ".spec.ports[port=80,protocol=\"TCP\"].name"; borrowed
                          from the status, and never NULL */
    char manager[COR_CONFLICT_MANAGER_MAX];  /* "": the server's message has another form */
    char subresource[COR_CONFLICT_TEXT_MAX]; /* through which the manager wrote; "": none */
    /* The version in which the manager wrote the field; "" when the manager owns it by an apply. */
    char api_version[COR_CONFLICT_TEXT_MAX];
};

/* The conflict at index `i` of a server-side apply that was refused, in the server's order; false
 * when there are fewer. A field with two owners is two conflicts. A status keeps at most
 * COR_STATUS_CAUSES_MAX of them; its message names all. */
COR_API bool cor_status_field_conflict(const struct cor_status *st, size_t i,
                                       struct cor_field_conflict *ret);

#ifdef __cplusplus
}
#endif

#endif
