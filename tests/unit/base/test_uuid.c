#include "base/uuid.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

/* RFC 9562, 5.4. */
TEST(uuid, has_the_form_of_version_4_and_random_digits_elsewhere)
{
    static const char form[] = "xxxxxxxx-xxxx-4xxx-vxxx-xxxxxxxxxxxx";
    unsigned seen[sizeof(form) - 1] = {0}; /* digits, as bits */
    struct cor_rand rand;
    char text[COR_UUID_TEXT_MAX];

    cor_rand_init_seeded(&rand, 1);
    for (int round = 0; round < 1000; round++) {
        struct cor_str uuid = cor_uuid_print(&rand, text);

        assert_int_equal(uuid.n, sizeof(form) - 1);
        assert_int_equal(text[uuid.n], 0);
        for (size_t i = 0; i < uuid.n; i++) {
            const char *digit = strchr("0123456789abcdef", uuid.p[i]);

            if (form[i] == '-' || form[i] == '4') {
                assert_int_equal(uuid.p[i], form[i]);
                continue;
            }
            assert_non_null(digit);
            seen[i] |= 1u << strtoul((char[]){*digit, 0}, NULL, 16);
        }
    }
    for (size_t i = 0; i < sizeof(form) - 1; i++)
        if (form[i] != '-' && form[i] != '4')
            assert_int_equal(seen[i], form[i] == 'v' ? 0x0f00 : 0xffff);
}
