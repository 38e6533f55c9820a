/* Reads and writes the values of one kind:
 *
 *   read:  JSON (also of protobuf), stored form, what the schema fills in, served object
 *   write: object in stored form, JSON or protobuf
 *
 * Most values are read without the schema: those that this server wrote itself, in JSON. The others
 * are renewed: values of custom resources, of before old_rev, in protobuf, and those that
 * kube-apiserver keeps in another version than it serves.
 *
 * Failures: a value that cannot be read is an error with the reason, and changes nothing.  Thread:
 * any. */
#include "server/stored/kind_codec.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "schema/kinds/resource_row.h"
#include "schema/protobuf/protobuf.h"
#include "schema/types/raw_values.h"
#include "schema/walk/normalize.h"

/* The most bytes of a bookmark. */
#define BOOKMARK_MAX 4096

struct kind_codec {
    struct cor_value_codec codec;
    struct cor_buf kept_head;         /* how JSON begins that kube-apiserver keeps in another
                                       * version; empty: the kind has none */
    struct cor_custom_schema *schema; /* NULL: none */
    char *api_version, *kind;         /* empty: not known */
    cor_rev old_rev;
    bool is_custom;
    bool writes_protobuf;
};

static const struct kind_codec *kind_codec(const struct cor_value_codec *codec)
{
    return COR_CONTAINER_OF(codec, const struct kind_codec, codec);
}

/* Is it JSON of the version in which kube-apiserver keeps the kind? */
static bool is_kept_elsewhere(const struct kind_codec *kind, struct cor_str json)
{
    return kind->kept_head.n > 0 && cor_str_starts(json, cor_buf_str(&kind->kept_head));
}

static bool kind_is_slow(const struct cor_value_codec *codec, struct cor_str stored,
                         cor_rev written)
{
    const struct kind_codec *kind = kind_codec(codec);

    return kind->is_custom || written <= kind->old_rev ||
           cor_str_starts(stored, COR_PROTOBUF_PREFIX) || is_kept_elsewhere(kind, stored);
}

/* Brings an object that was read into the form that a write would give it now. 1: it changed. */
static int kind_renew(const struct kind_codec *kind, struct cor_object **object)
{
    if (kind->is_custom)
        return cor_stored_form_renew_custom(kind->schema, cor_strz(kind->kind),
                                            cor_strz(kind->api_version), object);
    return cor_stored_form_renew(object);
}

static int kind_decode(const struct cor_value_codec *codec, struct cor_str value, cor_rev written,
                       cor_rev rev, struct cor_object **ret_object, bool *ret_rewrite,
                       struct cor_status *reterr_status)
{
    const struct kind_codec *kind = kind_codec(codec);
    bool is_old = written <= kind->old_rev, is_protobuf, renews, rewrite;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *old = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    int r;

    cor_buf_init(&json, COR_STORED_VALUE_MAX);
    r = cor_stored_form_to_json(&value, &json, reterr_status);
    if (r < 0)
        return r;
    is_protobuf = json.n > 0;
    renews = kind->is_custom || is_old || is_protobuf || is_kept_elsewhere(kind, value);
    r = cor_object_read_stored(value, renews ? 0 : rev, &cor_raw_values, renews ? &old : ret_object,
                               &rewrite, reterr_status);
    if (r == 0 && renews) {
        r = kind_renew(kind, &old);
        /* Protobuf has no room for some fields, which are filled in as after any read, and custom
         * resources follow their schema whenever they are read: no reason to write them again. */
        rewrite |= is_old && r > 0 && !kind->is_custom;
        if (r >= 0)
            r = cor_object_at(old, rev, ret_object);
        if (r < 0)
            return cor_status_set_err(reterr_status, r);
    }
    *ret_rewrite = r == 0 && (rewrite || is_protobuf != kind->writes_protobuf);
    return r;
}

static int kind_encode(const struct cor_value_codec *codec, const struct cor_object *object,
                       struct cor_buf *out, struct cor_str *ret_value,
                       struct cor_status *reterr_status)
{
    int r;

    assert(object->rev == 0 && out->n == 0);
    if (!kind_codec(codec)->writes_protobuf) {
        *ret_value = cor_object_json(object);
        return 0;
    }
    r = cor_stored_form_to_protobuf(object, out, reterr_status);
    *ret_value = cor_buf_str(out);
    return r;
}

/* Upstream's bookmark is an empty struct of the kind, whose JSON has what Go always writes. */
static int kind_complete(const struct cor_value_codec *codec, struct cor_buf *json)
{
    const struct kind_codec *kind = kind_codec(codec);
    const struct cor_type *type =
        cor_stored_form_type(cor_strz(kind->api_version), cor_strz(kind->kind));
    COR_CLEANUP(cor_buf_deinit) struct cor_buf normal;
    int r;

    cor_buf_init(&normal, BOOKMARK_MAX);
    r = type ? cor_normalize(type, cor_buf_str(json), &normal) : 0;
    if (r == 1) {
        cor_buf_reset(json);
        r = cor_buf_adds(json, cor_buf_str(&normal));
    }
    return r;
}

static void kind_free(struct cor_value_codec *codec)
{
    struct kind_codec *kind = COR_CONTAINER_OF(codec, struct kind_codec, codec);

    cor_buf_deinit(&kind->kept_head);
    cor_custom_schema_unref(kind->schema);
    cor_free(kind->api_version);
    cor_free(kind->kind);
    cor_free(kind);
}

static char *dup_or_empty(struct cor_str s)
{
    return cor_strndup(s.p ? s.p : "", s.n);
}

/* kube-apiserver writes kind and apiVersion first. */
static int set_kept_head(struct kind_codec *kind, const struct cor_kind_codec_opts *opts)
{
    struct cor_str kept = cor_api_kept_as(opts->api_version, opts->kind);

    if (kept.n == 0)
        return 0;
    return cor_buf_addf(&kind->kept_head, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",",
                        COR_STR_ARG(opts->kind), COR_STR_ARG(kept));
}

int cor_kind_codec_new(const struct cor_kind_codec_opts *opts, struct cor_value_codec **ret_codec)
{
    static const struct cor_value_codec_ops ops = {kind_decode, kind_encode, kind_is_slow,
                                                   kind_complete, kind_free};
    struct kind_codec *kind = cor_calloc(1, sizeof(*kind));
    int r;

    if (!kind)
        return -COR_ENOMEM;
    kind->codec.ops = &ops;
    kind->old_rev = opts->old_rev;
    kind->is_custom = opts->is_custom;
    kind->schema = cor_custom_schema_ref(opts->schema);
    kind->writes_protobuf = opts->form == COR_STORED_PROTOBUF &&
                            cor_stored_form_has_protobuf(opts->api_version, opts->kind);
    kind->api_version = dup_or_empty(opts->api_version);
    kind->kind = dup_or_empty(opts->kind);
    cor_buf_init(&kind->kept_head, COR_KEY_BYTES_MAX);
    r = set_kept_head(kind, opts);
    if (r < 0 || !kind->api_version || !kind->kind) {
        kind_free(&kind->codec);
        return -COR_ENOMEM;
    }
    *ret_codec = &kind->codec;
    return 0;
}
