/* Where the objects and arrays of a JSON text end, found in one pass. A walk that visits the
 * members of an object in another order than that of the text has to find all of them before it
 * enters the first, and so would scan deep values once per level; with this index it scans every
 * byte once. Small containers are not recorded, because scanning them again is cheaper.
 * Owner: whoever embeds it; the text must stay.  Thread: one at a time, then any (immutable). */
#ifndef COR_CODEC_JSON_EXTENTS_H
#define COR_CODEC_JSON_EXTENTS_H

#include <stdint.h>

#include "json/text/scan.h"

#define COR_JSON_EXTENT_MIN 64 /* bytes of a container that is noted */

struct cor_json_extents {
    const char *base;
    struct cor_json_extent {
        uint32_t start, end;
    } * v; /* by `start` */
    size_t n, cap;
};

/* Notes the containers of a valid text of less than 4 GB, at most COR_JSON_DEPTH_MAX deep. 0,
 * -COR_ENOMEM (nothing is held then). */
int cor_json_extents_init(struct cor_json_extents *x, struct cor_str json);

/* Safe on a zeroed struct. */
void cor_json_extents_deinit(struct cor_json_extents *x);

/* The current value of `it`, which iterates over a part of the text; as cor_json_iter_value(). */
struct cor_str cor_json_extents_value(const struct cor_json_extents *x, struct cor_json_iter *it);

#endif
