/* Promises of the converters: whatever an object holds, the other version of it is a canonical
 * object; events come back as they were, autoscalers settle after one journey, and a secret
 * that was folded stays as it is. */
#include "base/err.h"
#include "fuzz.h"
#include "schema/convert/conversion.h"
#include "json/text/json.h"

#define OUT_MAX (1u << 26)

static struct cor_object *convert(cor_convert_fn fn, const struct cor_object *object)
{
    const struct cor_json_limits limits = {OUT_MAX, COR_JSON_DEPTH_MAX};
    struct cor_object *made;
    bool is_canonical;
    int r = cor_convert_object(fn, COR_STR("K"), COR_STR("v1"), object, &made);

    FUZZ_CHECK(r == 0 || r == -COR_ETOOBIG);
    if (r < 0)
        return NULL;
    FUZZ_CHECK(cor_json_check(cor_object_json(made), &limits, &is_canonical, NULL) == 0);
    FUZZ_CHECK(is_canonical);
    return made;
}

static struct cor_object *travel(const struct cor_conversion *c, const struct cor_object *object)
{
    struct cor_object *there = convert(c->from_stored, object), *back;

    if (!there)
        return NULL;
    back = convert(c->to_stored, there);
    cor_object_unref(there);
    return back;
}

static void check_settles(const struct cor_conversion *c, const struct cor_object *object)
{
    struct cor_object *once = travel(c, object);
    struct cor_object *twice = once ? travel(c, once) : NULL;

    if (twice)
        FUZZ_CHECK(cor_object_same_stored(once, twice));
    cor_object_unref(once);
    cor_object_unref(twice);
}

static void check_event(const struct cor_object *object)
{
    struct cor_object *typed = convert(cor_event_conversion.to_stored, object);
    struct cor_object *back = typed ? travel(&cor_event_conversion, typed) : NULL;

    if (back)
        FUZZ_CHECK(cor_object_same_stored(typed, back));
    cor_object_unref(typed);
    cor_object_unref(back);
}

static void check_secret(const struct cor_object *object)
{
    struct cor_object *folded = convert(cor_secret_fold, object);
    struct cor_object *again = folded ? convert(cor_secret_fold, folded) : NULL;

    FUZZ_CHECK(!folded || !cor_convert_member(cor_object_json(folded), "stringData").p);
    if (again)
        FUZZ_CHECK(cor_object_same_stored(folded, again));
    cor_object_unref(folded);
    cor_object_unref(again);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_object *object;

    if (cor_object_parse(cor_str((const char *)data, size), NULL, NULL, NULL, &object, NULL) < 0)
        return 0;
    check_event(object);
    check_settles(&cor_hpa_conversion, object);
    cor_object_unref(convert(cor_hpa_conversion.to_stored, object));
    check_secret(object);
    cor_object_unref(object);
    return 0;
}
