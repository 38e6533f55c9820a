/* Makes objects that keep only chosen fields, for caches that should take less memory. The paths
 * are compiled once: those of the caller, and those that every cache needs (name, namespace,
 * resourceVersion). An object that only loses its managed fields is copied around them. The given
 * object is left as it is, also when memory runs out. Thread: any; a projection does not change. */
#include "coracle/projection.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "meta/object/object.h"
#include "meta/object/object_received.h"
#include "meta/status/status.h"
#include "json/write/view_set.h"

struct cor_projection {
    struct cor_view_set *fields; /* NULL: all are kept */
    bool drop_managed_fields;
};

static const struct cor_str needed[] = {COR_STR("metadata.name"), COR_STR("metadata.namespace"),
                                        COR_STR("metadata.resourceVersion")};
#define FIXED_MAX (COR_ARRAY_LEN(needed) + 3)

/* The kept paths; the caller's come last. */
struct paths {
    struct cor_str v[COR_VIEW_SET_MAX];
    size_t n;
};

static void gather(const struct cor_projection_opts *opts, struct paths *paths)
{
    memcpy(paths->v, needed, sizeof(needed));
    paths->n = COR_ARRAY_LEN(needed);
    if (opts->keep_type) {
        paths->v[paths->n++] = COR_STR("kind");
        paths->v[paths->n++] = COR_STR("apiVersion");
    }
    if (opts->keep_labels)
        paths->v[paths->n++] = COR_STR("metadata.labels");
    memcpy(paths->v + paths->n, opts->fields, opts->nfields * sizeof(opts->fields[0]));
    paths->n += opts->nfields;
}

static int compile(const struct cor_projection_opts *opts, struct cor_view_set **ret_set,
                   struct cor_status *reterr)
{
    struct paths paths;
    struct cor_json_error why = {0};
    size_t wrong;
    int r;

    if (opts->nfields > COR_VIEW_SET_MAX - FIXED_MAX)
        return cor_status_set(reterr, -COR_ETOOBIG, "%zu fields are too many", opts->nfields);
    gather(opts, &paths);
    r = cor_view_set_new(paths.v, paths.n, ret_set, &wrong, &why);
    if (r == -COR_ENOMEM)
        return cor_status_set(reterr, r, "no memory for a projection");
    if (r < 0)
        return cor_status_set(reterr, -COR_EINVAL, "%.*s: %s (byte %zu)",
                              COR_STR_ARG(paths.v[wrong]), why.message, why.offset);
    for (size_t i = 0; i < paths.n; i++) {
        if (!cor_view_set_is_plain(*ret_set, i))
            return cor_status_set(reterr, -COR_EINVAL, "%.*s: a kept field is named by keys only",
                                  COR_STR_ARG(paths.v[i]));
    }
    return 0;
}

int cor_projection_new(const struct cor_projection_opts *opts,
                       struct cor_projection **ret_projection, struct cor_status *reterr)
{
    struct cor_projection_opts o;
    struct cor_projection *p;
    int r = cor_sized_copy(&o, sizeof(o), opts);

    if (r < 0)
        return cor_status_set(reterr, r, "make a projection: %s", cor_sized_text(r));
    p = cor_calloc(1, sizeof(*p));
    if (!p)
        return cor_status_set(reterr, -COR_ENOMEM, "no memory for a projection");
    p->drop_managed_fields = o.drop_managed_fields;
    if (o.nfields > 0)
        r = compile(&o, &p->fields, reterr);
    if (r < 0) {
        cor_projection_free(p);
        return r;
    }
    *ret_projection = p;
    return 0;
}

struct cor_projection *cor_projection_free(struct cor_projection *p)
{
    if (!p)
        return NULL;
    cor_view_set_free(p->fields);
    return cor_free(p);
}

static int keep_fields(const struct cor_projection *p, const struct cor_object *object,
                       struct cor_buf *out)
{
    struct cor_view found[COR_VIEW_SET_MAX];

    cor_view_set_read(p->fields, cor_object_view(object), found);
    return cor_view_set_print(p->fields, found, out);
}

/* The member with one of its commas, wherever white space has put it. Inside an object's bytes a
 * bracket stops both ways. */
static struct cor_str with_comma(const char *begin, const char *end)
{
    const char *after = end, *before = begin;

    while (cor_json_is_space(*after))
        after++;
    while (cor_json_is_space(before[-1]))
        before--;
    if (*after == ',')
        end = after + 1;
    else if (before[-1] == ',')
        begin = before - 1;
    return cor_str(begin, (size_t)(end - begin));
}

/* The member in metadata with one of its commas; empty when there is none. */
static struct cor_str find_managed_fields(const struct cor_object *object)
{
    struct cor_str key;
    struct cor_view metadata = cor_view_member(cor_object_view(object), COR_STR("metadata"));
    struct cor_json_iter it = cor_json_iter(metadata.json);

    while (cor_json_iter_member(&it, &key)) {
        struct cor_str value = cor_json_iter_value(&it);

        if (cor_str_eq(key, COR_STR("managedFields")))
            return with_comma(key.p - 1, value.p + value.n);
    }
    return cor_str(NULL, 0);
}

static int cut_out(const struct cor_object *object, struct cor_str gone, struct cor_buf *out)
{
    struct cor_str json = cor_object_json(object);
    size_t at = (size_t)(gone.p - json.p);
    int r = cor_buf_reserve(out, json.n - gone.n);

    if (r == 0)
        r = cor_buf_add(out, json.p, at);
    return r < 0 ? r : cor_buf_adds(out, cor_str_from(json, at + gone.n));
}

int cor_projection_apply(const struct cor_projection *p, struct cor_object *object,
                         struct cor_object **ret_object, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf kept = {.max = 0};
    struct cor_str gone = {NULL, 0};
    int r;

    if (cor_object_make_json(object) < 0)
        return cor_status_set(reterr, -COR_ENOMEM, "no memory for a projected object");
    cor_buf_init(&kept, cor_object_json(object).n + 1024);
    if (!p->fields && p->drop_managed_fields)
        gone = find_managed_fields(object);
    if (!p->fields && gone.n == 0) {
        *ret_object = cor_object_ref(object);
        return 0;
    }
    r = p->fields ? keep_fields(p, object, &kept) : cut_out(object, gone, &kept);
    if (r < 0)
        return cor_status_set(reterr, r, "no memory for a projected object");
    return cor_object_from_checked(cor_buf_str(&kept), cor_object_order(object), ret_object,
                                   reterr);
}

int cor_projection_transform(void *projection, struct cor_object **object,
                             struct cor_status *reterr)
{
    struct cor_object *kept;
    int r = cor_projection_apply(projection, *object, &kept, reterr);

    if (r < 0)
        return r;
    cor_object_unref(*object);
    *object = kept;
    return 0;
}
