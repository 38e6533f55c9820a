#include "meta/status/gvk.h"

#include "base/err.h"

bool cor_gr_eq(const struct cor_gr *a, const struct cor_gr *b)
{
    return cor_str_eq(a->group, b->group) && cor_str_eq(a->resource, b->resource);
}

int cor_gv_parse(struct cor_str api_version, struct cor_gv *ret_gv,
                 struct cor_status *reterr_status)
{
    struct cor_str rest = api_version, first;

    if (cor_str_find(api_version, '/') < 0) {
        *ret_gv = (struct cor_gv){COR_STR(""), api_version};
        return 0;
    }
    first = cor_str_cut(&rest, '/');
    if (cor_str_find(rest, '/') >= 0)
        return cor_status_untyped(reterr_status, -COR_EINVAL,
                                  "unexpected GroupVersion string: %.*s", COR_STR_ARG(api_version));
    *ret_gv = (struct cor_gv){first, rest};
    return 0;
}

static int add_joined(struct cor_buf *out, struct cor_str a, const char *between, struct cor_str b)
{
    size_t mark = out->n;
    int r;

    if ((r = cor_buf_adds(out, a)) < 0 || (r = cor_buf_addz(out, between)) < 0 ||
        (r = cor_buf_adds(out, b)) < 0)
        cor_buf_truncate(out, mark);
    return r;
}

static int add_dotted(struct cor_buf *out, struct cor_str name, struct cor_str group)
{
    return group.n ? add_joined(out, name, ".", group) : cor_buf_adds(out, name);
}

int cor_gv_print(const struct cor_gv *gv, struct cor_buf *out)
{
    return gv->group.n ? add_joined(out, gv->group, "/", gv->version)
                       : cor_buf_adds(out, gv->version);
}

int cor_gk_print(const struct cor_gk *gk, struct cor_buf *out)
{
    return add_dotted(out, gk->kind, gk->group);
}

int cor_gr_print(const struct cor_gr *gr, struct cor_buf *out)
{
    return add_dotted(out, gr->resource, gr->group);
}

static int add_typed(struct cor_buf *out, struct cor_str group, struct cor_str version,
                     const char *label, struct cor_str name)
{
    size_t mark = out->n;
    int r;

    if ((r = add_joined(out, group, "/", version)) < 0 ||
        (r = add_joined(out, COR_STR(""), label, name)) < 0)
        cor_buf_truncate(out, mark);
    return r;
}

int cor_gvk_print(const struct cor_gvk *gvk, struct cor_buf *out)
{
    return add_typed(out, gvk->group, gvk->version, ", Kind=", gvk->kind);
}

int cor_gvr_print(const struct cor_gvr *gvr, struct cor_buf *out)
{
    return add_typed(out, gvr->group, gvr->version, ", Resource=", gvr->resource);
}
