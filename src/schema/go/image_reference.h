/* The name of a container's image, as far as a default depends on it.
 * Thread: any (no state). */
#ifndef COR_SCHEMA_GO_IMAGE_REFERENCE_H
#define COR_SCHEMA_GO_IMAGE_REFERENCE_H

#include <stdbool.h>

#include "base/str.h"

/* Is this a valid reference with the tag "latest", or with neither a tag nor a digest, which means
 * the same? False for what is not valid. */
bool cor_image_is_latest(struct cor_str image);

#endif
