/* The codec of values that are the JSON of their objects, and of whose kinds nothing is known: they
 * are served as they are stored. Thread: any (no state). */
#include <assert.h>

#include "storage/store/value_codec.h"

static int json_decode(const struct cor_value_codec *codec, struct cor_str value, cor_rev written,
                       cor_rev rev, struct cor_object **ret_object, bool *ret_rewrite,
                       struct cor_status *reterr_status)
{
    (void)codec;
    (void)written;
    return cor_object_from_stored(value, rev, ret_object, ret_rewrite, reterr_status);
}

static int json_encode(const struct cor_value_codec *codec, const struct cor_object *object,
                       struct cor_buf *out, struct cor_str *ret_value,
                       struct cor_status *reterr_status)
{
    assert(object->rev == 0);
    (void)codec;
    (void)out;
    (void)reterr_status;
    *ret_value = cor_object_json(object);
    return 0;
}

static bool json_is_slow(const struct cor_value_codec *codec, struct cor_str stored,
                         cor_rev written)
{
    (void)codec;
    (void)stored;
    (void)written;
    return false;
}

static int json_complete(const struct cor_value_codec *codec, struct cor_buf *json)
{
    (void)codec;
    (void)json;
    return 0;
}

static void json_free(struct cor_value_codec *codec)
{
    (void)codec;
}

struct cor_value_codec *cor_json_codec(void)
{
    static const struct cor_value_codec_ops ops = {json_decode, json_encode, json_is_slow,
                                                   json_complete, json_free};
    static struct cor_value_codec codec = {&ops};

    return &codec;
}
