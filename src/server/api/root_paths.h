/* The list of paths that `GET /` answers with.
 * Thread: the call's loop. */
#ifndef COR_SERVER_ROOT_PATHS_H
#define COR_SERVER_ROOT_PATHS_H

#include "base/buf.h"
#include "server/api/api_loop.h"
#include "server/catalog/served.h"

/* Appends {"paths":[..]} in byte order: the versions of `served`, the health checks of the program,
 * and the other documents. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_root_paths_write(const struct cor_api *api, const struct cor_served *served,
                         struct cor_buf *out);

#endif
