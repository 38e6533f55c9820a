/* Reads a CustomResourceDefinition in one walk: its members, those of its spec, and those of each
 * version, each of which is entered where it stands. What is not an object or list where one
 * belongs is passed over. Failures: no memory for the versions. Thread: any (pure). */
#include "schema/kinds/crd_versions.h"

#include "base/array.h"
#include "base/mem.h"
#include "json/text/scan.h"

static const struct cor_str members[] = {
    [COR_CRD_COLUMNS] = COR_STR_INIT("additionalPrinterColumns"),
    [COR_CRD_DEPRECATED] = COR_STR_INIT("deprecated"),
    [COR_CRD_WARNING] = COR_STR_INIT("deprecationWarning"),
    [COR_CRD_NAME] = COR_STR_INIT("name"),
    [COR_CRD_SCHEMA] = COR_STR_INIT("schema"),
    [COR_CRD_FIELDS] = COR_STR_INIT("selectableFields"),
    [COR_CRD_SERVED] = COR_STR_INIT("served"),
    [COR_CRD_STORAGE] = COR_STR_INIT("storage"),
    [COR_CRD_SUBRESOURCES] = COR_STR_INIT("subresources"),
};

/* The text from the start of an open value up to where the walk that has left it stands. */
static struct cor_str text_until(struct cor_str open, const struct cor_json_iter *it)
{
    return cor_str(open.p, (size_t)(it->p - open.p));
}

static int read_version(struct cor_json_iter *list, struct cor_crd_versions *versions)
{
    struct cor_str open = cor_json_iter_open_value(list);
    struct cor_json_iter inner = cor_json_iter(open);
    struct cor_crd_version *version;
    int r;

    if (cor_json_type(open) != COR_JSON_OBJECT)
        return 0;
    r = COR_ARRAY_RESERVE(&versions->v, versions->n, &versions->cap, COR_ARRAY_NO_MAX);
    if (r < 0)
        return r;
    version = &versions->v[versions->n++];
    cor_json_iter_each(&inner, members, COR_CRD_MEMBERS, version->members);
    cor_json_iter_leave(list, &inner);
    version->json = text_until(open, list);
    return 0;
}

static int read_versions(struct cor_json_iter *spec, struct cor_crd_versions *versions)
{
    struct cor_str open = cor_json_iter_open_value(spec);
    struct cor_json_iter list = cor_json_iter(open);
    int r = 0;

    if (cor_json_type(open) != COR_JSON_ARRAY)
        return 0;
    while (r == 0 && cor_json_iter_elem(&list))
        r = read_version(&list, versions);
    cor_json_iter_leave(spec, &list);
    return r;
}

static int read_spec(struct cor_json_iter *top, struct cor_str *ret_spec,
                     struct cor_crd_versions *versions)
{
    struct cor_str open = cor_json_iter_open_value(top), key;
    struct cor_json_iter spec = cor_json_iter(open);
    int r = 0;

    if (cor_json_type(open) != COR_JSON_OBJECT) {
        *ret_spec = cor_json_iter_value(top);
        return 0;
    }
    while (r == 0 && cor_json_iter_member(&spec, &key)) {
        if (cor_str_eqz(key, "versions"))
            r = read_versions(&spec, versions);
    }
    cor_json_iter_leave(top, &spec);
    *ret_spec = text_until(open, top);
    return r;
}

int cor_crd_read(const struct cor_object *object, struct cor_crd *ret_crd,
                 struct cor_crd_versions *versions)
{
    struct cor_json_iter top = cor_json_iter(cor_object_json(object));
    struct cor_view view = cor_object_view(object);
    struct cor_crd crd = {object, view, view};
    struct cor_str key;
    int r = 0;

    crd.spec.json = crd.status.json = (struct cor_str){NULL, 0};
    while (r == 0 && cor_json_iter_member(&top, &key)) {
        if (cor_str_eqz(key, "spec"))
            r = read_spec(&top, &crd.spec.json, versions);
        else if (cor_str_eqz(key, "status"))
            crd.status.json = cor_json_iter_value(&top);
    }
    *ret_crd = crd;
    return r;
}

void cor_crd_versions_deinit(struct cor_crd_versions *versions)
{
    cor_free(versions->v);
    *versions = (struct cor_crd_versions){0};
}

struct cor_str cor_crd_version_name(const struct cor_crd_version *version)
{
    return cor_view_text_or(cor_view(version->members[COR_CRD_NAME]), NULL, 0, "");
}

bool cor_crd_version_is(const struct cor_crd_version *version, enum cor_crd_member member)
{
    return cor_view_bool_or(cor_view(version->members[member]), false);
}
