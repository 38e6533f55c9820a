/* The scope of an informer: what it lists and watches. Two scopes with the same key share an
 * informer; the key holds every member that makes a difference, so that the resync period, which
 * makes none, is not in it. A copy has all its strings in one block. Thread: any; no state. */
#include "cache/informers/informer_scope.h"

#include "base/str.h"

#define STRINGS 7

static void strings_of(struct cor_informer_scope *scope, struct cor_str *ret[STRINGS])
{
    ret[0] = &scope->resource.group;
    ret[1] = &scope->resource.version;
    ret[2] = &scope->resource.resource;
    ret[3] = &scope->kind;
    ret[4] = &scope->ns;
    ret[5] = &scope->label_selector;
    ret[6] = &scope->field_selector;
}

/* Each string with its length before it: no byte of one can pass for the next. */
int cor_informer_scope_print(const struct cor_informer_scope *scope, struct cor_buf *out)
{
    struct cor_informer_scope copy = *scope;
    struct cor_str *strings[STRINGS];
    size_t before = out->n;
    int r = 0;

    strings_of(&copy, strings);
    for (size_t i = 0; r == 0 && i < STRINGS; i++)
        r = cor_buf_addf(out, "%zu:%.*s", strings[i]->n, COR_STR_ARG(*strings[i]));
    if (r == 0)
        r = cor_buf_addf(out, "%d", scope->metadata_only);
    if (r == 0)
        r = cor_buf_add(out, &scope->tweak, sizeof(scope->tweak));
    if (r == 0)
        r = cor_buf_add(out, &scope->tweak_arg, sizeof(scope->tweak_arg));
    if (r == 0)
        r = cor_buf_add(out, &scope->transform, sizeof(scope->transform));
    if (r == 0)
        r = cor_buf_add(out, &scope->transform_arg, sizeof(scope->transform_arg));
    if (r == 0)
        r = cor_buf_add(out, &scope->make_list_watch, sizeof(scope->make_list_watch));
    if (r == 0)
        r = cor_buf_add(out, &scope->make_arg, sizeof(scope->make_arg));
    if (r < 0)
        cor_buf_truncate(out, before);
    return r;
}

int cor_informer_scope_copy(const struct cor_informer_scope *scope,
                            struct cor_informer_scope *ret_scope, char **ret_strings)
{
    struct cor_informer_scope copy = *scope;
    struct cor_str *strings[STRINGS];
    int r;

    strings_of(&copy, strings);
    r = cor_str_gather(strings, STRINGS, ret_strings);
    if (r == 0)
        *ret_scope = copy;
    return r;
}
