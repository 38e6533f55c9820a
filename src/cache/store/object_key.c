/* Makes the keys of objects: "namespace/name", or what the store's own function returns. A key is
 * appended to the caller's buffer, and a failure leaves the buffer as it was. Thread: any. */
#include "cache/store/object_key.h"

#include <stdio.h>

#include "base/err.h"

int cor_object_key(const struct cor_object *object, struct cor_buf *out)
{
    struct cor_str ns, name;
    size_t before = out->n;
    int r = 0;

    if (object->key_len > 0 && !object->key_is_given)
        return cor_buf_adds(out, cor_object_own_key(object));
    ns = cor_object_namespace(object);
    name = cor_object_name(object);
    if (name.n == 0)
        return -COR_EINVAL;
    if (ns.n > 0 && (r = cor_buf_adds(out, ns)) == 0)
        r = cor_buf_addc(out, '/');
    if (r == 0)
        r = cor_buf_adds(out, name);
    if (r < 0)
        cor_buf_truncate(out, before);
    return r;
}

/* The key's length, or negative. */
static int keyer_call(const struct cor_keyer *keyer, const struct cor_object *object,
                      char to[COR_OBJECT_KEY_MAX])
{
    int n = keyer->fn(keyer->arg, object, to);

    return n == 0 || n > COR_OBJECT_KEY_MAX ? -COR_EINVAL : n;
}

int cor_keyer_print(const struct cor_keyer *keyer, const struct cor_object *object,
                    struct cor_buf *out)
{
    char key[COR_OBJECT_KEY_MAX];
    int n;

    if (!keyer->fn)
        return cor_object_key(object, out);
    n = keyer_call(keyer, object, key);
    return n < 0 ? n : cor_buf_add(out, key, (size_t)n);
}

int cor_keyer_apply(const struct cor_keyer *keyer, struct cor_object *object,
                    struct cor_object **ret_object)
{
    char key[COR_OBJECT_KEY_MAX];
    int n;

    if (keyer->fn) {
        n = keyer_call(keyer, object, key);
        return n < 0 ? n : cor_object_with_given_key(object, cor_str(key, (size_t)n), ret_object);
    }
    n = cor_object_with_key(object, ret_object);
    if (n == 0 && (*ret_object)->key_len > COR_OBJECT_KEY_MAX) {
        *ret_object = cor_object_unref(*ret_object);
        return -COR_ETOOBIG;
    }
    return n;
}

int cor_object_key_split(struct cor_str key, struct cor_str *ret_ns, struct cor_str *ret_name)
{
    struct cor_str rest = key, first = cor_str_cut(&rest, '/');

    if (!rest.p) {
        *ret_ns = COR_STR("");
        *ret_name = first;
        return 0;
    }
    if (cor_str_find(rest, '/') >= 0)
        return -COR_EINVAL;
    *ret_ns = first;
    *ret_name = rest;
    return 0;
}

size_t cor_object_key_join(struct cor_str ns, struct cor_str name, char *to, size_t cap)
{
    int n =
        snprintf(to, cap, "%.*s%s%.*s", COR_STR_ARG(ns), ns.n > 0 ? "/" : "", COR_STR_ARG(name));

    return (size_t)n;
}
