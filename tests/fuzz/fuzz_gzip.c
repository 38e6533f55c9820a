/* Promises of the reader of gzip: however the input is cut, the same bytes come out and they are
 * taken or refused alike; no piece is empty, and never more comes out than the maximum. And what is
 * packed is read again. */
#include "base/err.h"
#include "codec/gzip.h"
#include "fuzz.h"

#define EXPANDED_MAX (1u << 20)

static int note_piece(void *arg, struct cor_str piece)
{
    FUZZ_CHECK(piece.n > 0);
    return cor_buf_adds(arg, piece);
}

/* Returns what the reader says; 1: all was read, and the stream is not whole. */
static int expand(struct cor_str in, size_t step, struct cor_buf *out)
{
    struct cor_gzip_reader *reader;
    int r = 0;

    cor_buf_init(out, EXPANDED_MAX);
    FUZZ_CHECK(cor_gzip_reader_new(EXPANDED_MAX, &reader) == 0);
    while (r == 0 && in.n > 0) {
        size_t n = in.n < step ? in.n : step;

        r = cor_gzip_read(reader, cor_str(in.p, n), note_piece, out);
        in = cor_str_from(in, n);
    }
    FUZZ_CHECK(r == 0 || r == -COR_EINVAL || r == -COR_ETOOBIG);
    if (r == 0 && !cor_gzip_reader_is_whole(reader))
        r = 1;
    cor_gzip_reader_free(reader);
    return r;
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str in = cor_str((const char *)data, size);
    struct cor_buf whole, parts, packed;
    int r = expand(in, size ? size : 1, &whole);

    for (size_t step = 1; step < 8; step += 3) {
        int verdict = expand(in, step, &parts);

        /* What comes out before an error, and which of two errors is met first, may depend on the
         * pieces. */
        FUZZ_CHECK(r < 0 ? verdict < 0 : verdict == r);
        FUZZ_CHECK(r < 0 || cor_str_eq(cor_buf_str(&whole), cor_buf_str(&parts)));
        cor_buf_deinit(&parts);
    }
    cor_buf_deinit(&whole);
    (void)cor_gzip_is_named(in);
    (void)cor_gzip_is_accepted(in);
    if (size > EXPANDED_MAX)
        return 0;
    cor_buf_init(&packed, 2 * EXPANDED_MAX);
    FUZZ_CHECK(cor_gzip_pack(in, COR_GZIP_FAST, &packed) == 0);
    FUZZ_CHECK(expand(cor_buf_str(&packed), packed.n, &whole) == 0);
    FUZZ_CHECK(cor_str_eq(cor_buf_str(&whole), in));
    cor_buf_deinit(&whole);
    cor_buf_deinit(&packed);
    return 0;
}
