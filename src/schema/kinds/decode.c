/* What Kubernetes' decoder would refuse before and after it reads the members of an object: bytes
 * that are not an object, a kind that cannot be read, a kind that is not the resource's. The
 * members are schema/walk/read.c's. Each check walks the JSON once and stops at the first mistake,
 * in the words of Go's decoder. Thread: any (pure). */
#include "schema/kinds/decode.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "meta/status/gvk.h"
#include "schema/print/openapi.h"
#include "schema/types/types.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define SUMMARY_BYTES 30
#define NO_KIND       "couldn't get version/kind; json parse error: "
#define TYPE_META                                                                                  \
    "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "               \
    "\"json:\\\"kind,omitempty\\\"\" }"

static bool is_null(struct cor_str value)
{
    return cor_json_type(value) == COR_JSON_NULL || cor_json_type(value) == COR_JSON_NONE;
}

int cor_decode_check_type(struct cor_str canonical, struct cor_buf *why)
{
    struct cor_json_iter it = cor_json_iter(canonical);
    struct cor_str key, value;

    for (size_t i = 0; i < 2 && cor_json_iter_member(&it, &key); i++) {
        if (!cor_str_eq(key, COR_STR("kind")) && !cor_str_eq(key, COR_STR("apiVersion")))
            break;
        value = cor_json_iter_value(&it);
        if (is_null(value) || cor_json_type(value) == COR_JSON_STRING)
            continue;
        (void)cor_buf_addf(why,
                           NO_KIND "json: cannot unmarshal %s into Go struct field .%.*s of "
                                   "type string",
                           cor_json_go_type(cor_json_type(value)), COR_STR_ARG(key));
        return -COR_EINVAL;
    }
    return 0;
}

struct cor_str cor_decode_version(const struct cor_resource_row *resource,
                                  struct cor_str api_version)
{
    struct cor_str group = api_version;

    if (group.n > 1 && group.p[0] == '/' && cor_str_find(cor_str_from(group, 1), '/') < 0)
        return cor_str_from(group, 1);
    if (group.n == 0 || group.p[group.n - 1] != '/')
        return api_version;
    group.n--;
    return group.n == 0 || cor_str_eq(group, resource->group) ? COR_STR("") : api_version;
}

/* Are the two equal, as Go folds letters? The long s and the sign of the kelvin fold to letters of
 * ASCII, too. `lower` has small letters of ASCII only. */
static bool folds_to(struct cor_str text, const char *lower)
{
    for (; text.n > 0 && *lower; lower++) {
        uint32_t code;
        size_t n = cor_utf8_first(text, &code);

        if (code >= 'A' && code <= 'Z')
            code += 'a' - 'A';
        else if (code == 0x17f)
            code = 's';
        else if (code == 0x212a)
            code = 'k';
        if (code != (unsigned char)*lower)
            return false;
        text = cor_str_from(text, n);
    }
    return text.n == 0 && *lower == '\0';
}

static int sniff_text(struct cor_str value, const char *name, struct cor_str *ret,
                      struct cor_buf *why)
{
    struct cor_str raw;

    if (is_null(value))
        return 0;
    if (cor_json_to_raw(value, &raw) < 0) {
        (void)cor_buf_addf(
            why, NO_KIND "json: cannot unmarshal %s into Go struct field .%s of type string",
            cor_json_go_type(cor_json_type(value)), name);
        return -COR_EINVAL;
    }
    /* The names of types have nothing to escape: who escapes is read by the canonical form alone.
     */
    if (cor_str_find(raw, '\\') < 0)
        *ret = raw;
    return 0;
}

int cor_decode_sniff(struct cor_str json, struct cor_str *api_version, struct cor_str *kind,
                     struct cor_buf *why)
{
    struct cor_json_iter it = cor_json_iter(json);
    struct cor_str key;
    int r = 0;

    while (r == 0 && cor_json_iter_member(&it, &key)) {
        if (folds_to(key, "kind"))
            r = sniff_text(cor_json_iter_value(&it), "kind", kind, why);
        else if (folds_to(key, "apiversion"))
            r = sniff_text(cor_json_iter_value(&it), "apiVersion", api_version, why);
    }
    return r;
}

int cor_decode_check_bytes(struct cor_str json, struct cor_buf *why)
{
    /* The decoder that looks for the kind skips numbers. */
    const struct cor_json_limits limits = {COR_BODY_BYTES_MAX, COR_JSON_DEPTH_MAX, true};
    struct cor_json_error error;
    bool canonical;

    (void)cor_buf_addz(why, NO_KIND);
    if (cor_json_check(json, &limits, &canonical, &error) < 0) {
        (void)cor_buf_addz(why, error.message);
        return -COR_EINVAL;
    }
    json = cor_json_first_value(json);
    if (cor_json_type(json) != COR_JSON_OBJECT) {
        (void)cor_buf_addf(why, "json: cannot unmarshal %s into Go value of type " TYPE_META,
                           cor_json_go_type(cor_json_type(json)));
        return -COR_EINVAL;
    }
    cor_buf_reset(why);
    return 0;
}

int cor_decode_check_numbers(struct cor_str json, struct cor_buf *why)
{
    struct cor_str number;

    if (cor_json_find_huge(json, &number) < 0)
        return 0;
    (void)cor_buf_addf(why, "json: cannot unmarshal number %.*s into Go value of type float64",
                       COR_STR_ARG(number));
    return -COR_EINVAL;
}

struct cor_str cor_decode_package(const struct cor_resource_row *resource)
{
    struct cor_str rest = resource->group;

    return rest.n > 0 ? cor_str_cut(&rest, '.') : COR_STR("core");
}

/* Upstream has three servers in one, each with a scheme of its own: that of all kinds, and two that
 * know the kinds of one group. */
static bool has_own_scheme(const struct cor_resource_row *resource)
{
    return cor_str_eq(resource->group, COR_STR("apiextensions.k8s.io")) ||
           cor_str_eq(resource->group, COR_STR("apiregistration.k8s.io"));
}

/* The place in upstream's source that its messages name the scheme by. */
static const char *scheme_of(const struct cor_resource_row *resource)
{
    if (!has_own_scheme(resource))
        return "pkg/api/legacyscheme/scheme.go:30";
    return cor_str_eq(resource->group, COR_STR("apiextensions.k8s.io"))
               ? "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"
               : "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28";
}

/* The kinds of meta/v1 that schemes know in more versions than one. */
static const struct {
    const char *kind, *type;
    enum { KNOWN_ANYWHERE, KNOWN_IN_GROUPS, KNOWN_IN_CORE } where;
} meta_kinds[] = {
    {"APIGroup", "meta_v1.APIGroup", KNOWN_ANYWHERE},
    {"APIGroupList", "meta_v1.APIGroupList", KNOWN_ANYWHERE},
    {"APIResourceList", "meta_v1.APIResourceList", KNOWN_ANYWHERE},
    {"APIVersions", "meta_v1.APIVersions", KNOWN_ANYWHERE},
    {"Status", "meta_v1.Status", KNOWN_ANYWHERE},
    {"CreateOptions", "meta_v1.CreateOptions", KNOWN_IN_GROUPS},
    {"DeleteOptions", "meta_v1.DeleteOptions", KNOWN_IN_GROUPS},
    {"GetOptions", "meta_v1.GetOptions", KNOWN_IN_GROUPS},
    {"ListOptions", "meta_v1.ListOptions", KNOWN_IN_GROUPS},
    {"PatchOptions", "meta_v1.PatchOptions", KNOWN_IN_GROUPS},
    {"UpdateOptions", "meta_v1.UpdateOptions", KNOWN_IN_GROUPS},
    {"WatchEvent", "meta_v1.WatchEvent", KNOWN_IN_GROUPS},
    {"List", "meta_v1.List", KNOWN_IN_CORE},
};

static const struct cor_type *meta_type_of(const struct cor_resource_row *resource,
                                           struct cor_str api_version, struct cor_str kind)
{
    const struct cor_type *in_groups = cor_type_named(COR_STR("meta_v1.DeleteOptions"));
    bool is_core = cor_str_eq(api_version, COR_STR("v1"));

    for (size_t i = 0; i < COR_ARRAY_LEN(meta_kinds); i++) {
        bool is_known = meta_kinds[i].where == KNOWN_ANYWHERE;

        if (!cor_str_eqz(kind, meta_kinds[i].kind))
            continue;
        if (meta_kinds[i].where == KNOWN_IN_GROUPS)
            is_known = has_own_scheme(resource)
                           ? is_core || cor_str_eq(api_version, resource->api_version)
                           : cor_openapi_is_known_in(in_groups, api_version);
        else if (meta_kinds[i].where == KNOWN_IN_CORE)
            is_known = is_core && !has_own_scheme(resource);
        return is_known ? cor_type_named(cor_strz(meta_kinds[i].type)) : NULL;
    }
    return NULL;
}

const struct cor_type *cor_decode_type(const struct cor_resource_row *resource,
                                       struct cor_str api_version, struct cor_str kind)
{
    struct cor_str version = api_version.n > 0 ? api_version : resource->api_version;
    struct cor_str name = kind.n > 0 ? kind : resource->kind;
    const struct cor_type *type = NULL;
    struct cor_gv gv;

    if (cor_str_eq(name, resource->kind) && cor_str_eq(version, resource->api_version))
        return cor_row_schema(resource);
    if (cor_gv_parse(version, &gv, NULL) == 0 &&
        (!has_own_scheme(resource) || cor_str_eq(gv.group, resource->group)))
        type = cor_type_of_kind(gv.group, gv.version, name);
    return type ? type : meta_type_of(resource, version, name);
}

int cor_decode_check_kind(const struct cor_resource_row *resource, struct cor_str api_version,
                          struct cor_str kind, struct cor_buf *why)
{
    struct cor_str version = api_version.n > 0 ? api_version : resource->api_version;
    struct cor_str name = kind.n > 0 ? kind : resource->kind;
    struct cor_str package = cor_decode_package(resource);
    const struct cor_type *type;

    if (cor_str_eq(name, resource->kind) && cor_str_eq(version, resource->api_version))
        return 0;
    type = cor_decode_type(resource, version, name);
    if (!type) {
        (void)cor_buf_addf(why,
                           "no kind \"%.*s\" is registered for version \"%.*s\" in scheme \"%s\"",
                           COR_STR_ARG(name), COR_STR_ARG(version), scheme_of(resource));
        return -COR_EINVAL;
    }
    if (cor_str_eq(name, resource->kind))
        return 0;
    (void)cor_buf_addf(why, "converting (%.*s) to (%.*s.%.*s): unknown conversion",
                       COR_STR_ARG(cor_type_go_name(type)), COR_STR_ARG(package),
                       COR_STR_ARG(resource->kind));
    return -COR_EINVAL;
}

int cor_decode_summary(struct cor_str body, struct cor_buf *out)
{
    bool is_text = body.n > 0 && body.p[0] == '{';
    size_t n = body.n < SUMMARY_BYTES ? body.n : SUMMARY_BYTES;
    int r = 0;

    if (body.n == 0)
        return cor_buf_addz(out, "<empty>");
    if (is_text)
        r = cor_buf_add(out, body.p, n);
    for (size_t i = 0; !is_text && i < n && r == 0; i++)
        r = cor_buf_addf(out, "%02x", (unsigned char)body.p[i]);
    return r == 0 && body.n > n ? cor_buf_addz(out, " ...") : r;
}
