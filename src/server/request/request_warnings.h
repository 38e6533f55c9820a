/* The warnings of an answer: one Warning header for each text, with upstream's limits.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_SERVER_REQUEST_REQUEST_WARNINGS_H
#define COR_SERVER_REQUEST_REQUEST_WARNINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Code points of all texts together. When one more does not fit, each text is cut after
 * COR_WARNING_CUT code points, and warnings are accepted until the sum reaches this again. */
#define COR_WARNING_CUT        256
#define COR_WARNINGS_BYTES_MAX (32u * 1024) /* of all headers: a code point has at most 4 bytes */

struct cor_warning {
    uint64_t id; /* the hash of the text before it was cut */
    size_t end;  /* of the header's value in `text` */
};

struct cor_warnings {
    struct cor_buf text; /* whole header values, one after the other */
    struct cor_warning *v;
    size_t n, cap;
    size_t runes; /* of the texts, as they are sent */
    bool is_cut;  /* texts are cut */
};

void cor_warnings_init(struct cor_warnings *warnings);
void cor_warnings_deinit(struct cor_warnings *warnings); /* safe on a zeroed struct */

/* Adds a warning. One that is there already, that cannot be a header's value, or that the limits
 * leave no room for, is left out. 0, -COR_ENOMEM. */
int cor_warnings_add(struct cor_warnings *warnings, struct cor_str text);

/* The value of the i-th header. */
struct cor_str cor_warnings_at(const struct cor_warnings *warnings, size_t i);

#endif
