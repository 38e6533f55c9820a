/* The names that a YAML reader has to remember: anchors with their values, the keys of a mapping.
 * Thread: one at a time.  Owner: the reader, which owns the map too. */
#ifndef COR_CODEC_YAML_NAMES_H
#define COR_CODEC_YAML_NAMES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"

/* It owns its bytes. */
struct cor_yaml_name {
    size_t n;
    struct cor_buf json; /* an anchor's value */
    bool is_open;        /* an anchor whose value has begun and not ended */
    char text[];
};

/* Puts `text` into `names`; an equal one is replaced and freed. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_yaml_names_put(struct cor_map *names, struct cor_str text, struct cor_yaml_name **ret_name,
                       bool *ret_was_there);

/* Frees the names and the map. */
void cor_yaml_names_deinit(struct cor_map *names);

#endif
