/* clang-format off */
/* cor_object_extract(): the part of an object that a manager has applied, selected by FieldsV1 alone.
 *
 *   entries of managedFields ──► the owners of the whole object
 *   extract_value(value, owners):
 *       the manager owns nothing below     the value as it is (or empty: see extract_leaf())
 *       an object                          each member with the owners of f:<name>
 *       a list                             each item with the owners of k:<keys>, v:<value> or i:<index>
 *   what was written ──► a builder, which adds apiVersion, kind, name and namespace
 *
 * All entries are walked together, the manager's own and those of others, because only the others
 * can tell that a map which the manager owns for itself has members that belong to them. At each
 * level the elements of all owners are put into one sorted array, in which each member or item of
 * the object is looked up: the work is n log n in the members and items of the object and of
 * FieldsV1. The elements' texts are decoded, and JSON inside them is made canonical, so that equal
 * elements have equal bytes. An element that is malformed, or of an unknown kind, is ignored.
 *
 * Arrays and texts live in an arena, whose first failure sticks, as does the writer's; both are
 * looked at once, at the end. Recursion is as deep as the object, which its reader has limited.
 * Thread: any. */
/* clang-format on */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "coracle/managed_fields.h"
#include "meta/metadata/metadata.h"
#include "meta/object/builder.h"
#include "meta/object/object.h"
#include "json/text/json.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define EXTRACT_BYTES_MAX (1u << 30)
#define INDEX_MAX         24

struct extract {
    struct cor_arena arena;
    struct cor_buf out, scratch;
    struct cor_json_writer writer;
};

/* One manager's part of FieldsV1 at a place in the object. */
struct owner {
    struct cor_str element; /* that leads to the place: "f:spec", canonical */
    struct cor_str below;   /* the elements below the place: {".":{},"f:replicas":{}} */
    bool is_own;            /* of the manager whose fields are extracted */
};

struct owners {
    const struct owner *v;
    size_t n;
};

static int compare_owners(const void *a, const void *b)
{
    return cor_str_cmp(((const struct owner *)a)->element, ((const struct owner *)b)->element);
}

/* Does the owner own a field below the place? The element "." is the place itself. */
static bool owns_below(const struct owner *owner)
{
    struct cor_json_iter it = cor_json_iter(owner->below);
    struct cor_str key;

    while (cor_json_iter_member(&it, &key))
        if (!cor_str_eqz(key, "."))
            return true;
    return false;
}

static bool owns_place(const struct owner *owner)
{
    struct cor_str unused;

    return cor_json_get(owner->below, COR_STR("."), COR_JSON_ANY_ORDER, &unused) == 0;
}

static bool any_owns_below(struct owners owners, bool is_own)
{
    for (size_t i = 0; i < owners.n; i++)
        if (owners.v[i].is_own == is_own && owns_below(&owners.v[i]))
            return true;
    return false;
}

/* The text `prefix` and the canonical form of `json`, in the arena. p == NULL: `json` is not JSON,
 * or the arena has failed. */
static struct cor_str canonical_element(struct extract *x, struct cor_str prefix,
                                        struct cor_str json)
{
    static const struct cor_json_limits limits = {
        .bytes_max = EXTRACT_BYTES_MAX, .depth_max = COR_JSON_DEPTH_MAX, .any_number = true};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init(&text, EXTRACT_BYTES_MAX);
    r = cor_json_canonicalize(json, &limits, &text, NULL, NULL);
    if (r == 0) {
        cor_buf_reset(&x->scratch);
        r = cor_buf_adds(&x->scratch, prefix);
    }
    if (r == 0)
        r = cor_buf_adds(&x->scratch, cor_buf_str(&text));
    if (r == 0)
        return cor_arena_copy(&x->arena, cor_buf_str(&x->scratch));
    if (r != -COR_EINVAL && x->arena.error == 0)
        x->arena.error = r;
    return cor_str(NULL, 0);
}

/* The element of a raw key of FieldsV1, canonical. p == NULL: it is ignored. */
static struct cor_str read_element(struct extract *x, struct cor_str raw)
{
    char *text = cor_arena_alloc(&x->arena, raw.n ? raw.n : 1);
    struct cor_str element;

    if (!text || cor_json_unescape(raw, text, raw.n, &element) < 0 || element.n < 2 ||
        element.p[1] != ':')
        return cor_str(NULL, 0);
    switch (element.p[0]) {
    case 'f':
    case 'i':
        return element;
    case 'k':
    case 'v':
        return canonical_element(x, cor_str(element.p, 2), cor_str_from(element, 2));
    default:
        return cor_str(NULL, 0);
    }
}

/* The owners of what is below a place, by their elements. */
static struct owners owners_below(struct extract *x, struct owners owners)
{
    struct owner *v;
    size_t n = 0;

    for (size_t i = 0; i < owners.n; i++)
        n += cor_view_len(cor_view(owners.v[i].below));
    v = cor_arena_alloc(&x->arena, (n ? n : 1) * sizeof(*v));
    n = 0;
    for (size_t i = 0; v && i < owners.n; i++) {
        struct cor_json_iter it = cor_json_iter(owners.v[i].below);
        struct cor_str raw;

        while (cor_json_iter_member(&it, &raw)) {
            struct cor_str element = read_element(x, raw);

            if (element.p)
                v[n++] = (struct owner){element, cor_json_iter_value(&it), owners.v[i].is_own};
        }
    }
    if (n > 1)
        qsort(v, n, sizeof(*v), compare_owners);
    return (struct owners){v, n};
}

/* The owners among `all` whose element is `element`, if the manager is one of them; else none. */
static struct owners owners_of(struct owners all, struct cor_str element)
{
    size_t low = 0, high = all.n, end;
    bool has_own = false;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (cor_str_cmp(all.v[middle].element, element) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < all.n && cor_str_eq(all.v[end].element, element); end++)
        has_own = has_own || all.v[end].is_own;
    return (struct owners){all.v + low, has_own ? end - low : 0};
}

static bool extract_value(struct extract *x, struct cor_str value, struct owners owners);

/* Writes an owned value, after its name if it is a member of an object; nothing when nothing is
 * left of what the manager owns. Returns whether something was written. */
static bool extract_part(struct extract *x, const struct cor_str *raw_name, struct cor_str value,
                         struct owners owners)
{
    const struct cor_json_writer before = x->writer;
    size_t n = x->out.n;

    if (raw_name)
        cor_json_raw_key(&x->writer, *raw_name);
    if (extract_value(x, value, owners))
        return true;
    if (x->writer.error == 0) {
        cor_buf_truncate(&x->out, n);
        x->writer = before;
    }
    return false;
}

/* Writes the owned members of an object; false: there are none. */
static bool extract_members(struct extract *x, struct cor_str object, struct owners below)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct cor_str raw;
    bool has_any = false;

    cor_json_begin_object(&x->writer);
    while (cor_json_iter_member(&it, &raw)) {
        char *text = cor_arena_alloc(&x->arena, raw.n + 2);
        struct cor_str value = cor_json_iter_value(&it), name;
        struct owners owners;

        if (!text || cor_json_unescape(raw, text + 2, raw.n, &name) < 0)
            break;
        memmove(text + 2, name.p, name.n);
        text[0] = 'f', text[1] = ':';
        owners = owners_of(below, cor_str(text, name.n + 2));
        if (owners.n > 0 && extract_part(x, &raw, value, owners))
            has_any = true;
    }
    cor_json_end_object(&x->writer);
    return has_any;
}

/* The name of a member that is a key of a list's items, as raw text. */
struct key_name {
    struct cor_str raw;
    const struct key_name *next;
};

static const struct key_name *find_name(const struct key_name *names, struct cor_str raw)
{
    while (names && cor_json_raw_cmp(names->raw, raw) != 0)
        names = names->next;
    return names;
}

/* All names that an element of kind k: has at this level. An item without one of its keys has the
 * others, so that elements of one list may have different names. */
static const struct key_name *names_of_keys(struct extract *x, struct owners below)
{
    const struct key_name *names = NULL;

    for (size_t i = 0; i < below.n; i++) {
        struct cor_json_iter it = cor_json_iter(cor_str_from(below.v[i].element, 2));
        struct cor_str raw;

        if (below.v[i].element.p[0] != 'k')
            continue;
        while (cor_json_iter_member(&it, &raw)) {
            struct key_name *name;

            if (find_name(names, raw))
                continue;
            name = cor_arena_alloc(&x->arena, sizeof(*name));
            if (!name)
                return NULL;
            *name = (struct key_name){raw, names};
            names = name;
        }
    }
    return names;
}

/* The element of an item by the keys that it has; p == NULL: it has none. */
static struct cor_str keys_of_item(struct extract *x, struct cor_str item,
                                   const struct key_name *names)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf keys;
    struct cor_json_iter it = cor_json_iter(item);
    struct cor_json_writer w;
    struct cor_str raw;
    size_t n = 0;
    int r;

    cor_buf_init(&keys, EXTRACT_BYTES_MAX);
    if (!names || cor_json_type(item) != COR_JSON_OBJECT)
        return cor_str(NULL, 0);
    cor_json_writer_init(&w, &keys);
    cor_json_begin_object(&w);
    while (cor_json_iter_member(&it, &raw)) {
        if (!find_name(names, raw))
            continue;
        cor_json_raw_key(&w, raw);
        cor_json_raw(&w, cor_json_iter_value(&it));
        n++;
    }
    cor_json_end_object(&w);
    r = cor_json_writer_finish(&w);
    if (r < 0 && x->arena.error == 0)
        x->arena.error = r;
    return r < 0 || n == 0 ? cor_str(NULL, 0)
                           : canonical_element(x, COR_STR("k:"), cor_buf_str(&keys));
}

/* The owners of an item: by its keys, by its value, or by its index. */
static struct owners owners_of_item(struct extract *x, struct cor_str item, size_t index,
                                    struct owners below, const struct key_name *names)
{
    struct cor_str element = keys_of_item(x, item, names);
    struct owners owners = {0};
    enum cor_json_type type = cor_json_type(item);
    char text[INDEX_MAX];

    if (element.p)
        owners = owners_of(below, element);
    if (owners.n == 0 && type != COR_JSON_OBJECT && type != COR_JSON_ARRAY) {
        element = canonical_element(x, COR_STR("v:"), item);
        if (element.p)
            owners = owners_of(below, element);
    }
    if (owners.n == 0) {
        snprintf(text, sizeof(text), "i:%zu", index);
        owners = owners_of(below, cor_strz(text));
    }
    return owners;
}

/* Writes the owned items of a list; false: there are none. */
static bool extract_items(struct extract *x, struct cor_str list, struct owners below)
{
    const struct key_name *names = names_of_keys(x, below);
    struct cor_json_iter it = cor_json_iter(list);
    bool has_any = false;

    cor_json_begin_array(&x->writer);
    for (size_t i = 0; cor_json_iter_elem(&it); i++) {
        struct cor_str item = cor_json_iter_value(&it);
        struct owners owners = owners_of_item(x, item, i, below, names);

        if (owners.n > 0 && extract_part(x, NULL, item, owners))
            has_any = true;
    }
    cor_json_end_array(&x->writer);
    return has_any;
}

/* Writes a value below which the manager owns nothing: a scalar, or a map or list that it owns as a
 * whole or for itself. The latter when another manager owns a part of it. */
static void extract_leaf(struct extract *x, struct cor_str value, struct owners owners)
{
    enum cor_json_type type = cor_json_type(value);
    bool is_container = type == COR_JSON_OBJECT || type == COR_JSON_ARRAY;

    if (is_container && any_owns_below(owners, false))
        cor_json_raw(&x->writer, type == COR_JSON_OBJECT ? COR_STR("{}") : COR_STR("[]"));
    else
        cor_json_raw(&x->writer, value);
}

/* Writes what the manager owns of a value, of which it owns something according to FieldsV1. False:
 * what it owned is not there any more, and what was written has to be taken back. */
static bool extract_value(struct extract *x, struct cor_str value, struct owners owners)
{
    enum cor_json_type type = cor_json_type(value);
    struct owners below;
    bool has_any;

    if ((type != COR_JSON_OBJECT && type != COR_JSON_ARRAY) || !any_owns_below(owners, true)) {
        extract_leaf(x, value, owners);
        return true;
    }
    below = owners_below(x, owners);
    has_any =
        type == COR_JSON_OBJECT ? extract_members(x, value, below) : extract_items(x, value, below);
    for (size_t i = 0; !has_any && i < owners.n; i++)
        has_any = owners.v[i].is_own && owns_place(&owners.v[i]);
    return has_any;
}

/* The owners of the whole object. Of several entries of the manager the first is its own, as in
 * client-go. */
static struct owners owners_of_object(struct extract *x, const struct cor_object *object,
                                      struct cor_str manager, struct cor_str subresource)
{
    struct cor_view metadata = cor_view_member(cor_object_view(object), COR_STR("metadata"));
    struct cor_view entries = cor_view_member(metadata, COR_STR("managedFields"));
    struct cor_view_iter it = cor_view_iter(entries);
    size_t n = cor_view_len(entries), at = 0;
    struct owner *v = cor_arena_alloc(&x->arena, (n ? n : 1) * sizeof(*v));
    bool has_own = false;

    while (v && cor_view_next(&it)) {
        struct cor_view of = cor_view_member(it.value, COR_STR("subresource"));
        bool is_own =
            !has_own && cor_view_is_text(cor_view_member(it.value, COR_STR("manager")), manager) &&
            cor_view_is_text(cor_view_member(it.value, COR_STR("operation")), COR_STR("Apply")) &&
            (cor_view_exists(of) ? cor_view_is_text(of, subresource) : subresource.n == 0);

        has_own = has_own || is_own;
        v[at++] = (struct owner){COR_STR(""), cor_view_member(it.value, COR_STR("fieldsV1")).json,
                                 is_own};
    }
    return (struct owners){v, has_own ? at : 0};
}

/* Makes the object of the fields that were written, or of none, and of its names. */
static int finish_extract(struct extract *x, const struct cor_object *of,
                          struct cor_object **ret_object, struct cor_status *reterr)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *fields = NULL;
    COR_CLEANUP(cor_builder_freep) struct cor_builder *b = NULL;
    const struct {
        const char *path;
        struct cor_str text;
    } names[] = {{"apiVersion", cor_object_api_version(of)},
                 {"kind", cor_object_kind(of)},
                 {"metadata.name", cor_object_name(of)},
                 {"metadata.namespace", cor_object_namespace(of)}};
    int r =
        cor_object_from_json(x->out.n > 0 ? cor_buf_str(&x->out) : COR_STR("{}"), &fields, reterr);

    if (r < 0)
        return r;
    r = cor_builder_new(fields, &b);
    if (r < 0)
        return cor_status_set(reterr, r, "extract fields: %s", cor_err_text(r));
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++)
        if (names[i].text.n > 0)
            cor_builder_set_text(b, names[i].path, names[i].text);
    return cor_builder_finish(b, ret_object, reterr);
}

int cor_object_extract(const struct cor_object *object, const char *manager,
                       const char *subresource, struct cor_object **ret_object,
                       struct cor_status *reterr)
{
    struct extract x = {0};
    struct owners owners;
    int r;

    if (cor_object_make_json(object) < 0)
        return cor_status_set(reterr, -COR_ENOMEM, "extract fields: %s", cor_err_text(-COR_ENOMEM));
    cor_arena_init(&x.arena, EXTRACT_BYTES_MAX);
    cor_buf_init(&x.out, EXTRACT_BYTES_MAX);
    cor_buf_init(&x.scratch, EXTRACT_BYTES_MAX);
    cor_json_writer_init(&x.writer, &x.out);
    owners = owners_of_object(&x, object, cor_strz(manager), cor_strz(subresource));
    if (owners.n > 0 && any_owns_below(owners, true))
        extract_value(&x, cor_object_json(object), owners);
    r = x.arena.error < 0 ? x.arena.error : cor_json_writer_finish(&x.writer);
    if (r < 0)
        cor_status_set(reterr, r, "extract fields: %s", cor_err_text(r));
    else
        r = finish_extract(&x, object, ret_object, reterr);
    cor_arena_deinit(&x.arena);
    cor_buf_deinit(&x.out);
    cor_buf_deinit(&x.scratch);
    return r;
}
