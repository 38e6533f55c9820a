/* Which controllers there are inside the server, and which of them --controllers enables.
 * Thread: any (pure). */
#ifndef COR_SERVER_CONTROLLERS_HOST_CONTROLLER_TABLE_H
#define COR_SERVER_CONTROLLERS_HOST_CONTROLLER_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "meta/status/status.h"
#include "server/controllers/host/server_controller.h"

#define COR_SERVER_CONTROLLERS_MAX 16

/* All controllers, in the order in which they are started. */
extern const struct cor_server_controller_ops *const cor_server_controllers[];
extern const size_t cor_nserver_controllers;

/* Is this controller enabled by the list, as kube-controller-manager reads it? "*" enables all,
 * "name" one, "-name" disables one, "-*" and "" disable all that are not named; the first item
 * that names a controller counts. NULL is "*". */
bool cor_server_controller_is_enabled(const char *list, const char *name);

/* 0, or -COR_EINVAL: an item is not the name of a controller of this server. */
int cor_server_controllers_check(const char *list, struct cor_status *reterr);

#endif
