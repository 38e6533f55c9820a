/* Promises of cor_object_extract(): it succeeds on every object, and what it extracts is a part of
 * the object: fields have the object's values, items of lists keep their order, and an empty map or
 * list may stand for one that is not empty. Conflicts are read from any text. */
#include <string.h>

#include "base/err.h"
#include "coracle/builder.h"
#include "coracle/managed_fields.h"
#include "fuzz.h"
#include "meta/object/object.h"
#include "meta/status/status.h"
#include "json/text/json.h"
#include "json/text/scan.h"

static bool is_part(struct cor_str part, struct cor_str whole);

static bool members_are_part(struct cor_str part, struct cor_str whole)
{
    struct cor_json_iter it = cor_json_iter(part);
    struct cor_str raw;

    while (cor_json_iter_member(&it, &raw)) {
        struct cor_json_iter in = cor_json_iter(whole);
        struct cor_str value = cor_json_iter_value(&it), other, same = {0};

        while (!same.p && cor_json_iter_member(&in, &other))
            if (cor_json_raw_cmp(raw, other) == 0)
                same = cor_json_iter_value(&in);
        if (!same.p || !is_part(value, same))
            return false;
    }
    return true;
}

/* Each item is a part of an item that comes after those of the items before. */
static bool items_are_part(struct cor_str part, struct cor_str whole)
{
    struct cor_json_iter it = cor_json_iter(part), in = cor_json_iter(whole);

    while (cor_json_iter_elem(&it)) {
        struct cor_str value = cor_json_iter_value(&it);
        bool is_found = false;

        while (!is_found && cor_json_iter_elem(&in))
            is_found = is_part(value, cor_json_iter_value(&in));
        if (!is_found)
            return false;
    }
    return true;
}

static bool is_part(struct cor_str part, struct cor_str whole)
{
    enum cor_json_type type = cor_json_type(part);

    if (type != cor_json_type(whole))
        return false;
    return type == COR_JSON_OBJECT  ? members_are_part(part, whole)
           : type == COR_JSON_ARRAY ? items_are_part(part, whole)
                                    : cor_str_eq(part, whole);
}

static bool has_escape(struct cor_str text)
{
    return cor_str_find(text, '\\') >= 0;
}

static void check_extract(const struct cor_object *object, const char *subresource)
{
    struct cor_object *mine = NULL;
    int r = cor_object_extract(object, "m", subresource, &mine, NULL);

    FUZZ_CHECK(r == 0 || r == -COR_ETOOBIG);
    /* Names with escapes, which no server accepts, are taken as they are written. */
    if (r == 0 && !has_escape(cor_object_name(object)) && !has_escape(cor_object_kind(object)) &&
        !has_escape(cor_object_namespace(object)) && !has_escape(cor_object_api_version(object)))
        FUZZ_CHECK(is_part(cor_object_json(mine), cor_object_json(object)));
    cor_object_unref(mine);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str in = cor_str((const char *)data, size);
    struct cor_object *received = NULL, *object = NULL, *mine = NULL;
    struct cor_builder *b = NULL;
    struct cor_managed_fields entry;
    struct cor_field_conflict conflict;
    struct cor_status st = {0};
    char message[256];
    size_t n = in.n < sizeof(message) - 1 ? in.n : sizeof(message) - 1;

    memcpy(message, in.p, n);
    message[n] = '\0';
    cor_status_set(&st, -COR_ECONFLICT, "m");
    if (cor_status_add_cause(&st, "FieldManagerConflict", message, ".f") == 0)
        FUZZ_CHECK(cor_status_field_conflict(&st, 0, &conflict));
    cor_status_deinit(&st);

    if (cor_object_from_json(in, &received, NULL) < 0)
        return 0;
    for (size_t i = 0; cor_object_managed_fields(received, i, &entry); i++)
        FUZZ_CHECK(entry.manager.n <= in.n);
    /* The result is canonical, so it is compared with the canonical object. */
    if (cor_builder_new(received, &b) == 0 && cor_builder_finish(b, &object, NULL) == 0) {
        check_extract(object, NULL);
        check_extract(object, "status");
    }
    cor_builder_free(b);
    cor_object_unref(object);
    /* With repeated keys and in any order, for which nothing more is promised. */
    FUZZ_CHECK(cor_object_extract(received, "m", NULL, &mine, NULL) != -COR_EINVAL);
    cor_object_unref(mine);
    cor_object_unref(received);
    return 0;
}
