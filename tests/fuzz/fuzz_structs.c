/* Promises of generated structs on any JSON: what is decoded can be encoded, and what was encoded
 * decodes to the same object and is encoded as the same bytes; a copy is equal. The first bytes
 * choose the type and what happens to unknown members. */
#include "base/err.h"
#include "fuzz.h"
#include "fuzz_struct_type.h"

static void check_decoded(const struct cor_own_type *type, struct cor_pool *pool, const void *own)
{
    void *again = cor_pool_alloc(pool, type->size), *copy = cor_pool_alloc(pool, type->size);
    struct cor_str first, second;
    int r;

    FUZZ_CHECK(again && copy);
    FUZZ_CHECK(cor_own_copy(type, pool, own, copy) == 0);
    FUZZ_CHECK(cor_own_equal(type, own, copy));
    r = cor_own_encode(type, pool, copy, &first);
    FUZZ_CHECK(r == 0);
    FUZZ_CHECK(cor_own_decode(type, pool, first, NULL, again, NULL) == 0);
    FUZZ_CHECK(cor_own_equal(type, own, again));
    FUZZ_CHECK(cor_own_encode(type, pool, again, &second) == 0);
    FUZZ_CHECK(cor_str_eq(first, second));
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    const struct cor_own_type *type = fuzz_struct_type(&data, &size);
    unsigned choice = size > 0 ? data[0] : 0;
    const struct cor_own_opts opts = {COR_OWN_OPTS,
                                      .unknown = (enum cor_own_unknown)(choice / 64 % 3)};
    struct cor_own_error why;
    struct cor_pool *pool;
    void *own;
    int r;

    FUZZ_CHECK(cor_pool_new(0, &pool) == 0);
    own = cor_pool_alloc(pool, type->size);
    FUZZ_CHECK(own);
    r = size > 0 ? cor_own_decode(type, pool, cor_str((const char *)data + 1, size - 1), &opts, own,
                                  &why)
                 : -COR_EINVAL;
    FUZZ_CHECK(r == 0 || r == -COR_EINVAL);
    if (r == 0)
        check_decoded(type, pool, own);
    cor_pool_free(pool);
    return 0;
}
