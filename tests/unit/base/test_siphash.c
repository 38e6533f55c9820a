#include "base/siphash.h"
#include "test.h"

/* Values of CPython 3.11's hash() with PYTHONHASHSEED=0, which is SipHash-1-3 with a zero key. */
TEST(siphash, agrees_with_another_implementation)
{
    assert_true(cor_siphash(COR_STR("a"), 0, 0) == 0x407448d2b89b1813u);
    assert_true(cor_siphash(COR_STR("abcdefg"), 0, 0) == 0x6db12aae9070f506u);
    assert_true(cor_siphash(COR_STR("abcdefgh"), 0, 0) == 0x3f7b849c0b8e35eau);
    assert_true(cor_siphash(COR_STR("/registry/configmaps/default/x"), 0, 0) ==
                0x74d0ba997dd1bb62u);
}

TEST(siphash, depends_on_both_halves_of_the_key)
{
    uint64_t plain = cor_siphash(COR_STR("pod"), 0, 0);

    assert_true(cor_siphash(COR_STR("pod"), 1, 0) != plain);
    assert_true(cor_siphash(COR_STR("pod"), 0, 1) != plain);
}

TEST(siphash, takes_the_empty_string)
{
    assert_true(cor_siphash(cor_str(NULL, 0), 1, 2) == cor_siphash(COR_STR(""), 1, 2));
}
