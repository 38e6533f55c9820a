/* Promises of generated structs on any protobuf: nothing outside of the bytes is read, what is
 * decoded can be encoded, and what was encoded is encoded as the same bytes after another way. As
 * JSON it can be encoded unless a raw value is no JSON or a number is not finite. The first bytes
 * choose the type. */
#include "base/err.h"
#include "fuzz.h"
#include "fuzz_struct_type.h"

static void check_decoded(const struct cor_own_type *type, struct cor_pool *pool, const void *own)
{
    void *again = cor_pool_alloc(pool, type->size);
    struct cor_str first, second, json;
    int r;

    FUZZ_CHECK(again);
    FUZZ_CHECK(cor_own_encode_protobuf(type, pool, own, &first) == 0);
    FUZZ_CHECK(cor_own_decode_protobuf(type, pool, first, NULL, again, NULL) == 0);
    FUZZ_CHECK(cor_own_encode_protobuf(type, pool, again, &second) == 0);
    FUZZ_CHECK(cor_str_eq(first, second));
    r = cor_own_encode(type, pool, own, &json);
    FUZZ_CHECK(r == 0 || r == -COR_EINVAL);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    const struct cor_own_type *type = fuzz_struct_type(&data, &size);
    struct cor_own_error why;
    struct cor_pool *pool;
    void *own;
    int r;

    FUZZ_CHECK(cor_pool_new(0, &pool) == 0);
    own = cor_pool_alloc(pool, type->size);
    FUZZ_CHECK(own);
    r = size > 0 ? cor_own_decode_protobuf(type, pool, cor_str((const char *)data + 1, size - 1),
                                           NULL, own, &why)
                 : -COR_EINVAL;
    FUZZ_CHECK(r == 0 || r == -COR_EINVAL ||
               (r == -COR_ENOTSUP && !(type->kind && type->by_number)));
    if (r == 0)
        check_decoded(type, pool, own);
    cor_pool_free(pool);
    return 0;
}
