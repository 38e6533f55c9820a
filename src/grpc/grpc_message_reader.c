#include "grpc/grpc_message_reader.h"

#include <assert.h>

#include "base/err.h"

/* A buffer that has grown beyond this is released when it is empty. */
#define KEEP_BYTES (64u * 1024)

void cor_message_reader_init(struct cor_message_reader *r, size_t max, size_t kept_max)
{
    *r = (struct cor_message_reader){.max = max, .piece = COR_STR("")};
    cor_buf_init(&r->kept, max + COR_GRPC_PREFIX_BYTES + kept_max);
}

void cor_message_reader_deinit(struct cor_message_reader *r)
{
    cor_buf_deinit(&r->kept);
    r->piece = COR_STR("");
    r->done = 0;
}

/* What has not been read, wherever it is. */
static struct cor_str rest(const struct cor_message_reader *r)
{
    return cor_str_from(r->kept.n > 0 ? cor_buf_str(&r->kept) : r->piece, r->done);
}

int cor_message_reader_add(struct cor_message_reader *r, struct cor_str piece)
{
    assert(r->piece.n == 0);
    if (r->kept.n > 0)
        return cor_buf_adds(&r->kept, piece);
    r->piece = piece;
    r->done = 0;
    return 0;
}

static uint32_t length_of(const unsigned char *p)
{
    return (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4];
}

int cor_message_reader_next(struct cor_message_reader *r, bool *ret_whole,
                            struct cor_str *ret_message)
{
    struct cor_str in = rest(r);
    size_t n;

    *ret_whole = false;
    if (in.n < COR_GRPC_PREFIX_BYTES)
        return 0;
    if (in.p[0] != 0)
        return in.p[0] == 1 ? -COR_ENOTSUP : -COR_EINVAL;
    n = length_of((const unsigned char *)in.p);
    if (n > r->max)
        return -COR_ETOOBIG;
    if (in.n - COR_GRPC_PREFIX_BYTES < n)
        return 0;
    *ret_whole = true;
    *ret_message = cor_str(in.p + COR_GRPC_PREFIX_BYTES, n);
    r->done += COR_GRPC_PREFIX_BYTES + n;
    return 0;
}

int cor_message_reader_keep(struct cor_message_reader *r)
{
    struct cor_str left = rest(r);
    int e = 0;

    if (r->kept.n == 0) {
        if (left.n > 0)
            e = cor_buf_adds(&r->kept, left);
    } else if (r->done > 0) {
        memmove(r->kept.p, left.p, left.n);
        cor_buf_truncate(&r->kept, left.n);
        if (left.n == 0 && r->kept.cap > KEEP_BYTES)
            cor_buf_deinit(&r->kept);
    }
    r->done = 0;
    r->piece = COR_STR("");
    return e;
}

bool cor_message_reader_is_midway(const struct cor_message_reader *r)
{
    return rest(r).n > 0;
}

void cor_message_prefix(char out[COR_GRPC_PREFIX_BYTES], size_t n)
{
    out[0] = 0;
    for (int i = 0; i < 4; i++)
        out[1 + i] = (char)(n >> (24 - 8 * i));
}
