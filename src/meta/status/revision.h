/* A store revision: one global counter, plus one per write. 0 means unset. On the wire it is an
 * object's resourceVersion, a string. */
#ifndef COR_META_STATUS_REVISION_H
#define COR_META_STATUS_REVISION_H

#include <stdint.h>

typedef uint64_t cor_rev;

/* The largest revision a Kubernetes client can hold (int64). */
#define COR_REV_MAX ((cor_rev)INT64_MAX)

#endif
