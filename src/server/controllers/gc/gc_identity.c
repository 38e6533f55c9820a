#include "server/controllers/gc/gc_identity.h"

bool cor_gc_identity_eq(const struct cor_gc_identity *a, const struct cor_gc_identity *b)
{
    return cor_str_eq(a->uid, b->uid) && cor_str_eq(a->name, b->name) && cor_str_eq(a->ns, b->ns) &&
           cor_str_eq(a->kind, b->kind) && cor_str_eq(a->api_version, b->api_version);
}

int cor_gc_identity_cmp(const struct cor_gc_identity *a, const struct cor_gc_identity *b)
{
    int order = cor_str_cmp(a->kind, b->kind);

    if (order == 0)
        order = cor_str_cmp(a->api_version, b->api_version);
    if (order == 0)
        order = cor_str_cmp(a->ns, b->ns);
    return order ? order : cor_str_cmp(a->name, b->name);
}

int cor_gc_identity_copy(const struct cor_gc_identity *from, struct cor_gc_identity *ret,
                         char **ret_strings)
{
    struct cor_gc_identity copy = *from;
    struct cor_str *const strings[] = {&copy.api_version, &copy.kind, &copy.ns, &copy.name,
                                       &copy.uid};
    int r = cor_str_gather(strings, COR_ARRAY_LEN(strings), ret_strings);

    if (r == 0)
        *ret = copy;
    return r;
}

int cor_gc_identity_print(const struct cor_gc_identity *id, struct cor_buf *out)
{
    return cor_buf_addf(out, "[%.*s/%.*s, namespace: %.*s, name: %.*s, uid: %.*s]",
                        COR_STR_ARG(id->api_version), COR_STR_ARG(id->kind), COR_STR_ARG(id->ns),
                        COR_STR_ARG(id->name), COR_STR_ARG(id->uid));
}
