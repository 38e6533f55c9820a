/* Writes JSON into a buffer. The first failure sticks and later calls do nothing, so a caller
 * checks once, at the end:
 *
 *   cor_json_writer_init(&w, &buf);
 *   cor_json_begin_object(&w);
 *   cor_json_key(&w, COR_STR("name"));
 *   cor_json_string(&w, name);
 *   cor_json_end_object(&w);
 *   r = cor_json_writer_finish(&w);
 *
 * Keys are written in the order they are given.
 * Owner: the caller; nothing to release.  Thread: one at a time. */
#ifndef COR_JSON_WRITE_WRITER_H
#define COR_JSON_WRITE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct cor_json_writer {
    struct cor_buf *out;
    unsigned depth;  /* open objects and arrays */
    bool need_comma; /* before the next key or value */
    int error;       /* 0, -COR_ENOMEM or -COR_ETOOBIG */
};

/* Appends to `out`, which must outlive the writer. */
void cor_json_writer_init(struct cor_json_writer *w, struct cor_buf *out);

/* 0 when everything was written, else the first failure. Everything begun must have been ended. */
int cor_json_writer_finish(struct cor_json_writer *w);

void cor_json_begin_object(struct cor_json_writer *w);
void cor_json_end_object(struct cor_json_writer *w);
void cor_json_begin_array(struct cor_json_writer *w);
void cor_json_end_array(struct cor_json_writer *w);
void cor_json_key(struct cor_json_writer *w, struct cor_str key);

/* A key given as raw text, escapes and all, as the scanner hands it out. */
void cor_json_raw_key(struct cor_json_writer *w, struct cor_str raw);

/* Text: escaped as the canonical form wants it, and what is not UTF-8 becomes U+FFFD, as Go has it.
 */
void cor_json_string(struct cor_json_writer *w, struct cor_str text);

/* A string in pieces: between the two calls come texts, which are escaped, and raw texts, which the
 * scanner hands out and which are copied as they are. Nothing else may be written in between. */
void cor_json_begin_string(struct cor_json_writer *w);
void cor_json_add_text(struct cor_json_writer *w, struct cor_str text);
void cor_json_add_raw_text(struct cor_json_writer *w, struct cor_str raw);
void cor_json_add_i64(struct cor_json_writer *w, int64_t v);
void cor_json_end_string(struct cor_json_writer *w);

/* One JSON value, copied as it is. */
void cor_json_raw(struct cor_json_writer *w, struct cor_str value);

void cor_json_u64(struct cor_json_writer *w, uint64_t v);
void cor_json_i64(struct cor_json_writer *w, int64_t v);
void cor_json_bool(struct cor_json_writer *w, bool v);
void cor_json_null(struct cor_json_writer *w);

/* A key and a string in one. */
void cor_json_member(struct cor_json_writer *w, struct cor_str key, struct cor_str text);

/* A quoted string without a writer. 0, -COR_ENOMEM, -COR_ETOOBIG; `out` is as before on failure. */
int cor_json_quote(struct cor_buf *out, struct cor_str text);

#endif
