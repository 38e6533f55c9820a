/* clang-format off */
/* Brings an object into the state that a function of the program describes: server-side apply,
 * controller-runtime's CreateOrUpdate, CreateOrPatch and updates of a status, with retries. Also
 * waits until an object is deleted.
 *
 *   static int fill(void *arg, const struct cor_object *current, struct cor_builder *b)
 *   {
 *       cor_builder_set_text_in(b, "data", "config.json", text);
 *       return cor_builder_set_controller(b, arg);
 *   }
 *
 *   const struct cor_apply apply = {COR_APPLY, .how = COR_APPLY_UPDATE, .kind = "ConfigMap",
 *                                   .resource = {"", "v1", "configmaps"}, .ns = ns, .name = name,
 *                                   .mutate = fill, .arg = owner};
 *   r = cor_client_apply(client, &apply, &result, NULL, &why);
 *
 * Server-side apply is the same with `.how = COR_APPLY_FIELDS, .field_manager = "my-agent"`: the
 * object is not read first, and the function sets only the fields that the program wants to own.
 *
 * Thread: any; the functions that wait may not be called inside a callback (coracle/runtime.h).
 * Owner: the caller; what a call needs is copied, the objects and handles are referenced. */
/* clang-format on */
#ifndef CORACLE_APPLY_H
#define CORACLE_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/builder.h"
#include "coracle/cancel.h"
#include "coracle/client.h"
#include "coracle/object.h"
#include "coracle/request.h"
#include "coracle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cor_apply_how {
    COR_APPLY_UPDATE, /* create the object, or update it when it differs; status is not written */
    COR_APPLY_PATCH,  /* create it, or patch what differs; the status by a second patch */
    COR_APPLY_STATUS, /* update the status when it differs; the object must exist */
    /* Server-side apply: send the fields that the builder has, which `field_manager` owns from then
     * on, and create the object when it does not exist. Fields that the manager applied before and
     * no longer applies are removed, unless others own them. A field that others own is a conflict
     * (coracle/managed_fields.h names them), unless `force` is set. The object is not read, so that
     * `current` is NULL. */
    COR_APPLY_FIELDS,
};

/* What was done to the object. The names are controllerutil's: "unchanged", "created", "updated",
 * "updatedStatus" (the object and its status), "updatedStatusOnly"; and "applied". */
enum cor_apply_result {
    COR_APPLY_UNCHANGED,
    COR_APPLY_CREATED,
    COR_APPLY_UPDATED,
    COR_APPLY_UPDATED_STATUS,
    COR_APPLY_UPDATED_STATUS_ONLY,
    COR_APPLY_APPLIED, /* by COR_APPLY_FIELDS; the server does not say whether something differed */
};

COR_API const char *cor_apply_result_name(enum cor_apply_result result);

/* When another writer was faster (a conflict; an object that was created or deleted meanwhile), the
 * call reads the object again and repeats; COR_APPLY_FIELDS repeats from `mutate`. A conflict of
 * fields is not such a race: it is returned at once. */
enum cor_retry {
    COR_RETRY_NEVER,    /* the conflict is the result, as in controllerutil */
    COR_RETRY_QUICKLY,  /* 5 attempts, 10 ms apart: client-go's retry.DefaultRetry */
    COR_RETRY_PATIENTLY /* 4 attempts, after 10, 50 and 250 ms: its retry.DefaultBackoff */
};

/* Changes the builder to what the object should be. `current` is the present object, or NULL when
 * it will be created or applied; the builder then has apiVersion, kind, namespace and name. A
 * negative return ends the call with that code; a failure that the builder remembers does so, too.
 * Called once for each attempt, on the runtime's I/O thread or inside the pump: it must not block.
 */
typedef int (*cor_mutate_fn)(void *arg, const struct cor_object *current, struct cor_builder *b);

struct cor_apply {
    size_t size; /* of this struct: COR_APPLY sets it (coracle/api.h) */
    enum cor_apply_how how;
    enum cor_retry retry;
    struct cor_resource resource;
    const char *kind; /* of an object that is created */
    const char *ns;   /* absent: not namespaced */
    const char *name;
    cor_mutate_fn mutate; /* NULL: nothing is changed */
    void *arg;
    uint64_t timeout_ms; /* of all attempts together; 0: the client's timeout */
    const char *field_manager, *field_validation;
    bool dry_run;
    bool unless_changed;       /* patches contain the resourceVersion that was read */
    struct cor_cancel *cancel; /* NULL: none */
    /* The next three are read with COR_APPLY_FIELDS only, which also needs `field_manager`. */
    bool force;              /* take fields from the managers that own them */
    const char *subresource; /* "status", … to which the fields are applied; absent: the object */
    /* What the builder begins with, for example what the manager has applied before
     * (cor_object_extract()). `ns`, `name` and `kind` that are not set are taken from it; an
     * apiVersion that it has is kept. It must have no managedFields. NULL: none. */
    struct cor_object *object;
};

#define COR_APPLY .size = sizeof(struct cor_apply)

/* Reads the object (unless it is applied), calls `mutate`, writes what differs, and waits for the
 * answer. `ret_result` and
 * `ret_object` (NULL: not wanted) are written on success: the object as the server has it, which
 * the caller unrefs. 0, or as cor_client_do(); -COR_EINVAL with "MutateFn cannot mutate object name
 * and/or object namespace", or with "cannot apply an object with managed fields already set"; what
 * `mutate` returned; -COR_ECONFLICT, -COR_EEXIST or -COR_ENOTFOUND when another writer was faster
 * and no attempt is left; -COR_ECONFLICT when others own the fields
 * (cor_status_is_field_conflict()).
 */
COR_API int cor_client_apply(struct cor_client *client, const struct cor_apply *apply,
                             enum cor_apply_result *ret_result, struct cor_object **ret_object,
                             struct cor_status *reterr);

/* Called once, on the runtime's I/O thread or inside the pump; the arguments are borrowed. `error`
 * NULL: success. With an error `result` is what was written before it. */
typedef void (*cor_applied_fn)(void *arg, enum cor_apply_result result, struct cor_object *object,
                               const struct cor_status *error);

/* The same with a callback; returns at once. 0, -COR_EINVAL (no name or no kind; an apply of
 * fields without a field manager, or a member of it that is set for another `how`; a size that is
 * not set; a forked child), -COR_ENOTSUP (coracle/api.h), -COR_EBUSY, -COR_ECANCELED (the client
 * was stopped), -COR_ENOMEM: then nothing is called. */
COR_API int cor_client_apply_send(struct cor_client *client, const struct cor_apply *apply,
                                  cor_applied_fn on_applied, void *arg);

struct cor_deletion_wait {
    size_t size; /* of this struct: COR_DELETION_WAIT sets it (coracle/api.h) */
    struct cor_resource resource;
    /* The object whose deletion is awaited: namespace, name and uid are taken from it. An object of
     * the same name with another uid is another object, and the wait is over. Without a uid, the
     * name alone decides. */
    struct cor_object *of;
    uint64_t timeout_ms;       /* 0: without end */
    struct cor_cancel *cancel; /* NULL: none */
};

#define COR_DELETION_WAIT .size = sizeof(struct cor_deletion_wait)

/* Waits until the object no longer exists: a get, then a watch of the object, and both again when
 * the server has no history for the watch. 0; -COR_ETIMEOUT, -COR_ECANCELED, or as
 * cor_client_watch_until(). */
COR_API int cor_client_wait_deleted(struct cor_client *client, const struct cor_deletion_wait *wait,
                                    struct cor_status *reterr);

#ifdef __cplusplus
}
#endif

#endif
