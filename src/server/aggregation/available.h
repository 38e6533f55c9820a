/* Inside server/aggregation/: the condition Available of an APIService, as upstream words it.
 * Thread: any (pure). */
#ifndef COR_SERVER_AVAILABLE_H
#define COR_SERVER_AVAILABLE_H

#include <stdbool.h>

#include "base/buf.h"
#include "meta/object/object.h"
#include "server/catalog/api_service.h"

#define COR_AVAILABLE_MESSAGE_MAX 8192

struct cor_available {
    const char *status, *reason;
    struct cor_buf message;
};

/* Empty until it is set. cor_buf_deinit() its message. */
void cor_available_init(struct cor_available *a);

/* Each replaces the verdict. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_available_set(struct cor_available *a, const char *status, const char *reason,
                      const char *fmt, ...) COR_PRINTF(4, 5);

/* The port of the service in this Service object: is it there, and what is its name? Only a Service
 * of type ClusterIP is asked. */
bool cor_available_checks_ports(const struct cor_object *service);
bool cor_available_port_name(const struct cor_object *service, uint16_t port,
                             struct cor_str *ret_name);

/* Has this EndpointSlice a ready endpoint, and a port of the name? */
bool cor_available_slice_serves(const struct cor_object *slice, struct cor_str port_name);

/* Appends a merge patch that puts the condition into the status of the object: the other conditions
 * stay, lastTransitionTime moves when the status flips. 1: it is appended; 0: the object says so
 * already. -COR_ENOMEM, -COR_ETOOBIG. */
int cor_available_patch(const struct cor_available *a, const struct cor_object *object,
                        int64_t now_s, struct cor_buf *out);

#endif
