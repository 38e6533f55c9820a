/* Everything outside of the resources: discovery, health, version. */
#ifndef COR_SERVER_PATHS_H
#define COR_SERVER_PATHS_H

#include "server/api/call.h"

extern const struct cor_verb cor_verb_path;

#endif
