/* Input: one byte that chooses the cut, then what a server sends as a call's body. However it is
 * cut, the messages are the same, each within the limit, and as long as its prefix says. */
#include "base/err.h"
#include "fuzz.h"
#include "grpc/grpc_message_reader.h"

#define MAX 1000

static uint64_t mix(uint64_t hash, struct cor_str s)
{
    for (size_t i = 0; i < s.n; i++)
        hash = (hash ^ (unsigned char)s.p[i]) * 0x100000001b3u;
    return hash + s.n + 1;
}

static uint64_t run(struct cor_str in, size_t cut)
{
    struct cor_message_reader reader;
    uint64_t hash = 0;
    size_t taken = 0, all = in.n;
    bool is_midway;
    int r = 0;

    cor_message_reader_init(&reader, MAX, all);
    while (in.n > 0 && r == 0) {
        struct cor_str piece = cor_str(in.p, in.n < cut ? in.n : cut), message;
        bool is_whole = true;

        in = cor_str_from(in, piece.n);
        r = cor_message_reader_add(&reader, piece);
        while (r == 0 && is_whole) {
            r = cor_message_reader_next(&reader, &is_whole, &message);
            if (r < 0 || !is_whole)
                break;
            FUZZ_CHECK(message.n <= MAX);
            taken += COR_GRPC_PREFIX_BYTES + message.n;
            hash = mix(hash, message);
        }
        if (r == 0)
            r = cor_message_reader_keep(&reader);
    }
    is_midway = cor_message_reader_is_midway(&reader);
    FUZZ_CHECK(r < 0 || is_midway == (taken < all));
    cor_message_reader_deinit(&reader);
    return hash + (uint64_t)(r == 0 ? is_midway : -r * 100);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str in;

    if (size == 0)
        return 0;
    in = cor_str((const char *)data + 1, size - 1);
    FUZZ_CHECK(run(in, SIZE_MAX) == run(in, 1 + data[0] % 23));
    return 0;
}
