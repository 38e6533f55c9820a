/* clang-format off */
/* CustomResourceDefinitions as kube-apiserver keeps them: in v1beta1, as JSON, whatever its storage
 * media type is. Only the way to v1 is needed: a kube-apiserver that takes the etcd back reads v1 as
 * well. What differs is in the spec:
 *
 *   validation, subresources, additionalPrinterColumns, selectableFields   of all versions, if it
 *                       is there; v1 has it in each version, as `schema` in the first case
 *   version             the only version, if there is no list of them
 *   JSONPath            of a column; v1 calls it jsonPath
 *   conversion          has the members of v1's `webhook` among its own
 *
 * Defaults of v1beta1 that v1 does not have are written. Thread: any (pure). */
/* clang-format on */
#include "schema/convert/conversion.h"

#include "json/text/scan.h"

static void crd_write(struct cor_json_writer *w, const char *key, struct cor_str value)
{
    if (!value.p)
        return;
    cor_json_key(w, cor_strz(key));
    cor_json_raw(w, value);
}

static bool crd_is_one_of(struct cor_str raw_key, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cor_str_eqz(raw_key, names[i]))
            return true;
    }
    return false;
}

/* Writes the members of an object but those that are named. */
static void crd_copy(struct cor_json_writer *w, struct cor_str object, const char *const *without,
                     size_t n)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct cor_str key;

    while (cor_json_iter_member(&it, &key)) {
        if (crd_is_one_of(key, without, n))
            continue;
        cor_json_raw_key(w, key);
        cor_json_raw(w, cor_json_iter_value(&it));
    }
}
#define CRD_COPY(w, object, without) crd_copy(w, object, without, COR_ARRAY_LEN(without))

static void crd_write_columns(struct cor_json_writer *w, struct cor_str columns)
{
    static const char *const moved[] = {"JSONPath"};
    struct cor_json_iter it = cor_json_iter(columns);

    if (!columns.p)
        return;
    cor_json_key(w, COR_STR("additionalPrinterColumns"));
    cor_json_begin_array(w);
    while (cor_json_iter_elem(&it)) {
        struct cor_str column = cor_json_iter_value(&it);

        cor_json_begin_object(w);
        CRD_COPY(w, column, moved);
        crd_write(w, "jsonPath", cor_convert_member(column, "JSONPath"));
        cor_json_end_object(w);
    }
    cor_json_end_array(w);
}

/* The value that the spec has for all versions, or the version's own. */
static struct cor_str crd_either(struct cor_str spec, const char *of_all, struct cor_str version,
                                 const char *own)
{
    struct cor_str value = cor_convert_member(spec, of_all);

    return value.p ? value : cor_convert_member(version, own);
}

static void crd_write_version(struct cor_json_writer *w, struct cor_str spec,
                              struct cor_str version)
{
    static const char *const moved[] = {"schema", "subresources", "additionalPrinterColumns",
                                        "selectableFields"};

    cor_json_begin_object(w);
    CRD_COPY(w, version, moved);
    crd_write(w, "schema", crd_either(spec, "validation", version, "schema"));
    crd_write(w, "subresources", crd_either(spec, "subresources", version, "subresources"));
    crd_write(w, "selectableFields",
              crd_either(spec, "selectableFields", version, "selectableFields"));
    crd_write_columns(
        w, crd_either(spec, "additionalPrinterColumns", version, "additionalPrinterColumns"));
    cor_json_end_object(w);
}

static void crd_write_versions(struct cor_json_writer *w, struct cor_str spec)
{
    struct cor_str versions = cor_convert_member(spec, "versions");
    struct cor_str only = cor_convert_member(spec, "version");
    struct cor_json_iter it = cor_json_iter(versions.p ? versions : COR_STR("[]"));
    bool has_any = false;

    cor_json_key(w, COR_STR("versions"));
    cor_json_begin_array(w);
    while (cor_json_iter_elem(&it)) {
        crd_write_version(w, spec, cor_json_iter_value(&it));
        has_any = true;
    }
    if (!has_any && only.p) {
        cor_json_begin_object(w);
        crd_write(w, "name", only);
        crd_write(w, "served", COR_STR("true"));
        crd_write(w, "storage", COR_STR("true"));
        crd_write(w, "schema", cor_convert_member(spec, "validation"));
        crd_write(w, "subresources", cor_convert_member(spec, "subresources"));
        crd_write(w, "selectableFields", cor_convert_member(spec, "selectableFields"));
        crd_write_columns(w, cor_convert_member(spec, "additionalPrinterColumns"));
        cor_json_end_object(w);
    }
    cor_json_end_array(w);
}

static void crd_write_conversion(struct cor_json_writer *w, struct cor_str conversion)
{
    static const char *const moved[] = {"webhookClientConfig", "conversionReviewVersions"};
    struct cor_str client = cor_convert_member(conversion, "webhookClientConfig");
    struct cor_str reviews = cor_convert_member(conversion, "conversionReviewVersions");

    if (!conversion.p)
        return; /* v1 has the same default */
    if (!reviews.p && cor_convert_is_text(cor_convert_member(conversion, "strategy"), "Webhook"))
        reviews = COR_STR("[\"v1beta1\"]");
    cor_json_key(w, COR_STR("conversion"));
    cor_json_begin_object(w);
    CRD_COPY(w, conversion, moved);
    if (client.p || reviews.p) {
        cor_json_key(w, COR_STR("webhook"));
        cor_json_begin_object(w);
        crd_write(w, "clientConfig", client);
        crd_write(w, "conversionReviewVersions", reviews);
        cor_json_end_object(w);
    }
    cor_json_end_object(w);
}

static void crd_write_spec(struct cor_json_writer *w, struct cor_str spec)
{
    static const char *const moved[] = {"additionalPrinterColumns",
                                        "conversion",
                                        "preserveUnknownFields",
                                        "selectableFields",
                                        "subresources",
                                        "validation",
                                        "version",
                                        "versions"};
    struct cor_str preserves = cor_convert_member(spec, "preserveUnknownFields");

    cor_json_key(w, COR_STR("spec"));
    cor_json_begin_object(w);
    CRD_COPY(w, spec, moved);
    crd_write_conversion(w, cor_convert_member(spec, "conversion"));
    crd_write(w, "preserveUnknownFields", preserves.p ? preserves : COR_STR("true"));
    crd_write_versions(w, spec);
    cor_json_end_object(w);
}

int cor_crd_from_v1beta1(struct cor_str json, struct cor_json_writer *w)
{
    static const char *const written[] = {"kind", "apiVersion", "spec"};
    struct cor_str spec = cor_convert_member(json, "spec");

    CRD_COPY(w, json, written);
    if (spec.p)
        crd_write_spec(w, spec);
    return w->error;
}
