#include "test.h"

#include "base/err.h"
#include "grpc/grpc_message_reader.h"

/* Feeds `in` in pieces and writes each message to `out` in brackets. */
static int run(struct cor_str in, size_t cut, size_t max, struct cor_buf *out)
{
    struct cor_message_reader reader;
    int r = 0;

    cor_message_reader_init(&reader, max, 1000);
    while (in.n > 0 && r == 0) {
        struct cor_str piece = cor_str(in.p, in.n < cut ? in.n : cut), message;
        bool is_whole = true;

        in = cor_str_from(in, piece.n);
        r = cor_message_reader_add(&reader, piece);
        while (r == 0 && is_whole) {
            r = cor_message_reader_next(&reader, &is_whole, &message);
            if (r == 0 && is_whole)
                r = cor_buf_addf(out, "[%.*s]", COR_STR_ARG(message));
        }
        if (r == 0)
            r = cor_message_reader_keep(&reader);
    }
    if (r == 0 && cor_message_reader_is_midway(&reader))
        r = cor_buf_addz(out, "...");
    cor_message_reader_deinit(&reader);
    return r;
}

static void check(struct cor_str in, int want_r, const char *want)
{
    for (size_t cut = 1; cut <= in.n + 1; cut++) {
        struct cor_buf out;

        cor_buf_init(&out, 1000);
        assert_int_equal(run(in, cut, 20, &out), want_r);
        if (want)
            assert_string_equal(cor_buf_z(&out), want);
        cor_buf_deinit(&out);
    }
}

TEST(message_reader, messages_come_whole_however_they_are_cut)
{
    check(COR_STR("\0\0\0\0\3abc"), 0, "[abc]");
    check(COR_STR("\0\0\0\0\0"), 0, "[]");
    check(COR_STR("\0\0\0\0\3abc\0\0\0\0\0\0\0\0\0\2xy\0\0\0\0\1z"), 0, "[abc][][xy][z]");
    check(COR_STR("\0\0\0\0\3abc\0\0\0\0\4ab"), 0, "[abc]...");
    check(COR_STR("\0\0\0"), 0, "...");
}

TEST(message_reader, what_is_not_taken_is_refused_by_its_prefix)
{
    check(COR_STR("\0\0\0\0\3abc\0\0\0\0\25abc"), -COR_ETOOBIG, "[abc]");
    check(COR_STR("\0\xff\xff\xff\xff"), -COR_ETOOBIG, "");
    check(COR_STR("\1\0\0\0\1a"), -COR_ENOTSUP, "");
    check(COR_STR("\2\0\0\0\1a"), -COR_EINVAL, "");
}

TEST(message_reader, a_prefix_is_what_the_reader_reads)
{
    char prefix[COR_GRPC_PREFIX_BYTES];

    cor_message_prefix(prefix, 0x01020304);
    assert_memory_equal(prefix, "\0\1\2\3\4", 5);
}

TEST(message_reader, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_buf out;

        cor_buf_init(&out, 1000);
        int r = run(COR_STR("\0\0\0\0\3abc\0\0\0\0\1z"), 4, 20, &out);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            assert_string_equal(cor_buf_z(&out), "[abc][z]");
        cor_buf_deinit(&out);
    }
}
