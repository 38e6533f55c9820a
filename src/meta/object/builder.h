/* What the modules that write through a builder need of it beyond coracle/builder.h.
 * Thread: one at a time. */
#ifndef COR_META_OBJECT_BUILDER_H
#define COR_META_OBJECT_BUILDER_H

#include "base/cleanup.h"
#include "coracle/builder.h"

/* The first failure that the builder remembers; 0: none. */
int cor_builder_failure(const struct cor_builder *b);

/* Makes the builder remember a failure, unless it has one already. Returns the failure that the
 * builder remembers. */
int cor_builder_refuse(struct cor_builder *b, int r, const char *fmt, ...) COR_PRINTF(3, 4);

COR_DEFINE_CLEANUP(struct cor_builder, cor_builder_free)

#endif
