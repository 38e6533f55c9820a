#include "meta/names/key.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/names/validation.h"
#include "meta/status/quote.h"

static const struct {
    struct cor_gr gr;
    const char *prefix;
} special_prefixes[] = {
    {{COR_STR(""), COR_STR("replicationcontrollers")}, "controllers"},
    {{COR_STR(""), COR_STR("endpoints")}, "services/endpoints"},
    {{COR_STR(""), COR_STR("nodes")}, "minions"},
    {{COR_STR(""), COR_STR("services")}, "services/specs"},
    {{COR_STR("extensions"), COR_STR("ingresses")}, "ingress"},
    {{COR_STR("networking.k8s.io"), COR_STR("ingresses")}, "ingress"},
    {{COR_STR("apiextensions.k8s.io"), COR_STR("customresourcedefinitions")},
     "apiextensions.k8s.io/customresourcedefinitions"},
    {{COR_STR("apiregistration.k8s.io"), COR_STR("apiservices")},
     "apiregistration.k8s.io/apiservices"},
};

static int undo(struct cor_buf *out, size_t mark, int r)
{
    if (r < 0)
        cor_buf_truncate(out, mark);
    return r;
}

static void drop_last_segment(struct cor_buf *out, size_t root)
{
    size_t n = out->n;

    if (n > root)
        n--;
    while (n > root && out->p[n - 1] != '/')
        n--;
    cor_buf_truncate(out, n);
}

static int add_segment(struct cor_buf *out, size_t root, struct cor_str segment)
{
    int r;

    if (segment.n == 0 || cor_str_eq(segment, COR_STR(".")))
        return 0;
    if (cor_str_eq(segment, COR_STR(".."))) {
        drop_last_segment(out, root);
        return 0;
    }
    r = cor_buf_adds(out, segment);
    return r < 0 ? r : cor_buf_addc(out, '/');
}

int cor_key_path_prefix(struct cor_str prefix, struct cor_buf *out)
{
    size_t mark = out->n;
    int r = cor_buf_addc(out, '/');

    while (r == 0 && prefix.n > 0)
        r = add_segment(out, mark + 1, cor_str_cut(&prefix, '/'));
    return undo(out, mark, r);
}

static int add_joined(struct cor_buf *out, struct cor_str a, struct cor_str b)
{
    int r = cor_buf_addc(out, '/');

    if (r == 0)
        r = cor_buf_adds(out, a);
    if (r == 0 && b.n > 0)
        r = cor_buf_addc(out, '/');
    return r < 0 ? r : cor_buf_adds(out, b);
}

int cor_key_resource_prefix(const struct cor_gr *gr, bool is_custom, struct cor_buf *out)
{
    size_t mark = out->n;

    if (is_custom)
        return undo(out, mark, add_joined(out, gr->group, gr->resource));
    for (size_t i = 0; i < COR_ARRAY_LEN(special_prefixes); i++) {
        if (cor_gr_eq(gr, &special_prefixes[i].gr))
            return undo(out, mark,
                        add_joined(out, cor_strz(special_prefixes[i].prefix), COR_STR("")));
    }
    return undo(out, mark, add_joined(out, gr->resource, COR_STR("")));
}

bool cor_key_is_builtin(const struct cor_gr *gr)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(special_prefixes); i++) {
        struct cor_str resource = cor_strz(special_prefixes[i].prefix);
        struct cor_str group = cor_str_cut(&resource, '/');

        if (cor_str_eq(group, gr->group) && cor_str_eq(resource, gr->resource))
            return true;
    }
    return false;
}

static int refuse_name(struct cor_str name, const struct cor_complaints *c, struct cor_status *st)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {.max = 8 * COR_KEY_BYTES_MAX};

    if (cor_quote(name, &quoted) < 0)
        return cor_status_bad_request(st, "Name parameter invalid");
    return cor_status_bad_request(st, "Name parameter invalid: %s: %s%s%s", cor_buf_z(&quoted),
                                  c->text[0], c->n > 1 ? ";" : "", c->n > 1 ? c->text[1] : "");
}

int cor_key_of_object(struct cor_str resource_prefix, bool is_namespaced, struct cor_str ns,
                      struct cor_str name, struct cor_buf *out, struct cor_status *reterr_status)
{
    struct cor_complaints c = cor_name_check(COR_NAME_PATH_SEGMENT, name);
    size_t mark = out->n;
    int r;

    if (is_namespaced && ns.n == 0)
        return cor_status_bad_request(reterr_status, "Namespace parameter required.");
    if (name.n == 0)
        return cor_status_bad_request(reterr_status, "Name parameter required.");
    if (c.n > 0)
        return refuse_name(name, &c, reterr_status);
    if ((r = cor_key_of_namespace(resource_prefix, is_namespaced ? ns : COR_STR(""), out)) == 0 &&
        (r = cor_buf_addc(out, '/')) == 0)
        r = cor_buf_adds(out, name);
    return r == 0 ? 0 : cor_status_set(reterr_status, undo(out, mark, r), "%s", cor_err_text(r));
}

/* A dot segment is not a part of a key: cor_key_prepare() refuses it. No object can live in a
 * namespace of that name, and this form of it, which no namespace has either, finds none. */
static struct cor_str namespace_segment(struct cor_str ns)
{
    if (cor_str_eq(ns, COR_STR(".")))
        return COR_STR("%2e");
    return cor_str_eq(ns, COR_STR("..")) ? COR_STR("%2e%2e") : ns;
}

int cor_key_of_namespace(struct cor_str resource_prefix, struct cor_str ns, struct cor_buf *out)
{
    size_t mark = out->n;
    int r = cor_buf_adds(out, resource_prefix);

    if (r == 0 && ns.n > 0)
        r = cor_buf_addc(out, '/');
    if (r == 0)
        r = cor_buf_adds(out, namespace_segment(ns));
    return undo(out, mark, r);
}

static bool has_dot_segment(struct cor_str key)
{
    while (key.n > 0) {
        struct cor_str segment = cor_str_cut(&key, '/');

        if (cor_str_eq(segment, COR_STR(".")) || cor_str_eq(segment, COR_STR("..")))
            return true;
    }
    return false;
}

static int refuse_key(const char *what, struct cor_str key, struct cor_status *st)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {.max = 8 * COR_KEY_BYTES_MAX};

    if (cor_quote(key, &quoted) < 0)
        return cor_status_untyped(st, -COR_EINVAL, "%s key", what);
    return cor_status_untyped(st, -COR_EINVAL, "%s key: %s", what, cor_buf_z(&quoted));
}

int cor_key_prepare(struct cor_str path_prefix, struct cor_str key, bool recursive,
                    struct cor_buf *out, struct cor_status *reterr_status)
{
    size_t mark = out->n;
    int r;

    assert(cor_str_ends(path_prefix, COR_STR("/")));
    if (has_dot_segment(key))
        return refuse_key("invalid", key, reterr_status);
    if (key.n == 0 || cor_str_eq(key, COR_STR("/")))
        return refuse_key("empty", key, reterr_status);
    r = cor_buf_adds(out, path_prefix);
    if (r == 0)
        r = cor_buf_adds(out, cor_str_from(key, key.p[0] == '/'));
    if (r == 0 && recursive && out->p[out->n - 1] != '/')
        r = cor_buf_addc(out, '/');
    return r == 0 ? 0 : cor_status_set(reterr_status, undo(out, mark, r), "%s", cor_err_text(r));
}

int cor_key_range_end(struct cor_str prefix, struct cor_buf *out)
{
    int r;

    while (prefix.n > 0 && (unsigned char)prefix.p[prefix.n - 1] == 0xff)
        prefix.n--;
    if (prefix.n == 0)
        return -COR_EINVAL;
    r = cor_buf_adds(out, prefix);
    if (r == 0)
        out->p[out->n - 1]++;
    return r;
}

bool cor_key_is_clean(struct cor_str path)
{
    struct cor_str rest;

    assert(path.n > 0 && path.p[0] == '/');
    if (path.n == 1)
        return true;
    rest = cor_str_from(path, 1);
    if (rest.p[rest.n - 1] == '/' || has_dot_segment(rest))
        return false;
    while (rest.n > 0) {
        if (cor_str_cut(&rest, '/').n == 0)
            return false;
    }
    return true;
}
