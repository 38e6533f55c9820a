/* How to reach an API server and who to be there: see the public header. */
#ifndef COR_CLIENT_CLIENT_CONFIG_H
#define COR_CLIENT_CLIENT_CONFIG_H

#include "coracle/client_config.h"
#include "meta/status.h"

/* 0, or -COR_ENOMEM (nothing is left to release then). */
int cor_client_config_copy(struct cor_client_config *ret, const struct cor_client_config *from);

#endif
