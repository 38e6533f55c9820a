/* The verb of all paths outside resources: discovery, OpenAPI, health, version.
 * Thread: the call's loop. */
#ifndef COR_SERVER_PATHS_H
#define COR_SERVER_PATHS_H

#include "server/api/call.h"

extern const struct cor_verb_ops cor_verb_path;

#endif
