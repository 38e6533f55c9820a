#include "meta/object_received.h"

#include "base/buf.h"
#include "base/err.h"
#include "json/scan.h"

/* What a kind and an apiVersion add at most. */
#define TYPE_MAX 4096

static bool has(struct cor_str json, const char *key)
{
    struct cor_str value;

    return cor_json_get(json, cor_strz(key), COR_JSON_ANY_ORDER, &value) == 0;
}

/* `{"kind":…,"apiVersion":…,` and the rest of the object. */
static int add_type(struct cor_str json, struct cor_str kind, struct cor_str api_version,
                    struct cor_buf *to)
{
    struct cor_str rest = cor_str_trim(cor_str_from(json, 1));
    int r = cor_buf_addf(to, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\"%s", COR_STR_ARG(kind),
                         COR_STR_ARG(api_version), rest.n > 0 && rest.p[0] != '}' ? "," : "");

    return r < 0 ? r : cor_buf_adds(to, rest);
}

int cor_object_received(struct cor_str json, struct cor_str kind, struct cor_str api_version,
                            struct cor_object **ret_object, struct cor_status *reterr)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *stored = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf typed;
    const struct cor_object_limits limits = {UINT32_MAX / 4};
    struct cor_str rv;
    uint64_t rev = 0;
    int r = 0;

    cor_buf_init(&typed, json.n + TYPE_MAX);
    if (kind.n > 0 && json.n > 0 && json.p[0] == '{' && !has(json, "kind")) {
        r = add_type(json, kind, api_version, &typed);
        if (r < 0)
            return cor_status_set(reterr, r, "no memory for an object");
        json = cor_buf_str(&typed);
    }
    r = cor_object_parse(json, &limits, NULL, &rv, &stored, reterr);
    if (r < 0)
        return r;
    if (rv.n > 0 && cor_str_to_u64(rv, &rev) < 0)
        return cor_status_set(reterr, -COR_EINVAL,
                              "metadata.resourceVersion: \"%.*s\": a number is expected",
                              COR_STR_ARG(rv));
    r = cor_object_at(stored, rev, ret_object);
    return r < 0 ? cor_status_set(reterr, r, "no memory for an object") : 0;
}

int cor_object_from_json(struct cor_str json, struct cor_object **ret_object,
                         struct cor_status *reterr)
{
    return cor_object_received(json, COR_STR(""), COR_STR(""), ret_object, reterr);
}
