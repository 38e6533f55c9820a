/* gzip over zlib. Writer and reader give zlib the memory of cor_alloc(), so that a program's own
 * allocator has it and tests can fail it; zlib allocates only when a stream is made (the reader
 * also at its first byte). Output grows in steps of STEP bytes, as zlib fills them. */
#include "codec/gzip.h"

#include <assert.h>
#include <zlib.h>

#include "base/err.h"
#include "base/mem.h"

/* zlib's word for a header and trailer of gzip around a window of 32 KB. */
#define WINDOW_BITS_GZIP (15 + 16)
/* zlib's default. */
#define MEMORY_LEVEL 8
/* The room that zlib is given at once; also the largest piece that a reader shows. */
#define STEP       (64u * 1024)
#define FIRST_STEP (16u * 1024)

static voidpf gzip_zalloc(voidpf opaque, uInt n, uInt size)
{
    (void)opaque;
    return cor_calloc(n, size);
}

static void gzip_zfree(voidpf opaque, voidpf p)
{
    (void)opaque;
    cor_free(p);
}

struct cor_gzip_writer {
    z_stream z;
    bool is_finished;
};

int cor_gzip_writer_new(int level, struct cor_gzip_writer **ret_writer)
{
    struct cor_gzip_writer *writer = cor_calloc(1, sizeof(*writer));

    assert(level >= 1 && level <= 9);
    if (!writer)
        return -COR_ENOMEM;
    writer->z.zalloc = gzip_zalloc;
    writer->z.zfree = gzip_zfree;
    if (deflateInit2(&writer->z, level, Z_DEFLATED, WINDOW_BITS_GZIP, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        cor_free(writer);
        return -COR_ENOMEM;
    }
    *ret_writer = writer;
    return 0;
}

struct cor_gzip_writer *cor_gzip_writer_free(struct cor_gzip_writer *writer)
{
    if (!writer)
        return NULL;
    (void)deflateEnd(&writer->z);
    return cor_free(writer);
}

int cor_gzip_write(struct cor_gzip_writer *writer, struct cor_str in, bool is_last,
                   struct cor_buf *out)
{
    z_stream *z = &writer->z;
    int result = Z_OK;

    assert(!writer->is_finished && in.n <= UINT32_MAX);
    z->next_in = (Bytef *)(uintptr_t)in.p;
    z->avail_in = (uInt)in.n;
    /* Room that is left over says that zlib has nothing more to give out now. */
    do {
        size_t room = out->n == 0 ? FIRST_STEP : STEP;
        int r;

        /* What does not fit the maximum is refused only when zlib has filled all of it. */
        if (room > out->max - out->n && out->n < out->max)
            room = out->max - out->n;
        r = cor_buf_reserve(out, room);

        if (r < 0)
            return r;
        z->next_out = (Bytef *)out->p + out->n;
        z->avail_out = (uInt)room;
        result = deflate(z, is_last ? Z_FINISH : Z_NO_FLUSH);
        assert(result != Z_STREAM_ERROR);
        out->n += room - z->avail_out;
        out->p[out->n] = '\0';
    } while (z->avail_out == 0);
    writer->is_finished = result == Z_STREAM_END;
    assert(z->avail_in == 0 && writer->is_finished == is_last);
    return 0;
}

int cor_gzip_pack(struct cor_str in, int level, struct cor_buf *out)
{
    COR_CLEANUP(cor_gzip_writer_freep) struct cor_gzip_writer *writer = NULL;
    int r = cor_gzip_writer_new(level, &writer);

    return r < 0 ? r : cor_gzip_write(writer, in, true, out);
}

struct cor_gzip_reader {
    z_stream z;
    uint64_t left;       /* what may still come out */
    bool is_at_boundary; /* a member has ended, and no byte of a next one has come */
    bool has_member;     /* at least one has ended */
    unsigned char piece[STEP];
};

int cor_gzip_reader_new(uint64_t expanded_max, struct cor_gzip_reader **ret_reader)
{
    struct cor_gzip_reader *reader = cor_alloc(sizeof(*reader));

    if (!reader)
        return -COR_ENOMEM;
    memset(reader, 0, offsetof(struct cor_gzip_reader, piece));
    reader->left = expanded_max;
    reader->is_at_boundary = true;
    reader->z.zalloc = gzip_zalloc;
    reader->z.zfree = gzip_zfree;
    if (inflateInit2(&reader->z, WINDOW_BITS_GZIP) != Z_OK) {
        cor_free(reader);
        return -COR_ENOMEM;
    }
    *ret_reader = reader;
    return 0;
}

struct cor_gzip_reader *cor_gzip_reader_free(struct cor_gzip_reader *reader)
{
    if (!reader)
        return NULL;
    (void)inflateEnd(&reader->z);
    return cor_free(reader);
}

/* Calls zlib once. Its output is the first `*ret_n` bytes of `piece`. Returns 1 when zlib may have
 * more to give out or another member follows, 0 when zlib has used all of its input, or a failure.
 */
static int gzip_expand(struct cor_gzip_reader *reader, size_t *ret_n)
{
    z_stream *z = &reader->z;
    int result;

    z->next_out = reader->piece;
    z->avail_out = sizeof(reader->piece);
    reader->is_at_boundary = false;
    result = inflate(z, Z_NO_FLUSH);
    *ret_n = sizeof(reader->piece) - z->avail_out;
    switch (result) {
    case Z_STREAM_END:
        reader->is_at_boundary = reader->has_member = true;
        if (inflateReset(z) != Z_OK)
            return -COR_EINVAL;
        return z->avail_in > 0;
    case Z_OK:
    case Z_BUF_ERROR: /* nothing was left to do */
        return z->avail_in > 0 || z->avail_out == 0;
    case Z_MEM_ERROR:
        return -COR_ENOMEM;
    default:
        return -COR_EINVAL;
    }
}

int cor_gzip_read(struct cor_gzip_reader *reader, struct cor_str in, cor_gzip_on_piece on_piece,
                  void *arg)
{
    z_stream *z = &reader->z;
    int more = in.n > 0;

    assert(in.n <= UINT32_MAX && on_piece);
    z->next_in = (Bytef *)(uintptr_t)in.p;
    z->avail_in = (uInt)in.n;
    while (more > 0) {
        size_t n;
        int r;

        more = gzip_expand(reader, &n);
        if (more >= 0 && n > reader->left)
            more = -COR_ETOOBIG;
        if (more < 0) {
            reader->is_at_boundary = false;
            return more;
        }
        reader->left -= n;
        if (n == 0)
            continue;
        r = on_piece(arg, cor_str((const char *)reader->piece, n));
        if (r < 0)
            return r;
    }
    return 0;
}

bool cor_gzip_reader_is_whole(const struct cor_gzip_reader *reader)
{
    return reader->has_member && reader->is_at_boundary;
}

bool cor_gzip_is_named(struct cor_str accept_encoding)
{
    while (accept_encoding.n > 0) {
        struct cor_str item = cor_str_cut(&accept_encoding, ',');

        if (cor_str_eq(cor_str_trim(item), COR_STR("gzip")))
            return true;
    }
    return false;
}

/* Is a weight (`q=0.5`) more than 0? What is not a decimal number is not a weight. */
static bool is_weight_positive(struct cor_str weight)
{
    bool is_positive = false, has_point = false;

    if (!cor_str_starts(weight, COR_STR("q=")))
        return false;
    for (size_t i = 2; i < weight.n; i++) {
        char c = weight.p[i];

        if ((c < '0' || c > '9') && (c != '.' || has_point))
            return false;
        has_point = has_point || c == '.';
        is_positive = is_positive || (c >= '1' && c <= '9');
    }
    return is_positive;
}

bool cor_gzip_is_accepted(struct cor_str accept_encoding)
{
    while (accept_encoding.n > 0) {
        struct cor_str rest = cor_str_cut(&accept_encoding, ',');
        struct cor_str coding = cor_str_trim(cor_str_cut(&rest, ';'));

        if (cor_str_eq(coding, COR_STR("gzip")))
            return rest.n == 0 || is_weight_positive(cor_str_trim(rest));
    }
    return false;
}
