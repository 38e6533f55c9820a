#include "codec/gzip.h"

#include "base/err.h"
#include "test.h"

/* Appends `n` bytes that zlib can (a list's text) or cannot (random bytes) make smaller. */
static void add_bytes(struct cor_buf *out, size_t n, bool is_random)
{
    size_t from = out->n;

    while (!is_random && out->n - from < n)
        assert_int_equal(cor_buf_addf(out, "{\"name\":\"pod-%zu\",\"image\":\"i\"},", out->n), 0);
    while (is_random && out->n - from < n)
        assert_int_equal(cor_buf_addc(out, (char)test_random()), 0);
    cor_buf_truncate(out, from + n);
}

static int add_piece(void *arg, struct cor_str piece)
{
    assert_true(piece.n > 0);
    return cor_buf_adds(arg, piece);
}

/* Expands `packed`, of which `step` bytes are given at once, and compares. */
static void expect_expanded(struct cor_str packed, size_t step, struct cor_str expected)
{
    COR_CLEANUP(cor_gzip_reader_freep) struct cor_gzip_reader *reader = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, expected.n);
    assert_int_equal(cor_gzip_reader_new(expected.n, &reader), 0);
    while (packed.n > 0) {
        struct cor_str head = cor_str(packed.p, packed.n < step ? packed.n : step);

        assert_false(cor_gzip_reader_is_whole(reader));
        assert_int_equal(cor_gzip_read(reader, head, add_piece, &out), 0);
        packed = cor_str_from(packed, head.n);
    }
    assert_true(cor_gzip_reader_is_whole(reader));
    assert_true(cor_str_eq(cor_buf_str(&out), expected));
}

TEST(gzip, gives_back_what_was_written_in_any_pieces)
{
    static const size_t steps[] = {1, 1000, 128 * 1024};

    for (size_t i = 0; i < 6; i++) {
        COR_CLEANUP(cor_gzip_writer_freep) struct cor_gzip_writer *writer = NULL;
        COR_CLEANUP(cor_buf_deinit) struct cor_buf in, out;
        struct cor_str rest;

        cor_buf_init(&in, 1u << 20);
        cor_buf_init(&out, 1u << 20);
        add_bytes(&in, 300000, i % 2 == 1);
        assert_int_equal(cor_gzip_writer_new(COR_GZIP_FAST, &writer), 0);
        for (rest = cor_buf_str(&in); rest.n > 0;) {
            struct cor_str head = cor_str(rest.p, rest.n < steps[i / 2] ? rest.n : steps[i / 2]);

            rest = cor_str_from(rest, head.n);
            assert_int_equal(cor_gzip_write(writer, head, false, &out), 0);
        }
        assert_int_equal(cor_gzip_write(writer, COR_STR(""), true, &out), 0);
        assert_true(i % 2 == 1 || out.n < in.n / 4);
        expect_expanded(cor_buf_str(&out), steps[i / 2], cor_buf_str(&in));
    }
}

TEST(gzip, of_nothing_and_of_two_members_can_be_read)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, 1000);
    assert_int_equal(cor_gzip_pack(COR_STR(""), 6, &out), 0);
    expect_expanded(cor_buf_str(&out), 1000, COR_STR(""));
    assert_int_equal(cor_gzip_pack(COR_STR("abc"), 6, &out), 0);
    expect_expanded(cor_buf_str(&out), 1000, COR_STR("abc"));
}

static int drop_piece(void *arg, struct cor_str piece)
{
    *(size_t *)arg += piece.n;
    return 0;
}

TEST(gzip, does_not_expand_to_more_than_its_maximum)
{
    COR_CLEANUP(cor_gzip_writer_freep) struct cor_gzip_writer *writer = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    static const char zeros[1u << 20];

    cor_buf_init(&out, 1u << 20);
    assert_int_equal(cor_gzip_writer_new(9, &writer), 0);
    for (int i = 0; i < 64; i++)
        assert_int_equal(cor_gzip_write(writer, cor_str(zeros, sizeof(zeros)), i == 63, &out), 0);
    assert_true(out.n < 80000);
    for (int is_enough = 0; is_enough < 2; is_enough++) {
        COR_CLEANUP(cor_gzip_reader_freep) struct cor_gzip_reader *reader = NULL;
        size_t max = (64u << 20) - !is_enough, shown = 0;

        assert_int_equal(cor_gzip_reader_new(max, &reader), 0);
        assert_int_equal(cor_gzip_read(reader, cor_buf_str(&out), drop_piece, &shown),
                         is_enough ? 0 : -COR_ETOOBIG);
        assert_true(shown <= max);
        assert_int_equal(cor_gzip_reader_is_whole(reader), is_enough);
    }
}

TEST(gzip, that_is_damaged_cut_or_followed_by_other_bytes_is_refused)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf in, out, text;

    cor_buf_init(&in, 10000);
    cor_buf_init(&out, 10000);
    cor_buf_init(&text, 20000);
    add_bytes(&in, 1000, false);
    assert_int_equal(cor_gzip_pack(cor_buf_str(&in), 1, &out), 0);
    for (size_t i = 0; i < out.n + 2; i++) {
        COR_CLEANUP(cor_gzip_reader_freep) struct cor_gzip_reader *reader = NULL;
        struct cor_str cut = cor_str(out.p, i < out.n ? i : out.n);
        int r;

        assert_int_equal(cor_gzip_reader_new(10000, &reader), 0);
        cor_buf_reset(&text);
        assert_int_equal(cor_gzip_read(reader, cut, add_piece, &text), 0);
        assert_int_equal(cor_gzip_reader_is_whole(reader), i >= out.n);
        if (i < out.n)
            continue;
        r = cor_gzip_read(reader, COR_STR("no gzip"), add_piece, &text);
        assert_int_equal(r, -COR_EINVAL);
        assert_false(cor_gzip_reader_is_whole(reader));
    }
    /* The checksum is in the last eight bytes. */
    for (size_t i = out.n - 8; i < out.n; i++) {
        COR_CLEANUP(cor_gzip_reader_freep) struct cor_gzip_reader *reader = NULL;

        out.p[i] ^= 1;
        assert_int_equal(cor_gzip_reader_new(10000, &reader), 0);
        cor_buf_reset(&text);
        assert_int_equal(cor_gzip_read(reader, cor_buf_str(&out), add_piece, &text), -COR_EINVAL);
        out.p[i] ^= 1;
    }
}

static int refuse_piece(void *arg, struct cor_str piece)
{
    return -COR_ECANCELED;
}

TEST(gzip, ends_with_what_the_consumer_returns)
{
    COR_CLEANUP(cor_gzip_reader_freep) struct cor_gzip_reader *reader = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, 1000);
    assert_int_equal(cor_gzip_pack(COR_STR("abc"), 1, &out), 0);
    assert_int_equal(cor_gzip_reader_new(10, &reader), 0);
    assert_int_equal(cor_gzip_read(reader, cor_buf_str(&out), refuse_piece, NULL), -COR_ECANCELED);
}

TEST(gzip, fails_without_memory_and_loses_nothing_otherwise)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf in;

    cor_buf_init(&in, 200000);
    add_bytes(&in, 200000, true);
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_gzip_reader_freep) struct cor_gzip_reader *reader = NULL;
        COR_CLEANUP(cor_buf_deinit) struct cor_buf packed, text;
        int r;

        cor_buf_init(&packed, 1u << 20);
        cor_buf_init(&text, 1u << 20);
        r = cor_gzip_pack(cor_buf_str(&in), 1, &packed);
        if (r == 0)
            r = cor_gzip_reader_new(200000, &reader);
        if (r == 0)
            r = cor_gzip_read(reader, cor_buf_str(&packed), add_piece, &text);
        if (r == 0)
            assert_true(cor_str_eq(cor_buf_str(&text), cor_buf_str(&in)));
        else
            assert_int_equal(r, -COR_ENOMEM);
        assert_int_equal(r < 0, test_alloc_failed());
    }
}

TEST(gzip, is_asked_for_by_upstreams_two_rules)
{
    static const struct {
        const char *value;
        bool is_named, is_accepted;
    } rows[] = {
        {"gzip", true, true},
        {"gzip, deflate", true, true},
        {"deflate,gzip", true, true},
        {" br ,\tgzip ", true, true},
        {"gzip;q=1.0", false, true},
        {"gzip; q=0.001", false, true},
        {"gzip;q=0", false, false},
        {"gzip;q=0.000", false, false},
        {"gzip;q=", false, false},
        {"gzip;q=x", false, false},
        {"gzip;q=1.1.1", false, false},
        {"identity", false, false},
        {"x-gzip", false, false},
        {"GZIP", false, false},
        {"*", false, false},
        {"", false, false},
        {",,", false, false},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        assert_int_equal(cor_gzip_is_named(cor_strz(rows[i].value)), rows[i].is_named);
        assert_int_equal(cor_gzip_is_accepted(cor_strz(rows[i].value)), rows[i].is_accepted);
    }
}
