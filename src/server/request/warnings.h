/* The warnings of an answer: one Warning header for each text.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_SERVER_WARNINGS_H
#define COR_SERVER_WARNINGS_H

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

#define COR_WARNINGS_MAX       32
#define COR_WARNINGS_BYTES_MAX 4096

struct cor_warnings {
    struct cor_buf text; /* whole header values, one after the other */
    size_t ends[COR_WARNINGS_MAX];
    size_t n;
};

void cor_warnings_init(struct cor_warnings *warnings);
void cor_warnings_deinit(struct cor_warnings *warnings); /* safe on a zeroed struct */

/* Adds a warning. One that does not fit, or is there already, is left out. 0, -COR_ENOMEM. */
int cor_warnings_add(struct cor_warnings *warnings, struct cor_str text);

/* The value of the i-th header. */
struct cor_str cor_warnings_at(const struct cor_warnings *warnings, size_t i);

#endif
