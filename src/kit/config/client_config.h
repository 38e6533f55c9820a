/* A client's configuration, for the code inside the library; the struct is in the public header.
 * Thread: any (values).  Owner: the caller. */
#ifndef COR_KIT_CLIENT_CONFIG_H
#define COR_KIT_CLIENT_CONFIG_H

#include <stdbool.h>

#include "coracle/client_config.h"
#include "meta/status/status.h"

/* Is a field of a configuration set? An empty text counts as absent. */
static inline bool cor_config_has(const char *field)
{
    return field && field[0];
}

/* A deep copy. 0, or -COR_ENOMEM (then nothing is left to release). */
int cor_client_config_copy(struct cor_client_config *ret, const struct cor_client_config *from);

/* The text of a file (a CA, a token) without white space at its ends; `*ret` is written on success.
 * 0, -COR_ENOTFOUND, -COR_EIO, -COR_ETOOBIG, -COR_ENOMEM. */
int cor_client_config_read(const char *path, char **ret_text);

/* `to` is zeroed by the caller, who deinitialises it also after -COR_ENOMEM. */
int cor_strings_copy(struct cor_strings *to, const struct cor_strings *from);
void cor_strings_deinit(struct cor_strings *s);

#endif
