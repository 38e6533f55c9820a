#include "base/uuid.h"

struct cor_str cor_uuid_print(struct cor_rand *rand, char out[COR_UUID_TEXT_MAX])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t half[2] = {cor_rand_u64(rand), cor_rand_u64(rand)};
    size_t at = 0;

    half[0] = (half[0] & ~UINT64_C(0xf000)) | 0x4000;
    half[1] = (half[1] & ~(UINT64_C(3) << 62)) | UINT64_C(1) << 63;
    for (int i = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            out[at++] = '-';
        out[at++] = digits[half[i / 16] >> (60 - 4 * (i % 16)) & 0xf];
    }
    out[at] = 0;
    return cor_str(out, at);
}

int cor_uuid_add(struct cor_rand *rand, struct cor_buf *out)
{
    char text[COR_UUID_TEXT_MAX];
    struct cor_str uuid = cor_uuid_print(rand, text);

    return cor_buf_add(out, uuid.p, uuid.n);
}
