/* How to reach an API server and who to be there: see the public header. */
#ifndef COR_CLIENT_CLIENT_CONFIG_H
#define COR_CLIENT_CLIENT_CONFIG_H

#include <stdbool.h>

#include "coracle/client_config.h"
#include "meta/status.h"

/* Of a field of a configuration: an empty text is absent, too. */
static inline bool cor_config_has(const char *field)
{
    return field && field[0];
}

/* 0, or -COR_ENOMEM (nothing is left to release then). */
int cor_client_config_copy(struct cor_client_config *ret, const struct cor_client_config *from);

/* The text of a file (a CA, a token) without white space at its ends; `*ret` is written on success.
 * 0, -COR_ENOTFOUND, -COR_EIO, -COR_ETOOBIG, -COR_ENOMEM. */
int cor_client_config_read(const char *path, char **ret_text);

/* `to` is zeroed before, and to be deinitialised also when there was no memory (-COR_ENOMEM). */
int cor_strings_copy(struct cor_strings *to, const struct cor_strings *from);
void cor_strings_deinit(struct cor_strings *s);

#endif
