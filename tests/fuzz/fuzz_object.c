/* Promises of the object: its stored form is a fixed point; its served form is canonical, has the
 * revision it was asked for, and leads back to the same stored form; the header points where the
 * bytes say. */
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "meta/object/object.h"
#include "meta/value/fingerprint.h"
#include "json/text/json.h"
#include "json/text/scan.h"

static struct cor_str member(struct cor_str object, const char *key, enum cor_json_type type)
{
    struct cor_str value;

    if (cor_json_get(object, cor_strz(key), COR_JSON_SORTED, &value) < 0 ||
        cor_json_type(value) != type)
        return COR_STR("");
    return value;
}

static bool same_span(const struct cor_object *object, struct cor_span span, struct cor_str value)
{
    return span.len == value.n && (value.n == 0 || object->bytes + span.at == value.p);
}

static void check_header(const struct cor_object *object)
{
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    struct cor_str json = cor_object_json(object);
    struct cor_str metadata = member(json, "metadata", COR_JSON_OBJECT);
    struct cor_str rv, labels;
    bool canonical = false;

    limits.bytes_max = json.n;
    FUZZ_CHECK(cor_json_check(json, &limits, &canonical, &(struct cor_json_error){0}) == 0);
    FUZZ_CHECK(canonical && json.p[json.n] == '\0');
    FUZZ_CHECK(metadata.p == object->bytes + object->meta_at);
    labels = member(metadata, "labels", COR_JSON_OBJECT);
    FUZZ_CHECK(same_span(object, object->labels, labels));
    FUZZ_CHECK(
        same_span(object, object->owners, member(metadata, "ownerReferences", COR_JSON_ARRAY)));
    FUZZ_CHECK(object->fingerprint == cor_fingerprint_labels(labels));
    FUZZ_CHECK(member(metadata, "selfLink", COR_JSON_STRING).n == 0);
    FUZZ_CHECK(json.p[object->type_end] == '"' &&
               (object->type_end == 1 || json.p[object->type_end - 1] == ','));
    rv = member(metadata, "resourceVersion", COR_JSON_STRING);
    FUZZ_CHECK((rv.n > 0) == (object->rev != 0));
    if (rv.n > 0)
        FUZZ_CHECK(cor_str_eq(cor_str(rv.p + 1, rv.n - 2), cor_object_resource_version(object)));
}

static void check_served(const struct cor_object *stored, cor_rev rev)
{
    struct cor_object *served = NULL, *later = NULL, *back = NULL;
    struct cor_str rv;
    bool rewrite = true;

    FUZZ_CHECK(cor_object_from_stored(cor_object_json(stored), rev, &served, &rewrite, NULL) == 0);
    FUZZ_CHECK(!rewrite && served->rev == rev);
    check_header(served);
    FUZZ_CHECK(cor_object_same_stored(stored, served));
    FUZZ_CHECK(cor_object_at(served, 0, &later) == 0);
    FUZZ_CHECK(cor_str_eq(cor_object_json(later), cor_object_json(stored)));
    if (cor_object_parse(cor_object_json(served), NULL, NULL, &rv, &back, NULL) == 0) {
        FUZZ_CHECK(cor_str_eq(rv, cor_object_resource_version(served)));
        FUZZ_CHECK(cor_str_eq(cor_object_json(back), cor_object_json(stored)));
    }
    cor_object_unref(served);
    cor_object_unref(later);
    cor_object_unref(back);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str json = cor_str((const char *)data, size);
    struct cor_object *parsed = NULL, *read = NULL;
    struct cor_status status = {0};
    int r = cor_object_from_stored(json, 0, &read, NULL, &status);

    FUZZ_CHECK(r == 0 || (r == -COR_ECORRUPT && status.message));
    if (cor_object_parse(json, NULL, NULL, NULL, &parsed, &status) == 0) {
        FUZZ_CHECK(read && cor_object_same_stored(read, parsed));
        check_header(parsed);
        check_served(parsed, 1);
        check_served(parsed, COR_REV_MAX);
    }
    cor_object_unref(parsed);
    cor_object_unref(read);
    cor_status_deinit(&status);
    return 0;
}
