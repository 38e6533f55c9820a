/* Promises of received objects: what has a canonical form is received, the header points where the
 * bytes say, the key is the object's, a revision that is put in and taken out again leaves the
 * bytes as they were, and so does what drops managedFields leave the rest. */
#include <string.h>

#include "base/err.h"
#include "coracle/projection.h"
#include "fuzz.h"
#include "meta/object/object_received.h"
#include "json/text/json.h"

static struct cor_str member(const struct cor_object *object, const char *key,
                             enum cor_json_type type)
{
    struct cor_str value, metadata = cor_str_from(cor_object_json(object), object->meta_at);

    if (cor_json_get(metadata, cor_strz(key), cor_object_order(object), &value) < 0 ||
        cor_json_type(value) != type)
        return COR_STR("");
    return value;
}

static void check_header(const struct cor_object *object)
{
    struct cor_json_limits limits = {
        .bytes_max = object->len, .depth_max = COR_JSON_DEPTH_MAX, .any_number = true};
    struct cor_str json = cor_object_json(object), rv = cor_object_resource_version(object);
    struct cor_str labels = cor_object_labels(object), key = cor_object_own_key(object);
    bool canonical;
    uint64_t rev;

    FUZZ_CHECK(cor_json_check(json, &limits, &canonical, NULL) == 0);
    FUZZ_CHECK(json.p[json.n] == '\0' && json.p[object->meta_at] == '{');
    FUZZ_CHECK(cor_str_eq(labels, member(object, "labels", COR_JSON_OBJECT)));
    /* A resourceVersion that is no number of a store is kept as text. */
    FUZZ_CHECK(rv.n > 0 || object->rev == 0);
    FUZZ_CHECK(object->rev <= COR_REV_MAX);
    if (rv.n > 0 && cor_str_to_u64(rv, &rev) == 0 && rev <= COR_REV_MAX)
        FUZZ_CHECK(object->rev == rev);
    else
        FUZZ_CHECK(object->rev == 0);
    if (rv.n > 0)
        FUZZ_CHECK(rv.p == member(object, "resourceVersion", COR_JSON_STRING).p + 1);
    FUZZ_CHECK(cor_object_view(object).json.n == json.n);
    if (key.n > 0) {
        struct cor_str name = cor_object_name(object);

        FUZZ_CHECK(name.n > 0 && key.n >= name.n);
        FUZZ_CHECK(memcmp(key.p + key.n - name.n, name.p, name.n) == 0);
    }
}

static void check_revisions(const struct cor_object *object)
{
    struct cor_str rv = cor_object_resource_version(object);
    struct cor_object *later, *back;

    FUZZ_CHECK(cor_object_at(object, 123456789012345, &later) == 0);
    check_header(later);
    FUZZ_CHECK(cor_str_eq(cor_object_name(later), cor_object_name(object)));
    FUZZ_CHECK(cor_object_at(later, object->rev, &back) == 0);
    /* "007" comes back as "7", and a text that is no number does not come back. */
    if (rv.n == 0 || (object->rev > 0 && rv.p[0] != '0'))
        FUZZ_CHECK(cor_str_eq(cor_object_json(back), cor_object_json(object)));
    FUZZ_CHECK(cor_object_same_stored(later, object));
    cor_object_unref(later);
    cor_object_unref(back);
}

/* What is left without managedFields is an object with the same header. */
static void check_projected(struct cor_object *object)
{
    const struct cor_projection_opts opts = {COR_PROJECTION_OPTS, .drop_managed_fields = true};
    struct cor_projection *projection;
    struct cor_object *kept;

    FUZZ_CHECK(cor_projection_new(&opts, &projection, NULL) == 0);
    FUZZ_CHECK(cor_projection_apply(projection, object, &kept, NULL) == 0);
    check_header(kept);
    FUZZ_CHECK(cor_str_eq(cor_object_name(kept), cor_object_name(object)));
    FUZZ_CHECK(kept->rev == object->rev);
    cor_object_unref(kept);
    cor_projection_free(projection);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str json = cor_str((const char *)data, size);
    struct cor_object *object = NULL, *typed = NULL, *canonical = NULL;

    if (cor_object_canonical(json, &canonical, NULL) == 0)
        FUZZ_CHECK(cor_object_from_json(json, &object, NULL) == 0);
    else
        (void)cor_object_from_json(json, &object, NULL);
    if (object) {
        check_header(object);
        check_revisions(object);
        check_projected(object);
    }
    if (cor_object_received(json, COR_STR("Kind"), COR_STR("g/v1"), &typed, NULL) == 0) {
        FUZZ_CHECK(cor_object_kind(typed).n > 0 || strstr(typed->bytes, "kind"));
        check_header(typed);
    }
    cor_object_unref(object);
    cor_object_unref(typed);
    cor_object_unref(canonical);
    return 0;
}
