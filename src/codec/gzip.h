/* gzip (RFC 1952) in pieces, both ways, over zlib. Neither side keeps more than zlib's window and
 * tables: what comes in leaves as soon as zlib gives it out.
 * Owner: its maker.  Thread: one at a time; any. */
#ifndef COR_CODEC_GZIP_H
#define COR_CODEC_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"

/* What a writer has allocated, roughly: two windows of 64 KB and the tables of zlib. */
#define COR_GZIP_WRITER_BYTES (272u * 1024)
/* The level that answers of the API are compressed with, as upstream's: the fastest one. */
#define COR_GZIP_FAST 1

struct cor_gzip_writer;
struct cor_gzip_reader;

/* 0, -COR_ENOMEM. `level`: 1 (fast) to 9 (small). */
int cor_gzip_writer_new(int level, struct cor_gzip_writer **ret_writer);
/* NULL is fine; returns NULL. */
struct cor_gzip_writer *cor_gzip_writer_free(struct cor_gzip_writer *writer);

/* Compresses `in` and appends to `out` what zlib gives out, which may be nothing. With `is_last`
 * the stream is complete afterwards, and nothing may follow. 0, -COR_ENOMEM, -COR_ETOOBIG (the
 * maximum of `out`); after a failure the stream is of no use. */
int cor_gzip_write(struct cor_gzip_writer *writer, struct cor_str in, bool is_last,
                   struct cor_buf *out);

/* The whole of `in` at once. Fails as cor_gzip_write(). */
int cor_gzip_pack(struct cor_str in, int level, struct cor_buf *out);

/* Shows a piece of what was expanded, which is borrowed until it returns. A result below 0 ends the
 * reading with this result. */
typedef int (*cor_gzip_on_piece)(void *arg, struct cor_str piece);

/* `expanded_max`: of the whole stream; what would expand to more is an error, so that a few
 * kilobytes cannot become gigabytes. 0, -COR_ENOMEM. */
int cor_gzip_reader_new(uint64_t expanded_max, struct cor_gzip_reader **ret_reader);
/* NULL is fine; returns NULL. */
struct cor_gzip_reader *cor_gzip_reader_free(struct cor_gzip_reader *reader);

/* Expands `in` and shows it in pieces of at most 64 KB. Several members after each other are one
 * stream, as for Go's reader. 0, -COR_EINVAL (not gzip, or a checksum is wrong), -COR_ETOOBIG (more
 * than `expanded_max`), -COR_ENOMEM, or what `on_piece` returned; after a failure the reader is of
 * no use. The reader must not be freed by `on_piece`. */
int cor_gzip_read(struct cor_gzip_reader *reader, struct cor_str in, cor_gzip_on_piece on_piece,
                  void *arg);

/* Returns whether the last member was complete. Called when no more bytes come. */
bool cor_gzip_reader_is_whole(const struct cor_gzip_reader *reader);

/* Does the value of an Accept-Encoding header name gzip? With the API server's own rule
 * (negotiateContentEncoding): an item must be exactly `gzip`, without a weight. */
bool cor_gzip_is_named(struct cor_str accept_encoding);
/* The same with the rule of upstream's handlers of /openapi/v2 and /metrics, which read weights:
 * `gzip`, or `gzip;q=` with more than 0. */
bool cor_gzip_is_accepted(struct cor_str accept_encoding);

COR_DEFINE_CLEANUP(struct cor_gzip_writer, cor_gzip_writer_free)
COR_DEFINE_CLEANUP(struct cor_gzip_reader, cor_gzip_reader_free)

#endif
