/* Upstream validates the size of what ConfigMaps and Secrets hold, and so answers 422 for an object
 * that is too large to be stored, where an object of every other kind fails in the store. Which
 * members count is in the row of the kind (`data_limit`). Flow: a body that is
 * shorter than the limit is not looked at. A longer one is checked once more to be JSON, and the
 * lengths of its values are added up: of texts without their escapes, of base64 as the bytes that
 * it stands for. */
#include "server/strategy/data_size.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/str_set.h"
#include "meta/names/field_error.h"
#include "json/text/json.h"
#include "json/text/scan.h"

/* What a patch can make: an object, a patch, and what its copies add. */
#define BODY_BYTES_MAX (8u << 20)

/* Bytes of a text whose escapes stand for one to four bytes each. */
static size_t text_size(struct cor_str raw)
{
    size_t n = 0;

    for (size_t i = 0; i < raw.n; i++, n++) {
        if (raw.p[i] != '\\')
            continue;
        i++;
        /* \uXXXX is at least one byte, and at most three. */
        if (raw.p[i] == 'u')
            i += 4;
    }
    return n;
}

static size_t base64_size(struct cor_str raw)
{
    size_t pad = 0;

    while (pad < 2 && pad < raw.n && raw.p[raw.n - 1 - pad] == '=')
        pad++;
    return raw.n / 4 * 3 - (raw.n >= 4 ? pad : 0);
}

/* Adds up the values of a member, except those of keys that `but` has; its keys are added to `add`.
 * Both may be NULL. 0, -COR_ENOMEM. */
static int values_size(struct cor_str json, const char *member, bool is_base64,
                       const struct cor_str_set *but, struct cor_str_set *add, size_t *size)
{
    struct cor_str map, key, raw;
    struct cor_json_iter it;
    bool is_new;
    int r = 0;

    if (cor_json_get(json, cor_strz(member), COR_JSON_ANY_ORDER, &map) < 0)
        return 0;
    it = cor_json_iter(map);
    while (r == 0 && cor_json_iter_member(&it, &key)) {
        if (cor_json_to_raw(cor_json_iter_value(&it), &raw) == 0 &&
            !(but && cor_str_set_has(but, key)))
            *size += is_base64 ? base64_size(raw) : text_size(raw);
        if (add)
            r = cor_str_set_add(add, key, &is_new);
    }
    return r;
}

/* The values of both members of the limit. */
static int limited_size(const struct cor_data_limit *limit, struct cor_str json, size_t *size)
{
    struct cor_str_set replaced;
    struct cor_str_set *texts = limit->text_replaces ? &replaced : NULL;
    int r;

    cor_str_set_init(&replaced, BODY_BYTES_MAX);
    r = values_size(json, limit->text, false, NULL, texts, size);
    if (r == 0)
        r = values_size(json, limit->base64, true, texts, NULL, size);
    cor_str_set_deinit(&replaced);
    return r;
}

static int check_values(struct cor_call *call, struct cor_str json)
{
    static const struct cor_json_limits limits = {BODY_BYTES_MAX, COR_JSON_DEPTH_MAX, true};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_field_path path = cor_field_root(cor_strz(call->type->data_limit->path));
    struct cor_gk gk = cor_api_gk(call->type);
    struct cor_str metadata, value, name = COR_STR("");
    bool canonical;
    size_t n = 0;
    int r;

    if (cor_json_check(json, &limits, &canonical, NULL) < 0)
        return 0;
    r = limited_size(call->type->data_limit, json, &n);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    if (n <= COR_DATA_BYTES_MAX)
        return 0;
    if (cor_json_get(json, COR_STR("metadata"), COR_JSON_ANY_ORDER, &metadata) == 0 &&
        cor_json_get(metadata, COR_STR("name"), COR_JSON_ANY_ORDER, &value) == 0)
        (void)cor_json_to_raw(value, &name);
    cor_field_errors_add_too_long(&errs, &path, COR_DATA_BYTES_MAX);
    return cor_status_invalid(&call->status, &gk, name, &errs);
}

int cor_data_size_check(struct cor_call *call, struct cor_str json)
{
    assert(call->type);
    if (json.n <= COR_DATA_BYTES_MAX || !call->type->data_limit)
        return 0;
    return check_values(call, json);
}
