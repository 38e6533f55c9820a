/* Numbers that are stored are written again only where upstream would write them otherwise. */
#include "schema/structural/numbers.h"

#include <stdio.h>

#include "base/rand.h"
#include "test.h"
#include "json/text/float_text.h"

/* What becomes of the number in an object; the same: nothing. */
static void check_number(const char *number, const char *want)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 4096};
    char json[128], expected[128];
    int r;

    snprintf(json, sizeof(json), "{\"a\":%s,\"b\":[\"1.50\",%s]}", number, number);
    snprintf(expected, sizeof(expected), "{\"a\":%s,\"b\":[\"1.50\",%s]}", want, want);
    r = cor_structural_write_numbers(cor_strz(json), &out);
    if (r != (strcmp(number, want) != 0) || (r == 1 && strcmp(cor_buf_z(&out), expected) != 0))
        fail_msg("%s became %s instead of %s", number, r == 1 ? cor_buf_z(&out) : "itself", want);
}

TEST(structural_numbers, are_written_as_upstream_writes_them)
{
    static const char *const numbers[][2] = {
        {"1.5", "1.5"},
        {"-0.000001", "-0.000001"},
        {"0.0000012", "0.0000012"},
        {"0.0000009", "9e-7"},
        {"0.00000000000001", "1e-14"},
        {"1.50", "1.5"},
        {"0.0", "0"},
        {"-0.0", "-0"},
        {"-0", "-0"},
        {"1e3", "1000"},
        {"1.5E3", "1500"},
        {"100000000000000000000000", "1e+23"},
        {"123456789012345.5", "123456789012345.5"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"0.300000000000000041", "0.30000000000000004"},
        {"0.1234567890123456789", "0.12345678901234568"},
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775808", "9223372036854776000"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(numbers); i++)
        check_number(numbers[i][0], numbers[i][1]);
}

/* The shortcut for decimals that are their own shortest text. */
TEST(structural_numbers, are_the_same_with_and_without_a_shortcut)
{
    struct cor_rand rand;

    cor_rand_init_seeded(&rand, 5);
    for (int i = 0; i < 100000; i++) {
        char number[64], room[COR_FLOAT_TEXT_MAX];
        uint64_t bits = cor_rand_u64(&rand), whole = bits % 2 ? 0 : (bits >> 8) % 100000;
        int places = 1 + (int)(bits >> 40) % 17, digits = 1 + (int)(bits >> 50) % places;
        uint64_t fraction = cor_rand_u64(&rand);

        for (uint64_t max = 1; digits > 0; digits--) {
            max *= 10;
            if (digits == 1)
                fraction %= max;
        }
        snprintf(number, sizeof(number), "%s%llu.%0*llu", bits & 4 ? "-" : "",
                 (unsigned long long)whole, places, (unsigned long long)fraction);
        check_number(number, cor_float_print(strtod(number, NULL), room).p);
    }
}
