/* Doubles as Go prints them, beside the definition: the first number of digits, correctly rounded,
 * that reads back as the same double. */
#include "json/text/float_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/rand.h"
#include "test.h"

static void check_print(double value, const char *want)
{
    char out[COR_FLOAT_TEXT_MAX];
    struct cor_str text = cor_float_print(value, out);

    if (!cor_str_eqz(text, want))
        fail_msg("%.17g is printed as %.*s instead of %s", value, COR_STR_ARG(text), want);
    assert_int_equal(out[text.n], 0);
}

TEST(float_text, is_laid_out_as_go_does_it)
{
    check_print(0, "0");
    check_print(-0.0, "-0");
    check_print(1, "1");
    check_print(-1.5, "-1.5");
    check_print(100, "100");
    check_print(0.1, "0.1");
    check_print(0.000001, "0.000001");
    check_print(0.00000123, "0.00000123");
    check_print(0.0000009, "9e-7");
    check_print(1.5e-10, "1.5e-10");
    check_print(123456789012345680000.0, "123456789012345680000");
    check_print(1e21, "1e+21");
    check_print(-1.2345e22, "-1.2345e+22");
    check_print(9007199254740993.0, "9007199254740992");
    check_print(5e-324, "5e-324");
    check_print(0x1p-97, "6.310887241768095e-30");
    check_print(DBL_MIN, "2.2250738585072014e-308");
    check_print(-DBL_MAX, "-1.7976931348623157e+308");
}

/* "d.ddde-xx" with as few digits as tell the number. */
static void print_by_definition(double value, char *out, size_t size)
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, size, "%.*e", digits - 1, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

/* The significant digits of a text. Returns how many. */
static size_t digits_of(const char *text, char *out)
{
    size_t n = 0;

    for (; *text && *text != 'e'; text++) {
        if (*text >= '0' && *text <= '9' && (n > 0 || *text != '0'))
            out[n++] = *text;
    }
    while (n > 0 && out[n - 1] == '0')
        n--;
    out[n] = '\0';
    return n;
}

/* A power of two may have a text that is shorter than by the definition: the number below it is
 * nearer than the one above, so that the text which rounds it reads back as another. */
static void check_digits(double value)
{
    char want[COR_FLOAT_TEXT_MAX], out[COR_FLOAT_TEXT_MAX], a[COR_FLOAT_TEXT_MAX],
        b[COR_FLOAT_TEXT_MAX];
    struct cor_str text = cor_float_print(value, out);
    size_t n, nwant;

    print_by_definition(value, want, sizeof(want));
    n = digits_of(out, a);
    nwant = digits_of(want, b);
    if (n > nwant || (n == nwant && strcmp(a, b) != 0))
        fail_msg("%s instead of the digits of %s", out, want);
    assert_true(strtod(out, NULL) == value);
    assert_true(cor_float_read(text) == value);
}

TEST(float_text, has_the_fewest_digits_and_reads_back)
{
    struct cor_rand rand;

    cor_rand_init_seeded(&rand, 7);
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = cor_rand_u64(&rand);
        double value;

        if (i % 4 == 1) /* subnormal */
            bits &= (UINT64_C(1) << 52) - 1;
        memcpy(&value, &bits, sizeof(value));
        if (i % 4 == 2) /* short decimals */
            value = (double)(bits % 1000000) / 1000;
        if (i % 4 == 3) { /* around powers of two, whose neighbours are not equally far */
            bits = (bits & 0x7fe) << 52 | (bits >> 62);
            bits -= bits > 0;
            memcpy(&value, &bits, sizeof(value));
        }
        if (isfinite(value) && value != 0)
            check_digits(value);
    }
    for (uint64_t exponent = 0; exponent < 2047; exponent++) {
        uint64_t bits = exponent << 52 | (exponent == 0);
        double value;

        memcpy(&value, &bits, sizeof(value));
        check_digits(value);
    }
}

TEST(float_text, reads_what_the_c_library_reads)
{
    static const char *const texts[] = {"0.1",
                                        "-0",
                                        "-0.0",
                                        "1e400",
                                        "-1e400",
                                        "1E5",
                                        "12345678901234567890123",
                                        "1e-400",
                                        "4.9e-324",
                                        "2.5e-324",
                                        "0.3000000000000000444",
                                        "7"};

    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++) {
        char text[64];
        double read, want = strtod(texts[i], NULL);

        snprintf(text, sizeof(text), "%s}", texts[i]);
        read = cor_float_read(cor_str(text, strlen(texts[i])));
        if (read != want || signbit(read) != signbit(want))
            fail_msg("%s is read as %.17g", texts[i], read);
    }
}
