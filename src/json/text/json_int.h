/* What the files of this folder share: checks, and yyjson's trees, whose types no other folder
 * sees. */
#ifndef COR_JSON_TEXT_JSON_INT_H
#define COR_JSON_TEXT_JSON_INT_H

#include <stdint.h>
#include <string.h>

#include <yyjson.h>

#include "json/text/bytes.h"
#include "json/text/json.h"
#include "json/text/scan.h"

/* What a check finds out in addition to its result. */
struct cor_json_traits {
    bool canonical;
    bool lone_surrogate; /* some \ud800…\udfff has no partner */
};

int cor_json_check_traits(struct cor_str in, const struct cor_json_limits *limits,
                          struct cor_json_traits *ret, struct cor_json_error *reterr);

/* Inserts a path in the order of the offsets, unless it is there; the last one leaves when the list
 * is full. The text may be taken out of the buffer. 0, -COR_ENOMEM. */
int cor_json_dups_add(struct cor_json_dups *dups, size_t offset, bool is_unknown,
                      struct cor_buf *path);
/* Removes those whose keys are at `from` or behind it, and before `to`. */
void cor_json_dups_remove(struct cor_json_dups *dups, size_t from, size_t to);

/* cor_json_canonicalize() for bytes that were checked: always by way of a tree, never by a copy. */
int cor_json_rewrite(struct cor_str in, const struct cor_json_traits *traits,
                     const struct cor_json_limits *limits, struct cor_buf *out,
                     struct cor_json_dups *dups);

/* Does a double hold this number, at least rounded? False for a magnitude that rounds to infinity.
 * `number` is a valid JSON number. */
bool cor_json_number_is_finite(struct cor_str number);

/* The allocator seam for yyjson. */
extern const yyjson_alc cor_json_alc;

/* A tree that was read in place: its strings point into `text`, numbers are raw. */
struct cor_json_tree {
    char *text;
    yyjson_doc *doc;
};

/* Reads bytes that were checked. 0 or -COR_ENOMEM. */
int cor_json_tree_init(struct cor_json_tree *t, struct cor_str in,
                       const struct cor_json_traits *traits);
void cor_json_tree_deinit(struct cor_json_tree *t);

/* Writes the canonical form of `root` at `dst`, which has room for it: the source's length is
 * enough, since the form is never longer. `base` is the first byte of the buffer that `root` was
 * read from in place, and the origin of the offsets in `dups` (may be NULL). Returns the end, or
 * NULL when out of memory. */
char *cor_json_emit(yyjson_val *root, const char *base, char *dst, struct cor_json_dups *dups);

/* The member `key` of an object with everything after it, as cor_json_iter_open_value() has it; p
 * is NULL when there is none. */
struct cor_str cor_json_find(struct cor_str object, struct cor_str key, enum cor_json_order order);

/* What is left of `bytes` after white space. */
struct cor_str cor_json_skip_space(struct cor_str bytes);

/* The order of keys in the outermost object: kind, apiVersion, then by text. */
int cor_json_outermost_cmp(struct cor_str raw_a, struct cor_str raw_b);

/* Writes the escape of a control byte, a quote or a backslash, at most 6 bytes; returns its end. */
char *cor_json_put_escape(char *dst, unsigned char c);

#endif
