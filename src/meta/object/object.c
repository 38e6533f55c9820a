/* The stored and the served form; object_received.c makes the received one.
 *
 * Bytes become an object in three steps: canonical form (nothing to do for what the store wrote
 * itself), removal of what the stored form does not have, one copy with resourceVersion in place.
 * In canonical bytes all that the header points at precedes resourceVersion, so the offsets are the
 * same at every revision. */
#include "meta/object/object.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "meta/object/object_wire.h"
#include "meta/value/fingerprint.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define RV_KEY        "\"resourceVersion\":\""
#define RV_MEMBER_MAX (sizeof(RV_KEY) + COR_OBJECT_RV_MAX + 2)
#define NO_METADATA   "\"metadata\":{}"
/* What a stored form can be longer than its source. */
#define GROWTH_MAX       (sizeof(NO_METADATA) + 1)
#define STORED_BYTES_MAX (UINT32_MAX - RV_MEMBER_MAX - GROWTH_MAX)

/* Where things are in canonical bytes; len 0: absent. */
struct layout {
    uint32_t type_end;
    struct cor_span metadata; /* the value; len of an object is 1, its end is not looked for */
    uint32_t before_metadata; /* end of the member before it, or 1 */
    enum cor_json_type metadata_type;
    struct cor_span labels, owners;
    struct cor_span rv, self_link; /* whole members, without a comma */
    struct cor_str rv_value;
    uint32_t before_rv; /* end of the member before resourceVersion, or of metadata's brace */
};

static struct cor_span span(struct cor_str bytes, struct cor_str part)
{
    return (struct cor_span){(uint32_t)(part.p - bytes.p), (uint32_t)part.n};
}

/* From the quote before `key` to the end of `value`. */
static struct cor_span member_span(struct cor_str bytes, struct cor_str key, struct cor_str value)
{
    return span(bytes, cor_str(key.p - 1, (size_t)(value.p + value.n - key.p) + 1));
}

static uint32_t span_end(struct cor_span s)
{
    return s.at + s.len;
}

static void find_in_metadata(struct cor_str bytes, struct layout *l)
{
    struct cor_json_iter it = cor_json_iter(cor_str_from(bytes, l->metadata.at));
    struct cor_str key;

    l->before_rv = l->metadata.at + 1;
    while (cor_json_iter_member(&it, &key)) {
        struct cor_str value;
        int order = cor_json_raw_cmp_text(key, COR_STR("resourceVersion"));

        if (order > 0 && cor_json_raw_cmp_text(key, COR_STR("selfLink")) > 0)
            break;
        value = cor_json_iter_value(&it);
        if (order < 0)
            l->before_rv = span_end(span(bytes, value));
        if (order == 0) {
            l->rv = member_span(bytes, key, value);
            l->rv_value = value;
        } else if (cor_str_eq(key, COR_STR("selfLink"))) {
            l->self_link = member_span(bytes, key, value);
        } else if (cor_str_eq(key, COR_STR("labels")) && cor_json_type(value) == COR_JSON_OBJECT) {
            l->labels = span(bytes, value);
        } else if (cor_str_eq(key, COR_STR("ownerReferences")) &&
                   cor_json_type(value) == COR_JSON_ARRAY) {
            l->owners = span(bytes, value);
        }
    }
}

/* Reads no further than metadata. */
static void find_layout(struct cor_str bytes, struct layout *l)
{
    struct cor_json_iter it = cor_json_iter(bytes);
    struct cor_str key, value;

    *l = (struct layout){.before_metadata = 1};
    while (cor_json_iter_member(&it, &key)) {
        bool is_type = cor_str_eq(key, COR_STR("kind")) || cor_str_eq(key, COR_STR("apiVersion"));
        int order = cor_json_raw_cmp_text(key, COR_STR("metadata"));

        if (!is_type && l->type_end == 0)
            l->type_end = member_span(bytes, key, key).at;
        if (!is_type && order > 0)
            break;
        if (order == 0) {
            value = cor_json_iter_open_value(&it);
            l->metadata_type = cor_json_type(value);
            l->metadata = span(bytes, cor_str(value.p, 1));
            if (l->metadata_type == COR_JSON_OBJECT)
                find_in_metadata(bytes, l);
            break;
        }
        value = cor_json_iter_value(&it);
        l->before_metadata = span_end(span(bytes, value));
    }
}

static bool is_stored_form(const struct layout *l)
{
    return l->metadata_type == COR_JSON_OBJECT && l->rv.len == 0 && l->self_link.len == 0;
}

/* Replaces [at, at + len) by `text`; the room is reserved. */
static void splice(struct cor_buf *b, uint32_t at, uint32_t len, const char *text)
{
    size_t n = strlen(text);
    size_t tail = b->n - at - len;

    memmove(b->p + at + n, b->p + at + len, tail);
    memcpy(b->p + at, text, n);
    b->n = at + n + tail;
    b->p[b->n] = '\0';
}

/* Cuts a member out with one of its commas. */
static void remove_member(struct cor_buf *b, struct cor_span member)
{
    if (b->p[span_end(member)] == ',')
        member.len++;
    else if (b->p[member.at - 1] == ',')
        member = (struct cor_span){member.at - 1, member.len + 1};
    splice(b, member.at, member.len, "");
}

static void add_metadata(struct cor_buf *b, uint32_t at)
{
    if (at > 1)
        splice(b, at, 0, "," NO_METADATA);
    else
        splice(b, at, 0, b->p[1] == '}' ? NO_METADATA : NO_METADATA ",");
}

/* Canonical bytes to the stored form; the buffer has room for GROWTH_MAX more. */
static void make_stored_form(struct cor_buf *b, const struct layout *l)
{
    if (l->metadata_type == COR_JSON_NONE)
        add_metadata(b, l->before_metadata);
    else if (l->metadata_type == COR_JSON_NULL)
        splice(b, l->metadata.at, sizeof("null") - 1, "{}");
    if (l->self_link.len > 0)
        remove_member(b, l->self_link);
    if (l->rv.len > 0)
        remove_member(b, l->rv);
}

/* What cannot be made an object, whatever its bytes; NULL: nothing. */
static const char *find_mistake(struct cor_str bytes, const struct layout *l)
{
    enum cor_json_type rv = cor_json_type(l->rv_value);

    if (cor_json_type(bytes) != COR_JSON_OBJECT)
        return "an object is expected at the top level";
    if (l->metadata_type != COR_JSON_NONE && l->metadata_type != COR_JSON_NULL &&
        l->metadata_type != COR_JSON_OBJECT)
        return "metadata: an object is expected";
    if (rv != COR_JSON_NONE && rv != COR_JSON_NULL && rv != COR_JSON_STRING)
        return "metadata.resourceVersion: a string is expected";
    return NULL;
}

/* The resourceVersion member with its comma; 0 bytes for an empty one. */
static size_t print_rv(char *to, struct cor_str text, bool lead, bool follow)
{
    size_t n = 0;

    if (text.n == 0)
        return 0;
    if (lead)
        to[n++] = ',';
    memcpy(to + n, RV_KEY, sizeof(RV_KEY) - 1);
    n += sizeof(RV_KEY) - 1;
    memcpy(to + n, text.p, text.n);
    n += text.n;
    to[n++] = '"';
    if (!lead && follow)
        to[n++] = ',';
    return n;
}

/* What follows resourceVersion, which only received bytes have, moves with its length. */
static struct cor_span moved(struct cor_span s, const struct cor_object *head, size_t rv_len)
{
    if (s.at > head->rv_at)
        s.at += (uint32_t)rv_len - head->rv_len;
    return s;
}

/* An object with the offsets of `head`, of the two parts of a stored form around resourceVersion.
 */
/* Does a member follow, and not only the end of metadata? Received bytes may have spaces there. */
static inline bool has_member(struct cor_str after)
{
    const char *p = after.p;

    while (cor_json_is_space(*p))
        p++;
    return *p != '}';
}

static int assemble_with(const struct cor_object *head, struct cor_str before, struct cor_str after,
                         struct cor_str rv_text, cor_rev rev, struct cor_object **ret_object)
{
    char rv[RV_MEMBER_MAX];
    size_t rv_len = print_rv(rv, rv_text, head->rv_lead, has_member(after));
    size_t len = before.n + rv_len + after.n;
    struct cor_object *object = cor_alloc(offsetof(struct cor_object, bytes) + len + 1);

    if (!object)
        return -COR_ENOMEM;
    /* Not all at once: another thread may be counting head's references. */
    cor_ref_init(&object->ref);
    object->len = (uint32_t)len;
    object->type_end = head->type_end;
    object->meta_at = head->meta_at;
    object->rv_at = head->rv_at;
    object->rv_len = (uint16_t)rv_len;
    object->rv_lead = head->rv_lead;
    object->order = head->order;
    object->labels = moved(head->labels, head, rv_len);
    object->owners = moved(head->owners, head, rv_len);
    object->rev = rev;
    object->fingerprint = head->fingerprint;
    object->key_len = 0;
    object->key_is_given = false;
    object->has_wire = false;
    memcpy(object->bytes, before.p, before.n);
    memcpy(object->bytes + before.n, rv, rv_len);
    memcpy(object->bytes + before.n + rv_len, after.p, after.n);
    object->bytes[len] = '\0';
    *ret_object = object;
    return 0;
}

static int assemble(const struct cor_object *head, struct cor_str before, struct cor_str after,
                    cor_rev rev, struct cor_object **ret_object)
{
    char digits[20];
    size_t at = sizeof(digits);

    for (cor_rev left = rev; left > 0; left /= 10)
        digits[--at] = (char)('0' + left % 10);
    return assemble_with(head, before, after, cor_str(digits + at, sizeof(digits) - at), rev,
                         ret_object);
}

static int from_layout(struct cor_str stored, const struct layout *l, cor_rev rev,
                       struct cor_object **ret_object)
{
    struct cor_str labels = cor_str(stored.p + l->labels.at, l->labels.len);
    struct cor_object head = {
        .type_end = l->type_end,
        .meta_at = l->metadata.at,
        .rv_at = l->before_rv,
        .rv_lead = l->before_rv > l->metadata.at + 1,
        .order = COR_JSON_SORTED,
        .labels = l->labels,
        .owners = l->owners,
        .fingerprint = cor_fingerprint_labels(labels),
    };

    return assemble(&head, cor_str(stored.p, l->before_rv), cor_str_from(stored, l->before_rv), rev,
                    ret_object);
}

/* `l` is where things are in `b`. */
static int from_canonical(struct cor_buf *b, struct layout *l, cor_rev rev,
                          struct cor_object **ret_object)
{
    int r = cor_buf_reserve(b, GROWTH_MAX);

    if (r < 0)
        return r;
    if (!is_stored_form(l)) {
        make_stored_form(b, l);
        find_layout(cor_buf_str(b), l);
        assert(is_stored_form(l));
    }
    return from_layout(cor_buf_str(b), l, rev, ret_object);
}

/* `err` is told for what is not JSON. */
static int json_failure(struct cor_status *status, int r, int err, size_t bytes_max,
                        const struct cor_json_error *why)
{
    if (r == -COR_ENOMEM)
        return cor_status_no_memory(status);
    if (r == -COR_ETOOBIG)
        return cor_status_set(status, r, "the object is longer than %zu bytes", bytes_max);
    return cor_status_set(status, err, "%s (line %u, column %u, byte %zu)", why->message, why->line,
                          why->column, why->offset);
}

/* As the input has it: of equal keys the last counts, as in the canonical form. */
static int find_rv(struct cor_str json, struct cor_str *ret_rv, struct cor_status *status)
{
    struct cor_str metadata, value;

    *ret_rv = COR_STR("");
    if (cor_json_get(cor_str_trim(json), COR_STR("metadata"), COR_JSON_ANY_ORDER, &metadata) < 0 ||
        cor_json_get(metadata, COR_STR("resourceVersion"), COR_JSON_ANY_ORDER, &value) < 0 ||
        cor_json_to_raw(value, ret_rv) < 0)
        return 0;
    if (cor_str_find(*ret_rv, '\\') >= 0)
        return cor_status_set(status, -COR_EINVAL,
                              "metadata.resourceVersion: escapes are not accepted");
    return 0;
}

static int parse_canonical(struct cor_str json, struct cor_buf *canonical, struct cor_str *ret_rv,
                           struct cor_object **ret_object, struct cor_status *status)
{
    struct cor_str rv = COR_STR("");
    struct layout l;
    const char *mistake;
    int r = 0;

    find_layout(cor_buf_str(canonical), &l);
    mistake = find_mistake(cor_buf_str(canonical), &l);
    if (mistake)
        return cor_status_set(status, -COR_EINVAL, "%s", mistake);
    if (l.rv.len > 0)
        r = find_rv(json, &rv, status);
    if (r < 0)
        return r;
    if (from_canonical(canonical, &l, 0, ret_object) < 0)
        return cor_status_no_memory(status);
    if (ret_rv)
        *ret_rv = rv;
    return 0;
}

int cor_object_parse(struct cor_str json, const struct cor_object_limits *limits,
                     struct cor_json_dups *dups, struct cor_str *ret_rv,
                     struct cor_object **ret_object, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf canonical;
    struct cor_json_limits json_limits = COR_JSON_LIMITS_DEFAULT;
    struct cor_json_error why;
    int r;

    json_limits.bytes_max =
        limits && limits->bytes_max ? limits->bytes_max : COR_OBJECT_BYTES_MAX_DEFAULT;
    json_limits.any_number = limits && limits->any_number;
    json_limits.guide = limits ? limits->guide : NULL;
    json_limits.root = limits ? limits->root : NULL;
    cor_buf_init(&canonical, json_limits.bytes_max + GROWTH_MAX);
    if (json.n <= json_limits.bytes_max && cor_buf_reserve(&canonical, json.n + GROWTH_MAX) < 0)
        return cor_status_no_memory(reterr_status);
    r = cor_json_canonicalize(json, &json_limits, &canonical, dups, &why);
    if (r < 0)
        return json_failure(reterr_status, r, -COR_EINVAL, json_limits.bytes_max, &why);
    return parse_canonical(json, &canonical, ret_rv, ret_object, reterr_status);
}

/* Bytes that are an object, but not canonical, or not as the store writes it. What has raw values
 * may still be the stored form (`ret_as_stored`). */
static int rebuild(struct cor_str bytes, const struct cor_json_limits *limits, cor_rev rev,
                   struct cor_object **ret_object, bool *ret_as_stored, struct cor_status *status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf canonical;
    struct layout l;
    const char *mistake;

    cor_buf_init(&canonical, bytes.n + GROWTH_MAX);
    if (cor_json_canonicalize(bytes, limits, &canonical, NULL, NULL) < 0)
        return cor_status_no_memory(status);
    find_layout(cor_buf_str(&canonical), &l);
    mistake = find_mistake(cor_buf_str(&canonical), &l);
    if (mistake)
        return cor_status_set(status, -COR_ECORRUPT, "%s", mistake);
    *ret_as_stored = is_stored_form(&l) && cor_str_eq(cor_buf_str(&canonical), bytes);
    if (from_canonical(&canonical, &l, rev, ret_object) < 0)
        return cor_status_no_memory(status);
    return 0;
}

int cor_object_read_stored(struct cor_str stored, cor_rev rev, const struct cor_json_guide *guide,
                           struct cor_object **ret_object, bool *ret_rewrite,
                           struct cor_status *reterr_status)
{
    const struct cor_json_limits limits = {STORED_BYTES_MAX, COR_JSON_DEPTH_MAX, true, guide, NULL};
    struct cor_json_error why;
    struct layout l;
    bool canonical, as_stored;
    int r;

    assert(rev <= COR_REV_MAX);
    r = cor_json_check(stored, &limits, &canonical, &why);
    if (r < 0)
        return json_failure(reterr_status, r, -COR_ECORRUPT, limits.bytes_max, &why);
    if (canonical)
        find_layout(stored, &l);
    as_stored = canonical && is_stored_form(&l);
    if (!as_stored)
        r = rebuild(stored, &limits, rev, ret_object, &as_stored, reterr_status);
    else if (from_layout(stored, &l, rev, ret_object) < 0)
        r = cor_status_no_memory(reterr_status);
    if (r == 0 && ret_rewrite)
        *ret_rewrite = !as_stored;
    return r;
}

int cor_object_from_sorted(struct cor_str canonical, struct cor_object **ret_object)
{
    struct layout l;

    find_layout(canonical, &l);
    return is_stored_form(&l) ? from_layout(canonical, &l, 0, ret_object) : -COR_ECORRUPT;
}

int cor_object_at(const struct cor_object *object, cor_rev rev, struct cor_object **ret_object)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *plain = NULL;
    struct cor_str before, after;

    assert(rev <= COR_REV_MAX);
    if (object->has_wire) {
        if (cor_object_plain(object, &plain) < 0)
            return -COR_ENOMEM;
        object = plain;
    }
    cor_object_stored_spans(object, &before, &after);
    return assemble(object, before, after, rev, ret_object);
}

int cor_object_at_text(const struct cor_object *object, struct cor_str rv,
                       struct cor_object **ret_object)
{
    struct cor_str before, after;
    cor_rev rev = 0;

    if (rv.n > COR_OBJECT_RV_MAX)
        return -COR_ETOOBIG;
    if (cor_str_to_u64(rv, &rev) < 0 || rev > COR_REV_MAX)
        rev = 0;
    cor_object_stored_spans(object, &before, &after);
    return assemble_with(object, before, after, rv, rev, ret_object);
}

/* ---- managedFields ---- */

#define MANAGED_KEY "\"managedFields\":"

/* The object with [at, at + cut) replaced by three texts. All of it is before resourceVersion, and
 * a member of the metadata precedes resourceVersion afterwards as it did before. */
static int replace_part(const struct cor_object *object, size_t at, size_t cut,
                        const struct cor_str texts[3], struct cor_object **ret_object)
{
    size_t added = texts[0].n + texts[1].n + texts[2].n, len = object->len - cut + added;
    struct cor_object *made = cor_alloc(offsetof(struct cor_object, bytes) + len + 1);
    uint32_t moved_by = (uint32_t)(added - cut); /* may be negative, and wraps around then */
    char *to;

    if (!made)
        return -COR_ENOMEM;
    assert(at + cut <= object->rv_at);
    cor_ref_init(&made->ref);
    made->len = (uint32_t)len;
    made->type_end = object->type_end;
    made->meta_at = object->meta_at;
    made->rv_at = object->rv_at + moved_by;
    made->rv_len = object->rv_len;
    made->rv_lead = object->rv_lead;
    made->order = object->order;
    made->labels = object->labels;
    made->owners = object->owners;
    if (made->owners.len > 0)
        made->owners.at += moved_by;
    made->rev = object->rev;
    made->fingerprint = object->fingerprint;
    made->key_len = 0;
    made->key_is_given = false;
    made->has_wire = false;
    memcpy(made->bytes, object->bytes, at);
    to = made->bytes + at;
    for (size_t i = 0; i < 3; i++) {
        memcpy(to, texts[i].p, texts[i].n);
        to += texts[i].n;
    }
    memcpy(to, object->bytes + at + cut, object->len - at - cut);
    made->bytes[len] = '\0';
    *ret_object = made;
    return 0;
}

/* The same for a part whose replacement changes which comma belongs to resourceVersion: the stored
 * form is made first. */
static int replace_around_rv(const struct cor_object *object, size_t at, size_t cut,
                             const struct cor_str texts[3], struct cor_object **ret_object)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *stored = NULL, *made = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = UINT32_MAX};
    int r = cor_object_at(object, 0, &stored);

    if (r == 0)
        r = cor_buf_add(&text, stored->bytes, at);
    for (size_t i = 0; i < 3 && r == 0; i++)
        r = cor_buf_adds(&text, texts[i]);
    if (r == 0)
        r = cor_buf_adds(&text, cor_str_from(cor_object_json(stored), at + cut));
    if (r == 0)
        r = cor_object_from_sorted(cor_buf_str(&text), &made);
    return r < 0 ? r : cor_object_at(made, object->rev, ret_object);
}

int cor_object_without_managed(const struct cor_object *object, struct cor_str list,
                               struct cor_object **ret_object)
{
    static const struct cor_str nothing[3] = {COR_STR_INIT(""), COR_STR_INIT(""), COR_STR_INIT("")};
    const char *begin = list.p - (sizeof(MANAGED_KEY) - 1), *end = list.p + list.n;
    const char *rv = object->bytes + object->rv_at;
    bool has_lead = begin[-1] == ',', is_last = end == rv;

    assert(object->order == COR_JSON_SORTED && begin > object->bytes + object->meta_at &&
           end <= rv);
    if (has_lead)
        begin--;
    else if (!is_last)
        end++; /* the comma of the member behind */
    if (has_lead || !is_last)
        return replace_part(object, (size_t)(begin - object->bytes), (size_t)(end - begin), nothing,
                            ret_object);
    /* The only member before resourceVersion. In the stored form the member behind it, if there is
     * one, loses its comma. */
    if (rv[object->rv_len] == ',')
        end++;
    return replace_around_rv(object, (size_t)(begin - object->bytes), (size_t)(end - begin),
                             nothing, ret_object);
}

int cor_object_with_managed(const struct cor_object *object, struct cor_str list,
                            struct cor_object **ret_object)
{
    struct cor_json_iter it = cor_json_iter(cor_str_from(cor_object_json(object), object->meta_at));
    const char *end = object->bytes + object->rv_at;
    struct cor_str texts[3] = {COR_STR(MANAGED_KEY), list, COR_STR(",")}, key;
    size_t at = object->rv_at;

    assert(object->order == COR_JSON_SORTED && cor_json_type(list) == COR_JSON_ARRAY);
    if (object->labels.len > 0)
        it.p = object->bytes + object->labels.at + object->labels.len;
    while (it.p < end && cor_json_iter_member(&it, &key)) {
        if (key.p > end)
            break;
        if (cor_json_raw_cmp_text(key, COR_STR("managedFields")) > 0)
            return replace_part(object, (size_t)(key.p - 1 - object->bytes), 0, texts, ret_object);
    }
    /* Behind all members that are before resourceVersion. */
    if (object->rv_lead) {
        texts[0] = COR_STR("," MANAGED_KEY);
        texts[2] = COR_STR("");
        return replace_part(object, at, 0, texts, ret_object);
    }
    if (!has_member(cor_str_from(cor_object_json(object), object->rv_at + object->rv_len)))
        texts[2] = COR_STR("");
    return replace_around_rv(object, at, 0, texts, ret_object);
}

struct cor_object *cor_object_ref(struct cor_object *object)
{
    cor_ref_get(&object->ref);
    return object;
}

struct cor_object *cor_object_unref(struct cor_object *object)
{
    if (object && cor_ref_put(&object->ref)) {
        if (object->has_wire)
            cor_object_wire_deinit(object);
        cor_free(object);
    }
    return NULL;
}
