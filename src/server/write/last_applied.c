/* clang-format off */
/* The annotation of `kubectl apply`, read and renewed.
 *
 *   read:   metadata.annotations ──► the text of the annotation ──► canonical JSON, if it has the version
 *   renew:  the configuration without its own annotation ──► Go's text of it ──► a JSON string ──►
 *           the annotations with it ──► the object with these annotations
 *
 * Failures: no memory, or a text beyond its maximum. An annotation that is not JSON, or of another
 * version, counts as no annotation.
 * Thread: any (pure). */
/* clang-format on */
#include "server/write/last_applied.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "json/text/json.h"
#include "json/text/scan.h"
#include "json/write/edits.h"
#include "json/write/writer.h"

#define KEY      "kubectl.kubernetes.io/last-applied-configuration"
#define TEXT_MAX (8u << 20)

static struct cor_str member_of(struct cor_str object, const char *key)
{
    struct cor_str value;

    if (object.n == 0 || cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) < 0)
        return COR_STR("");
    return value;
}

static struct cor_str annotations_of(struct cor_str object)
{
    return member_of(member_of(object, "metadata"), "annotations");
}

/* The raw text of the annotation; empty: there is none. */
static struct cor_str annotation_of(struct cor_str object)
{
    struct cor_str value = member_of(annotations_of(object), KEY), raw;

    return value.n > 0 && cor_json_to_raw(value, &raw) == 0 ? raw : COR_STR("");
}

int cor_last_applied_read(struct cor_str object, struct cor_str api_version, struct cor_buf *out)
{
    static const struct cor_json_limits limits = {TEXT_MAX, COR_JSON_DEPTH_MAX, true};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf room = {.max = TEXT_MAX};
    struct cor_str raw = annotation_of(object), text, version;
    size_t before = out->n;
    int r;

    if (raw.n == 0)
        return 0;
    r = cor_buf_reserve(&room, raw.n + 1);
    if (r < 0)
        return r;
    if (cor_json_unescape(raw, room.p, raw.n, &text) < 0)
        return 0;
    r = cor_json_canonicalize(cor_str_trim(text), &limits, out, NULL, NULL);
    if (r == -COR_ENOMEM)
        return r;
    if (r < 0 ||
        cor_json_to_raw(member_of(cor_str_from(cor_buf_str(out), before), "apiVersion"), &version) <
            0 ||
        !cor_str_eq(version, api_version))
        cor_buf_truncate(out, before);
    return 0;
}

/* Appends the metadata without the annotation. */
static int add_metadata(struct cor_str metadata, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf annotations = {.max = TEXT_MAX};
    struct cor_edits below = {.n = 0}, edits = {.n = 0};
    struct cor_str old = member_of(metadata, "annotations");
    int r;

    if (old.n == 0 || cor_json_type(old) != COR_JSON_OBJECT)
        return cor_buf_adds(out, metadata);
    cor_edits_drop(&below, COR_STR(KEY));
    r = cor_edits_apply(&below, old, &annotations);
    cor_edits_set(&edits, COR_STR("annotations"), cor_buf_str(&annotations));
    return r < 0 ? r : cor_edits_apply(&edits, metadata, out);
}

/* Writes a member of the configuration; metadata goes without the annotation. */
static int write_member(struct cor_json_writer *w, struct cor_str key, struct cor_str value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf metadata = {.max = TEXT_MAX};
    int r = 0;

    if (cor_str_eqz(key, "metadata") && cor_json_type(value) == COR_JSON_OBJECT) {
        r = add_metadata(value, &metadata);
        value = cor_buf_str(&metadata);
    }
    cor_json_key(w, key);
    cor_json_raw(w, value);
    return r;
}

/* Writes all members in byte order: a canonical object is sorted except for kind and apiVersion,
 * which come first. */
static int write_sorted(struct cor_json_writer *w, struct cor_str config)
{
    static const char *const first[] = {"apiVersion", "kind"};
    struct cor_json_iter it = cor_json_iter(config);
    struct cor_str key;
    size_t next = 0;
    bool has_key;
    int r = 0;

    do {
        has_key = cor_json_iter_member(&it, &key);
        if (has_key && (cor_str_eqz(key, first[0]) || cor_str_eqz(key, first[1])))
            continue;
        for (; next < COR_ARRAY_LEN(first) && r == 0 &&
               (!has_key || cor_json_raw_cmp(cor_strz(first[next]), key) < 0);
             next++) {
            struct cor_str value = member_of(config, first[next]);

            if (value.n > 0)
                r = write_member(w, cor_strz(first[next]), value);
        }
        if (has_key && r == 0)
            r = write_member(w, key, cor_json_iter_value(&it));
    } while (has_key && r == 0);
    return r;
}

/* Appends the configuration as Go writes a map, with a line break. */
static int add_config(struct cor_str config, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX};
    struct cor_json_writer w;
    int r;

    cor_json_writer_init(&w, &text);
    cor_json_begin_object(&w);
    r = write_sorted(&w, config);
    cor_json_end_object(&w);
    if (r == 0)
        r = cor_json_writer_finish(&w);
    /* Go escapes what HTML would read; these are in texts alone. */
    for (size_t i = 0; i < text.n && r == 0; i++) {
        char c = text.p[i];

        r = c == '<' || c == '>' || c == '&' ? cor_buf_addf(out, "\\u00%02x", (unsigned)c)
                                             : cor_buf_addc(out, c);
    }
    return r < 0 ? r : cor_buf_addc(out, '\n');
}

/* The bytes of all annotations, as upstream counts them: keys and values. */
static size_t annotations_size(struct cor_str annotations)
{
    struct cor_json_iter it = cor_json_iter(annotations);
    struct cor_str key;
    size_t n = 0;

    while (cor_json_iter_member(&it, &key)) {
        struct cor_str raw;

        n += key.n + (cor_json_to_raw(cor_json_iter_value(&it), &raw) == 0 ? raw.n : 0);
    }
    return n;
}

int cor_last_applied_renew(struct cor_str config, struct cor_buf *object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX}, quoted = {.max = TEXT_MAX};
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf next = {.max = object->max}, below = {.max = TEXT_MAX};
    struct cor_str all = cor_buf_str(object), old = annotation_of(all), annotations;
    struct cor_edits edits = {.n = 0};
    int r;

    if (old.n == 0)
        return 0;
    annotations = annotations_of(all);
    r = add_config(config, &text);
    if (r == 0)
        r = cor_json_quote(&quoted, cor_buf_str(&text));
    if (r < 0)
        return r;
    if (annotations_size(annotations) - old.n + text.n > COR_ANNOTATIONS_BYTES_MAX)
        cor_edits_drop(&edits, COR_STR(KEY));
    else
        cor_edits_set(&edits, COR_STR(KEY), cor_buf_str(&quoted));
    r = cor_edits_apply(&edits, annotations, &below);
    if (r == 0)
        r = cor_buf_add(&next, all.p, (size_t)(annotations.p - all.p));
    if (r == 0)
        r = cor_buf_adds(&next, cor_buf_str(&below));
    if (r == 0)
        r = cor_buf_adds(&next, cor_str_from(all, (size_t)(annotations.p + annotations.n - all.p)));
    if (r < 0)
        return r;
    cor_buf_deinit(object);
    *object = next;
    next = (struct cor_buf){0};
    return 0;
}
