/* How the clear bytes of a stored value become an object, and an object bytes: what stands between
 * a store's transformer and its objects. It has two implementations: cor_json_codec, for which a
 * value is the JSON of its object and nothing more is known about its kind, and the server's, which
 * follows the schema of the kind (server/stored/kind_codec.h).
 * Owner: the store that took it.  Thread: any; a codec does not change once a store has it. */
#ifndef COR_STORAGE_VALUE_CODEC_H
#define COR_STORAGE_VALUE_CODEC_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "meta/object/object.h"
#include "meta/status/revision.h"
#include "meta/status/status.h"

/* The most bytes that a codec or a transformer may make of one object. */
#define COR_STORED_VALUE_MAX (16u << 20)

/* Embedded as the first part of an implementation. */
struct cor_value_codec {
    const struct cor_value_codec_ops *ops;
};

struct cor_value_codec_ops {
    int (*decode)(const struct cor_value_codec *codec, struct cor_str value, cor_rev written,
                  cor_rev rev, struct cor_object **ret_object, bool *ret_rewrite,
                  struct cor_status *reterr_status);
    int (*encode)(const struct cor_value_codec *codec, const struct cor_object *object,
                  struct cor_buf *out, struct cor_str *ret_value, struct cor_status *reterr_status);
    bool (*is_slow)(const struct cor_value_codec *codec, struct cor_str stored, cor_rev written);
    int (*complete)(const struct cor_value_codec *codec, struct cor_buf *json);
    void (*free)(struct cor_value_codec *codec);
};

/* The object of `value`, which was written at the revision `written`, as it is served at `rev`.
 * `ret_rewrite`: encoding the object gives other bytes. 0, -COR_ENOMEM; any other error says that
 * the value cannot be read, and why. */
static inline int cor_value_decode(const struct cor_value_codec *codec, struct cor_str value,
                                   cor_rev written, cor_rev rev, struct cor_object **ret_object,
                                   bool *ret_rewrite, struct cor_status *reterr_status)
{
    return codec->ops->decode(codec, value, written, rev, ret_object, ret_rewrite, reterr_status);
}

/* The bytes of an object in stored form: in the object itself, or in `out`, which is empty. 0,
 * -COR_ENOMEM; any other error says that the object has no such form, and why. */
static inline int cor_value_encode(const struct cor_value_codec *codec,
                                   const struct cor_object *object, struct cor_buf *out,
                                   struct cor_str *ret_value, struct cor_status *reterr_status)
{
    return codec->ops->encode(codec, object, out, ret_value, reterr_status);
}

/* Does decoding take so long that it belongs on another thread than a loop's? `stored` may be
 * encrypted, and then hides its form. */
static inline bool cor_value_is_slow(const struct cor_value_codec *codec, struct cor_str stored,
                                     cor_rev written)
{
    return codec->ops->is_slow(codec, stored, written);
}

/* Adds to the canonical JSON of a bookmark what every object of its kind has. 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
static inline int cor_value_complete(const struct cor_value_codec *codec, struct cor_buf *json)
{
    return codec->ops->complete(codec, json);
}

/* Returns NULL; NULL is fine. */
static inline struct cor_value_codec *cor_value_codec_free(struct cor_value_codec *codec)
{
    if (codec)
        codec->ops->free(codec);
    return NULL;
}
COR_DEFINE_CLEANUP(struct cor_value_codec, cor_value_codec_free)

/* Values are canonical JSON in stored form; others are read, and written anew by the next update. A
 * constant: freeing it does nothing. */
struct cor_value_codec *cor_json_codec(void);

#endif
