/* Everything outside of the resources: discovery, health, version. */
#ifndef COR_SERVER_PATHS_H
#define COR_SERVER_PATHS_H

#include "server/api/call.h"

extern const struct cor_verb cor_verb_path;

/* /healthz, /livez and /readyz. False: the path is none of them. */
bool cor_health_reply(struct cor_call *call);

#endif
