/* JSON bytes that are changed field by field, by path, without a tree: a value is found by
 * scanning and spliced. For objects of kilobytes; each change costs a pass over the bytes.
 *
 * Paths are those of json/path/path.h with keys and indexes only. Members that are added stand last
 * in their object; nothing is sorted. Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_JSON_WRITE_EDITOR_H
#define COR_JSON_WRITE_EDITOR_H

#include "base/buf.h"
#include "base/str.h"
#include "json/text/json.h"

struct cor_json_editor {
    struct cor_buf bytes; /* one valid value, always */
    const char *why;      /* of the last failure but -COR_ENOMEM: a static text */
};

/* From valid JSON without repeated keys; the result never exceeds `max` bytes. 0, -COR_ENOMEM,
 * -COR_ETOOBIG; call deinit in any case. */
int cor_json_editor_init(struct cor_json_editor *e, struct cor_str json, size_t max);
void cor_json_editor_deinit(struct cor_json_editor *e);

/* All fail by -COR_EINVAL (the path cannot be read, or a value on the way is neither missing, null
 * nor of the kind that the path goes on with; `why` tells), -COR_ENOTFOUND (no such element of an
 * array), -COR_ETOOBIG or -COR_ENOMEM, and then leave the bytes as they were. */

/* `value` is one valid JSON value. Objects on the way are made where they are missing or null. */
int cor_json_editor_set(struct cor_json_editor *e, struct cor_str path, struct cor_str value);

/* Adds a last element; the array is made where it is missing or null. */
int cor_json_editor_append(struct cor_json_editor *e, struct cor_str path, struct cor_str value);

/* 0 also when there is no such field. */
int cor_json_editor_remove(struct cor_json_editor *e, struct cor_str path);

#endif
