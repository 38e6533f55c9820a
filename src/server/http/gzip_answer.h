/* The body of an answer that is compressed on its way into the HTTP response, for a client that
 * accepts gzip. An answer whose length is not known is gathered first: up to COR_GZIP_PLAIN_MAX
 * bytes are sent as they are, and what has more is compressed, as upstream does it.
 *
 * Bytes are compressed in slices of 128 KB by an offload thread, one slice at a time; while a
 * thread has one, no more are taken, so that an answer holds no more than COR_GZIP_ANSWER_BYTES.
 * When no thread takes a slice, the loop compresses it in its next turn. Owner: the exchange, until
 * it is over or given up.  Thread: the response's loop. */
#ifndef COR_SERVER_GZIP_ANSWER_H
#define COR_SERVER_GZIP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/gzip.h"
#include "http/response.h"

struct cor_offload;
struct cor_gzip_answer;

/* What has more bytes than this is compressed. */
#define COR_GZIP_PLAIN_MAX (128u * 1024)

/* What a compressed answer holds: a slice, what has become of it, and zlib's part. */
#define COR_GZIP_ANSWER_BYTES (128u * 1024 + 64u * 1024 + COR_GZIP_WRITER_BYTES)

struct cor_gzip_answer_opts {
    struct cor_http_response *response;
    struct cor_offload *offload; /* NULL: there are no threads */
    uint64_t owner;              /* whose work it is (loop/offload.h) */
    size_t held;                 /* what the response is charged with already */
    uint64_t *sent;              /* counts the bytes that the response has taken */
    bool omits_vary;             /* the head gets no Vary: upstream's metrics have none */
    /* A write was short, and there is room again. */
    void (*on_room)(void *arg);
    /* The response was ended or, with r < 0, aborted for lack of memory. The answer is freed. */
    void (*on_over)(void *arg, int r);
    void *arg;
};

/* In place of cor_http_response_start() for an answer of more than COR_GZIP_PLAIN_MAX bytes, or of
 * COR_HTTP_LENGTH_UNKNOWN, with the same head, which is copied when it has to wait.
 * NULL: out of memory, or too much is held for the sender; nothing has happened then, and the
 * answer should be sent as it is. */
struct cor_gzip_answer *cor_gzip_answer_new(const struct cor_gzip_answer_opts *opts, int code,
                                            const struct cor_http_header *headers, size_t nheaders,
                                            uint64_t length);

/* As cor_http_response_writev(); no callback comes before it returns. */
size_t cor_gzip_answer_writev(struct cor_gzip_answer *answer, const struct cor_str *spans,
                              size_t nspans, size_t skip);

/* All is written. True: the response has ended, and the answer is freed; false: on_over follows. */
bool cor_gzip_answer_end(struct cor_gzip_answer *answer);

/* The response has room again. May end in on_room or on_over. */
void cor_gzip_answer_on_writable(struct cor_gzip_answer *answer);

/* The response is gone, or is aborted by the caller: frees the answer, now or when a thread has
 * given it back. No callback follows. */
void cor_gzip_answer_give_up(struct cor_gzip_answer *answer);

#endif
