#include "base/uuid.h"

/* Writes the lowest `n` digits of `bits` and a hyphen. Returns what is behind it. */
static char *print_group(char *at, uint64_t bits, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = n; i-- > 0; bits >>= 4)
        at[i] = digits[bits & 0xf];
    at[n] = '-';
    return at + n + 1;
}

struct cor_str cor_uuid_print(struct cor_rand *rand, char out[COR_UUID_TEXT_MAX])
{
    uint64_t high = cor_rand_u64(rand), low = cor_rand_u64(rand);
    char *at = out;

    high = (high & ~UINT64_C(0xf000)) | 0x4000;
    low = (low & ~(UINT64_C(3) << 62)) | UINT64_C(1) << 63;
    at = print_group(at, high >> 32, 8);
    at = print_group(at, high >> 16, 4);
    at = print_group(at, high, 4);
    at = print_group(at, low >> 48, 4);
    at = print_group(at, low, 12);
    *--at = 0;
    return cor_str(out, (size_t)(at - out));
}

int cor_uuid_add(struct cor_rand *rand, struct cor_buf *out)
{
    char text[COR_UUID_TEXT_MAX];
    struct cor_str uuid = cor_uuid_print(rand, text);

    return cor_buf_add(out, uuid.p, uuid.n);
}
