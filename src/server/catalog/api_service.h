/* One APIService, as a snapshot of the catalog has it: which group version it registers, with which
 * priorities, and which server answers for it. Made of an APIService object; another spec or
 * another uid makes another one, so that a pointer tells whether something changed.
 *
 * Only the availability changes while it lives. It is the condition Available of the object's
 * status, and follows that without another snapshot.
 * Thread: any (immutable; the availability is atomic).  Owner: its references. */
#ifndef COR_SERVER_API_SERVICE_H
#define COR_SERVER_API_SERVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/ref.h"
#include "base/str.h"
#include "meta/object/object.h"

#define COR_API_SERVICES_MAX 8192 /* in one snapshot */

struct cor_api_service {
    struct cor_ref refs;
    struct cor_str name; /* "<version>.<group>" */
    struct cor_str group, version;
    struct cor_str api_version; /* "<group>/<version>"; the version alone in the core group */
    int32_t group_priority, version_priority;
    bool is_remote; /* spec.service is set; else this server answers, and the next four are empty */
    bool insecure_skip_tls_verify;
    uint16_t service_port;
    struct cor_str service_ns, service_name;
    struct cor_str ca_bundle; /* decoded, as PEM; empty: the roots of the system */
    struct cor_str uid;
    struct cor_str spec; /* the bytes of the spec that it was made of */
    cor_rev rev;         /* of the object that it was made of */
    atomic_bool is_available;
    char *block; /* what the texts are in */
};

/* From a served APIService object. 0, -COR_ENOMEM, -COR_EINVAL (validation would have refused it).
 */
int cor_api_service_new(const struct cor_object *object, struct cor_api_service **ret_service);

struct cor_api_service *cor_api_service_ref(struct cor_api_service *service);
struct cor_api_service *cor_api_service_unref(struct cor_api_service *service); /* NULL is fine */
COR_DEFINE_CLEANUP(struct cor_api_service, cor_api_service_unref)

/* Returns whether it was made from this state of the object, apart from the availability. */
bool cor_api_service_is_of(const struct cor_api_service *service, const struct cor_object *object);

/* Is the condition Available of this object True? */
bool cor_api_service_says_available(const struct cor_object *object);

static inline bool cor_api_service_is_available(const struct cor_api_service *service)
{
    return atomic_load_explicit(&service->is_available, memory_order_relaxed);
}

#endif
