/* What Kubernetes' decoder would refuse before and after it reads the members of an object: bytes
 * that are no object, a kind that cannot be read, a kind that is not the resource's. The members
 * are schema/read.c's. Each check walks the JSON once and stops at the first mistake, in the words
 * of Go's decoder. Thread: any (pure). */
#include "schema/decode.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "meta/gvk.h"
#include "schema/types.h"
#include "json/json.h"
#include "json/scan.h"

#define SUMMARY_BYTES 30
#define NO_KIND       "couldn't get version/kind; json parse error: "
#define BODY_BYTES    (3u << 20)
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

int cor_decode_check_bytes(struct cor_str json, struct cor_buf *why)
{
    /* The decoder that looks for the kind skips numbers. */
    const struct cor_json_limits limits = {BODY_BYTES, COR_JSON_DEPTH_MAX, true};
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

/* Upstream's servers have schemes of their own, and say which one has no such kind. */
static const char *scheme_of(const struct cor_resource_row *resource)
{
    if (cor_str_eq(resource->group, COR_STR("apiextensions.k8s.io")))
        return "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55";
    if (cor_str_eq(resource->group, COR_STR("apiregistration.k8s.io")))
        return "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28";
    return "pkg/api/legacyscheme/scheme.go:30";
}

int cor_decode_check_kind(const struct cor_resource_row *resource, struct cor_str api_version,
                          struct cor_str kind, struct cor_buf *why)
{
    struct cor_str version = api_version.n > 0 ? api_version : resource->api_version;
    struct cor_str name = kind.n > 0 ? kind : resource->kind;
    struct cor_str package = cor_decode_package(resource);
    struct cor_gv gv;

    if (cor_str_eq(name, resource->kind) && cor_str_eq(version, resource->api_version))
        return 0;
    if (cor_gv_parse(version, &gv, NULL) < 0 || !cor_type_of_kind(gv.group, gv.version, name)) {
        (void)cor_buf_addf(why,
                           "no kind \"%.*s\" is registered for version \"%.*s\" in scheme \"%s\"",
                           COR_STR_ARG(name), COR_STR_ARG(version), scheme_of(resource));
        return -COR_EINVAL;
    }
    if (cor_str_eq(name, resource->kind))
        return 0;
    (void)cor_buf_addf(why, "converting (%.*s.%.*s) to (%.*s.%.*s): unknown conversion",
                       COR_STR_ARG(gv.version), COR_STR_ARG(name), COR_STR_ARG(package),
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
