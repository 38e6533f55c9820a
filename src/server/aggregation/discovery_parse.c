/* clang-format off */
/* Reads the discovery documents of other servers.
 *
 *   bytes ──► canonical form: one spelling of each text, sorted members, no member twice
 *         ──► aggregated:  entries (group, version, span of the resources)
 *                          ──► cor_discovery_write_resources() of the entries that are wanted
 *         ──► legacy:      resources by name, subresources in a list behind their resource
 *                          ──► the same array
 *
 * The canonical form makes the rest simple: members are found in one walk, and names are equal when
 * their raw texts are. A member that is null is absent, as Go's decoder has it; one of another type
 * makes the document invalid, as there.
 *
 * Failures: -COR_EINVAL for a document that is not what it should be, -COR_ETOOBIG beyond the
 * maxima of the header, -COR_ENOMEM. */
/* clang-format on */
#include "server/aggregation/discovery_parse.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "server/request/negotiate.h"
#include "json/text/json.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define DEPTH_MAX 32 /* the documents have 8 levels */

static int canonicalize(struct cor_str json, struct cor_buf *out)
{
    static const struct cor_json_limits limits = {.bytes_max = COR_REMOTE_DISCOVERY_BYTES,
                                                  .depth_max = DEPTH_MAX};

    cor_buf_init(out, COR_REMOTE_DISCOVERY_BYTES);
    return cor_json_canonicalize(json, &limits, out, NULL, NULL);
}

/* A member of another type is an error; null counts as absent. */
static int expect(struct cor_str *value, enum cor_json_type type)
{
    if (!value->p)
        return 0;
    if (cor_json_type(*value) == COR_JSON_NULL) {
        *value = (struct cor_str){0};
        return 0;
    }
    return cor_json_type(*value) == type ? 0 : -COR_EINVAL;
}

/* One member of any object, the outermost one too. */
static int member(struct cor_str object, const char *key, enum cor_json_type type,
                  struct cor_str *ret_value)
{
    *ret_value = (struct cor_str){0};
    if (cor_json_type(object) != COR_JSON_OBJECT)
        return -COR_EINVAL;
    (void)cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, ret_value);
    return expect(ret_value, type);
}

/* The raw text of a member; empty when it is absent. */
static int member_text(struct cor_str object, const char *key, struct cor_str *ret_raw)
{
    struct cor_str value;
    int r = member(object, key, COR_JSON_STRING, &value);

    *ret_raw = COR_STR("");
    return r < 0 || !value.p ? r : cor_json_to_raw(value, ret_raw);
}

/* --- Aggregated documents ----------------------------------------------------------------------
 */

static int list_add(struct cor_discovery_list *list, const struct cor_discovery_entry *entry)
{
    if (list->n == COR_REMOTE_DISCOVERY_VERSIONS)
        return -COR_ETOOBIG;
    if ((list->n & (list->n - 1)) == 0) {
        size_t cap = list->n > 0 ? 2 * list->n : 1;
        struct cor_discovery_entry *v = cor_realloc(list->v, cap * sizeof(*v));

        if (!v)
            return -COR_ENOMEM;
        list->v = v;
    }
    list->v[list->n++] = *entry;
    return 0;
}

static int list_add_group(struct cor_discovery_list *list, struct cor_str group)
{
    struct cor_discovery_entry entry;
    struct cor_str metadata, versions;
    struct cor_json_iter it;
    int r = member(group, "metadata", COR_JSON_OBJECT, &metadata);

    entry.group = COR_STR("");
    if (r == 0 && metadata.p)
        r = member_text(metadata, "name", &entry.group);
    if (r == 0)
        r = member(group, "versions", COR_JSON_ARRAY, &versions);
    if (r < 0 || !versions.p)
        return r;
    it = cor_json_iter(versions);
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str version = cor_json_iter_value(&it);

        r = member_text(version, "version", &entry.version);
        if (r == 0)
            r = member(version, "resources", COR_JSON_ARRAY, &entry.resources);
        if (r == 0)
            r = list_add(list, &entry);
    }
    return r;
}

int cor_discovery_list_init(struct cor_discovery_list *list, struct cor_str json)
{
    struct cor_str items, kind;
    struct cor_json_iter it;
    int r;

    assert(list);
    *list = (struct cor_discovery_list){0};
    r = canonicalize(json, &list->json);
    if (r == 0)
        r = member_text(cor_buf_str(&list->json), "kind", &kind);
    if (r == 0 && !cor_str_eq(kind, COR_STR("APIGroupDiscoveryList")))
        r = -COR_EINVAL;
    if (r == 0)
        r = member(cor_buf_str(&list->json), "items", COR_JSON_ARRAY, &items);
    if (r < 0 || !items.p)
        return r;
    it = cor_json_iter(items);
    while (r == 0 && cor_json_iter_elem(&it))
        r = list_add_group(list, cor_json_iter_value(&it));
    return r;
}

void cor_discovery_list_deinit(struct cor_discovery_list *list)
{
    list->v = cor_free(list->v);
    list->n = 0;
    cor_buf_deinit(&list->json);
}

const struct cor_discovery_entry *cor_discovery_list_find(const struct cor_discovery_list *list,
                                                          struct cor_str group,
                                                          struct cor_str version)
{
    for (size_t i = list->n; i > 0; i--) {
        if (cor_json_raw_eq(list->v[i - 1].version, version) &&
            cor_json_raw_eq(list->v[i - 1].group, group))
            return &list->v[i - 1];
    }
    return NULL;
}

bool cor_discovery_is_aggregated(struct cor_str content_type)
{
    struct cor_str type = cor_str_trim(cor_str_cut(&content_type, ';'));
    bool is_group = false, is_version = false, is_kind = false;

    while (content_type.n > 0) {
        struct cor_str value = cor_str_cut(&content_type, ';');
        struct cor_str name = cor_str_trim(cor_str_cut(&value, '='));

        value = cor_str_trim(value);
        if (cor_str_eq(name, COR_STR("g")))
            is_group = cor_str_eq(value, COR_STR("apidiscovery.k8s.io"));
        else if (cor_str_eq(name, COR_STR("v")))
            is_version = cor_str_eq(value, COR_STR("v2")) || cor_str_eq(value, COR_STR("v2beta1"));
        else if (cor_str_eq(name, COR_STR("as")))
            is_kind = cor_str_eq(value, COR_STR("APIGroupDiscoveryList"));
    }
    return cor_media_type_is(type, "application/json") && is_group && is_version && is_kind;
}

/* --- Writing ------------------------------------------------------------------------------------
 */

/* A string, empty when it is absent. */
static void write_text(struct cor_json_writer *w, const char *key, struct cor_str value)
{
    cor_json_key(w, cor_strz(key));
    cor_json_raw(w, value.p ? value : COR_STR("\"\""));
}

/* An array of strings. Absent, it is left out if `omit`, else null. */
static int write_texts(struct cor_json_writer *w, const char *key, struct cor_str value, bool omit)
{
    struct cor_json_iter it = cor_json_iter(value);
    size_t n = 0;

    for (; value.p && cor_json_iter_elem(&it); n++) {
        if (cor_json_type(cor_json_iter_value(&it)) != COR_JSON_STRING)
            return -COR_EINVAL;
    }
    if (omit && n == 0)
        return 0;
    cor_json_key(w, cor_strz(key));
    if (value.p)
        cor_json_raw(w, value);
    else
        cor_json_null(w);
    return 0;
}

/* A GroupVersionKind as a value; empty when it is absent. */
static int write_gvk(struct cor_json_writer *w, struct cor_str gvk)
{
    static const struct cor_str keys[] = {COR_STR("group"), COR_STR("kind"), COR_STR("version")};
    struct cor_str values[COR_ARRAY_LEN(keys)] = {0};

    if (gvk.p)
        cor_json_get_each(gvk, keys, COR_ARRAY_LEN(keys), values);
    for (size_t i = 0; i < COR_ARRAY_LEN(keys); i++) {
        if (expect(&values[i], COR_JSON_STRING) < 0)
            return -COR_EINVAL;
    }
    cor_json_begin_object(w);
    write_text(w, "group", values[0]);
    write_text(w, "version", values[2]);
    write_text(w, "kind", values[1]);
    cor_json_end_object(w);
    return 0;
}

static int write_response_kind(struct cor_json_writer *w, struct cor_str gvk)
{
    cor_json_key(w, COR_STR("responseKind"));
    return write_gvk(w, gvk);
}

/* Several members of an object of `types`; its keys are in byte order. */
static int members(struct cor_str object, const struct cor_str *keys,
                   const enum cor_json_type *types, size_t n, struct cor_str *ret_values)
{
    if (cor_json_type(object) != COR_JSON_OBJECT)
        return -COR_EINVAL;
    cor_json_get_each(object, keys, n, ret_values);
    for (size_t i = 0; i < n; i++) {
        if (expect(&ret_values[i], types[i]) < 0)
            return -COR_EINVAL;
    }
    return 0;
}

static int write_accepted(struct cor_json_writer *w, struct cor_str types)
{
    struct cor_json_iter it = cor_json_iter(types);
    size_t n = 0;

    while (types.p && cor_json_iter_elem(&it)) {
        struct cor_str gvk = cor_json_iter_value(&it);

        if (cor_json_type(gvk) != COR_JSON_OBJECT)
            return -COR_EINVAL;
        if (n++ == 0) {
            cor_json_key(w, COR_STR("acceptedTypes"));
            cor_json_begin_array(w);
        }
        if (write_gvk(w, gvk) < 0)
            return -COR_EINVAL;
    }
    if (n > 0)
        cor_json_end_array(w);
    return 0;
}

static int write_subresource(struct cor_json_writer *w, struct cor_str sub)
{
    static const struct cor_str keys[] = {COR_STR("acceptedTypes"), COR_STR("responseKind"),
                                          COR_STR("subresource"), COR_STR("verbs")};
    static const enum cor_json_type types[] = {COR_JSON_ARRAY, COR_JSON_OBJECT, COR_JSON_STRING,
                                               COR_JSON_ARRAY};
    struct cor_str v[COR_ARRAY_LEN(keys)];

    if (members(sub, keys, types, COR_ARRAY_LEN(keys), v) < 0)
        return -COR_EINVAL;
    cor_json_begin_object(w);
    write_text(w, "subresource", v[2]);
    if (write_response_kind(w, v[1]) < 0 || write_accepted(w, v[0]) < 0 ||
        write_texts(w, "verbs", v[3], false) < 0)
        return -COR_EINVAL;
    cor_json_end_object(w);
    return 0;
}

/* `budget`: how many more resources and subresources there may be. */
static int write_resource(struct cor_json_writer *w, struct cor_str resource, size_t *budget)
{
    static const struct cor_str keys[] = {COR_STR("categories"),   COR_STR("resource"),
                                          COR_STR("responseKind"), COR_STR("scope"),
                                          COR_STR("shortNames"),   COR_STR("singularResource"),
                                          COR_STR("subresources"), COR_STR("verbs")};
    static const enum cor_json_type types[] = {COR_JSON_ARRAY,  COR_JSON_STRING, COR_JSON_OBJECT,
                                               COR_JSON_STRING, COR_JSON_ARRAY,  COR_JSON_STRING,
                                               COR_JSON_ARRAY,  COR_JSON_ARRAY};
    struct cor_str v[COR_ARRAY_LEN(keys)];
    struct cor_json_iter it;
    bool has_subs = false;

    if (members(resource, keys, types, COR_ARRAY_LEN(keys), v) < 0)
        return -COR_EINVAL;
    cor_json_begin_object(w);
    write_text(w, "resource", v[1]);
    if (write_response_kind(w, v[2]) < 0)
        return -COR_EINVAL;
    write_text(w, "scope", v[3]);
    write_text(w, "singularResource", v[5]);
    if (write_texts(w, "verbs", v[7], false) < 0 || write_texts(w, "shortNames", v[4], true) < 0 ||
        write_texts(w, "categories", v[0], true) < 0)
        return -COR_EINVAL;
    it = cor_json_iter(v[6]);
    while (v[6].p && cor_json_iter_elem(&it)) {
        if (!has_subs) {
            cor_json_key(w, COR_STR("subresources"));
            cor_json_begin_array(w);
            has_subs = true;
        }
        if ((*budget)-- == 0)
            return -COR_ETOOBIG;
        if (write_subresource(w, cor_json_iter_value(&it)) < 0)
            return -COR_EINVAL;
    }
    if (has_subs)
        cor_json_end_array(w);
    cor_json_end_object(w);
    return 0;
}

int cor_discovery_write_resources(const struct cor_discovery_entry *entry, struct cor_buf *out)
{
    size_t budget = COR_REMOTE_DISCOVERY_RESOURCES;
    struct cor_json_iter it;
    struct cor_json_writer w;
    int r = 0;

    assert(entry && out);
    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    it = cor_json_iter(entry->resources);
    while (r == 0 && entry->resources.p && cor_json_iter_elem(&it))
        r = budget-- == 0 ? -COR_ETOOBIG : write_resource(&w, cor_json_iter_value(&it), &budget);
    if (r < 0)
        return r;
    cor_json_end_array(&w);
    return cor_json_writer_finish(&w);
}

/* --- The documents of single versions ------------------------------------------------------------
 */

/* A resource of an APIResourceList. */
struct legacy {
    struct cor_str name, singular, group, version, kind, verbs, short_names, categories;
    struct cor_str of, sub; /* raw texts: the resource's name; that of the subresource */
    bool is_namespaced;
    bool is_implied;     /* only a subresource names it */
    struct legacy *next; /* of a resource: its first subresource; of a subresource: the next one */
    struct legacy *last; /* of a resource: its last subresource */
};

struct legacy_list {
    struct legacy *v; /* with room for a parent of each */
    size_t n;
    struct cor_map parents; /* by name */
    struct legacy **order;  /* the resources, subresources not among them */
    size_t norder;
};

static int legacy_read(struct cor_str object, struct legacy *ret)
{
    static const struct cor_str keys[] = {
        COR_STR("categories"),   COR_STR("group"),      COR_STR("kind"),
        COR_STR("name"),         COR_STR("namespaced"), COR_STR("shortNames"),
        COR_STR("singularName"), COR_STR("verbs"),      COR_STR("version")};
    static const enum cor_json_type types[] = {COR_JSON_ARRAY,  COR_JSON_STRING, COR_JSON_STRING,
                                               COR_JSON_STRING, COR_JSON_BOOL,   COR_JSON_ARRAY,
                                               COR_JSON_STRING, COR_JSON_ARRAY,  COR_JSON_STRING};
    struct cor_str v[COR_ARRAY_LEN(keys)], raw = COR_STR("");

    if (members(object, keys, types, COR_ARRAY_LEN(keys), v) < 0)
        return -COR_EINVAL;
    *ret = (struct legacy){.name = v[3],
                           .singular = v[6],
                           .group = v[1],
                           .version = v[8],
                           .kind = v[2],
                           .verbs = v[7],
                           .short_names = v[5],
                           .categories = v[0]};
    if (v[3].p)
        (void)cor_json_to_raw(v[3], &raw);
    ret->sub = raw;
    ret->of = cor_str_cut(&ret->sub, '/');
    if (ret->of.n == raw.n)
        ret->sub = (struct cor_str){0};
    if (v[4].p)
        (void)cor_json_to_bool(v[4], &ret->is_namespaced);
    return 0;
}

static int legacy_add_parent(struct legacy_list *list, struct legacy *parent)
{
    list->order[list->norder++] = parent;
    return cor_map_put(&list->parents, parent->of, parent, NULL);
}

static int legacy_add_sub(struct legacy_list *list, struct legacy *sub)
{
    struct legacy *parent = cor_map_peek(&list->parents, sub->of);
    int r;

    if (!parent) {
        parent = &list->v[list->n++];
        *parent =
            (struct legacy){.of = sub->of, .is_namespaced = sub->is_namespaced, .is_implied = true};
        r = legacy_add_parent(list, parent);
        if (r < 0)
            return r;
    }
    if (parent->is_namespaced != sub->is_namespaced)
        return -COR_EINVAL;
    if (parent->last)
        parent->last->next = sub;
    else
        parent->next = sub;
    parent->last = sub;
    return 0;
}

/* Upstream gives an empty kind to a subresource that names none. */
static void write_legacy_kind(struct cor_json_writer *w, const struct legacy *l, bool is_empty)
{
    cor_json_key(w, COR_STR("responseKind"));
    cor_json_begin_object(w);
    write_text(w, "group", is_empty ? (struct cor_str){0} : l->group);
    write_text(w, "version", is_empty ? (struct cor_str){0} : l->version);
    write_text(w, "kind", is_empty ? (struct cor_str){0} : l->kind);
    cor_json_end_object(w);
}

static int write_legacy_sub(struct cor_json_writer *w, const struct legacy *sub)
{
    cor_json_begin_object(w);
    cor_json_key(w, COR_STR("subresource"));
    cor_json_begin_string(w);
    cor_json_add_raw_text(w, sub->sub);
    cor_json_end_string(w);
    write_legacy_kind(w, sub, !sub->kind.p || sub->kind.n == 2);
    if (write_texts(w, "verbs", sub->verbs, false) < 0)
        return -COR_EINVAL;
    cor_json_end_object(w);
    return 0;
}

static int write_legacy_resource(struct cor_json_writer *w, const struct legacy *l)
{
    cor_json_begin_object(w);
    cor_json_key(w, COR_STR("resource"));
    cor_json_begin_string(w);
    cor_json_add_raw_text(w, l->of);
    cor_json_end_string(w);
    write_legacy_kind(w, l, l->is_implied);
    cor_json_member(w, COR_STR("scope"),
                    l->is_namespaced ? COR_STR("Namespaced") : COR_STR("Cluster"));
    write_text(w, "singularResource", l->singular);
    if (write_texts(w, "verbs", l->verbs, false) < 0 ||
        write_texts(w, "shortNames", l->short_names, true) < 0 ||
        write_texts(w, "categories", l->categories, true) < 0)
        return -COR_EINVAL;
    if (l->next) {
        cor_json_key(w, COR_STR("subresources"));
        cor_json_begin_array(w);
        for (const struct legacy *sub = l->next; sub; sub = sub->next) {
            if (write_legacy_sub(w, sub) < 0)
                return -COR_EINVAL;
        }
        cor_json_end_array(w);
    }
    cor_json_end_object(w);
    return 0;
}

static int legacy_collect(struct legacy_list *list, struct cor_str resources, size_t n)
{
    struct cor_json_iter it = cor_json_iter(resources);
    int r = 0;

    while (r == 0 && cor_json_iter_elem(&it))
        r = legacy_read(cor_json_iter_value(&it), &list->v[list->n++]);
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (!list->v[i].sub.p)
            r = legacy_add_parent(list, &list->v[i]);
    }
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (list->v[i].sub.p)
            r = legacy_add_sub(list, &list->v[i]);
    }
    return r;
}

static int legacy_write(const struct legacy_list *list, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    for (size_t i = 0; i < list->norder; i++) {
        if (write_legacy_resource(&w, list->order[i]) < 0)
            return -COR_EINVAL;
    }
    cor_json_end_array(&w);
    return cor_json_writer_finish(&w);
}

int cor_discovery_write_legacy(struct cor_str json, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf canonical = {0};
    struct legacy_list list = {0};
    struct cor_str resources, kind;
    struct cor_json_iter it;
    size_t n = 0;
    int r;

    assert(out);
    r = canonicalize(json, &canonical);
    if (r == 0)
        r = member_text(cor_buf_str(&canonical), "kind", &kind);
    if (r == 0 && !cor_str_eq(kind, COR_STR("APIResourceList")))
        r = -COR_EINVAL;
    if (r == 0)
        r = member(cor_buf_str(&canonical), "resources", COR_JSON_ARRAY, &resources);
    if (r < 0)
        return r;
    it = cor_json_iter(resources);
    while (resources.p && cor_json_iter_elem(&it))
        n++;
    if (n > COR_REMOTE_DISCOVERY_RESOURCES)
        return -COR_ETOOBIG;
    cor_map_init(&list.parents, COR_REMOTE_DISCOVERY_RESOURCES);
    list.v = cor_calloc(2 * n + 1, sizeof(list.v[0]));
    list.order = cor_calloc(n + 1, sizeof(struct legacy *));
    r = list.v && list.order ? legacy_collect(&list, resources, n) : -COR_ENOMEM;
    if (r == 0)
        r = legacy_write(&list, out);
    cor_map_deinit(&list.parents);
    cor_free(list.v);
    cor_free(list.order);
    return r;
}
