/* The kinds of patches (coracle/request.h) as the Content-Type of a request names them. Clients
 * write these texts, the server reads them and lists them in its documents.
 * Thread: any (values). */
#ifndef COR_META_NAMES_PATCH_TYPE_H
#define COR_META_NAMES_PATCH_TYPE_H

#include <stdbool.h>

#include "base/str.h"
#include "coracle/request.h"

/* Every enum cor_patch_type is less than this. */
#define COR_PATCH_TYPES 4

/* `type` is less than COR_PATCH_TYPES. */
struct cor_str cor_patch_media_type(enum cor_patch_type type);

/* The type whose media type this is, without parameters and in the same letters. False: there is
 * none, and `*ret_type` is unchanged. */
bool cor_patch_type_of(struct cor_str media_type, enum cor_patch_type *ret_type);

#endif
