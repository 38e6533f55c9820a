/* What the stages that read an object of a custom resource share.
 * Thread: the thread that has the call (pure). */
#ifndef COR_SERVER_WRITE_CUSTOM_BODY_H
#define COR_SERVER_WRITE_CUSTOM_BODY_H

#include "server/write/write_phases.h"

/* Refuses the body, or what a patch made. Returns what is in the status. */
int cor_custom_refuse(const struct cor_receiving *write, const char *why);

/* The version that the object says it is of; "/v1" and "v1" are the same. */
struct cor_str cor_custom_version(const struct cor_object *object);

/* Is the body of the kind of the resource? One of another kind passes the stages as it is, until
 * MATCH_KIND refuses it. */
bool cor_custom_is_of_kind(const struct cor_call *call, const struct cor_object *body);

/* Adds a finding for CHECK_FIELDS: `what`, and the quoted path. 0, -COR_ENOMEM. */
int cor_custom_add_finding(struct cor_write_received *received, const char *what,
                           struct cor_str path);

#endif
