/* The spec of a Lease, read and written member by member, so that members which this library does
 * not know (strategy, preferredHolder, what a later version adds) survive an update.
 *
 * Reading takes absent and null members as empty, and refuses members of another type. Writing
 * makes the seen Lease canonical (edits need sorted members), then replaces spec, metadata.labels,
 * name and namespace by edits; nothing else of the Lease changes. A value that an edit points to
 * lives in an arena whose room is reserved before, because the edit would not follow it if it
 * moved. Fails with -COR_ENOMEM or -COR_ETOOBIG; nothing is kept then. Thread: any (values). */
#include "kit/election/lease_record.h"

#include "base/buf.h"
#include "base/err.h"
#include "meta/object/object_received.h"
#include "meta/value/time_text.h"
#include "json/text/scan.h"
#include "json/write/edits.h"
#include "json/write/writer.h"

#define LEASE_MAX (1u << 20)

/* The value of a member; "" when the member is absent or null. */
static struct cor_str value_at(struct cor_str object, const char *key)
{
    struct cor_str value;

    if (cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) < 0 ||
        cor_json_type(value) == COR_JSON_NULL)
        return COR_STR("");
    return value;
}

static int read_int(struct cor_str spec, const char *key, int32_t *ret)
{
    struct cor_str value = value_at(spec, key);
    int64_t n = 0;
    int r = value.n > 0 ? cor_json_to_i64(value, &n) : 0;

    if (r < 0 || n < INT32_MIN || n > INT32_MAX)
        return -COR_EINVAL;
    *ret = (int32_t)n;
    return 0;
}

static int read_time(struct cor_str spec, const char *key, int64_t *ret_us)
{
    struct cor_str value = value_at(spec, key), raw;

    *ret_us = 0;
    if (value.n == 0)
        return 0;
    return cor_json_to_raw(value, &raw) < 0 ? -COR_EINVAL : cor_micro_time_parse(raw, ret_us);
}

static int read_holder(struct cor_str spec, char *to)
{
    struct cor_str value = value_at(spec, "holderIdentity"), raw, text = COR_STR("");
    int r = 0;

    if (value.n > 0)
        r = cor_json_to_raw(value, &raw);
    if (r == 0 && value.n > 0)
        r = cor_json_unescape(raw, to, COR_LEADER_IDENTITY_MAX, &text);
    if (r == 0 && text.n > COR_LEADER_IDENTITY_MAX)
        r = -COR_ETOOBIG;
    if (r < 0)
        return r;
    memmove(to, text.p, text.n);
    to[text.n] = '\0';
    return 0;
}

int cor_lease_record_read(const struct cor_object *lease, struct cor_leader_record *ret_record)
{
    struct cor_str spec = value_at(cor_object_json(lease), "spec");
    struct cor_leader_record record = {0};
    int r = read_holder(spec, record.holder);

    if (r == 0)
        r = read_int(spec, "leaseDurationSeconds", &record.duration_s);
    if (r == 0)
        r = read_int(spec, "leaseTransitions", &record.transitions);
    if (r == 0)
        r = read_time(spec, "acquireTime", &record.acquire_us);
    if (r == 0)
        r = read_time(spec, "renewTime", &record.renew_us);
    if (r == 0)
        *ret_record = record;
    return r;
}

static int edit_text(struct cor_edits *edits, const char *key, struct cor_str text,
                     struct cor_buf *arena)
{
    size_t at = arena->n;
    int r = cor_json_quote(arena, text);

    if (r == 0)
        cor_edits_set(edits, cor_strz(key), cor_str(arena->p + at, arena->n - at));
    return r;
}

static int edit_int(struct cor_edits *edits, const char *key, int32_t n, struct cor_buf *arena)
{
    size_t at = arena->n;
    int r = cor_buf_addf(arena, "%d", (int)n);

    if (r == 0)
        cor_edits_set(edits, cor_strz(key), cor_str(arena->p + at, arena->n - at));
    return r;
}

static int write_spec(const struct cor_leader_record *record, struct cor_str old,
                      struct cor_buf *to)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf arena;
    char acquire[COR_MICRO_TIME_TEXT_MAX], renew[COR_MICRO_TIME_TEXT_MAX];
    struct cor_edits edits = {.n = 0};
    int r;

    cor_buf_init(&arena, 16 * COR_LEADER_IDENTITY_MAX);
    r = cor_buf_reserve(&arena, arena.max);
    if (r == 0)
        r = edit_text(&edits, "holderIdentity", cor_strz(record->holder), &arena);
    if (r == 0)
        r = edit_int(&edits, "leaseDurationSeconds", record->duration_s, &arena);
    if (r == 0)
        r = edit_int(&edits, "leaseTransitions", record->transitions, &arena);
    if (r == 0)
        r = edit_text(&edits, "acquireTime", cor_micro_time_print(record->acquire_us, acquire),
                      &arena);
    if (r == 0)
        r = edit_text(&edits, "renewTime", cor_micro_time_print(record->renew_us, renew), &arena);
    return r < 0 ? r : cor_edits_apply(&edits, old, to);
}

static int write_labels(const struct cor_lease_name *name, struct cor_str old, struct cor_buf *to)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf arena;
    struct cor_edits edits = {.n = 0};
    size_t room = 1;
    int r;

    /* An escape of a byte takes six bytes at most. */
    for (size_t i = 0; i < name->nlabels; i++)
        room += strlen(name->labels[i].value) * 6 + 2;
    cor_buf_init(&arena, room);
    r = cor_buf_reserve(&arena, room);
    for (size_t i = 0; r == 0 && i < name->nlabels; i++)
        r = edit_text(&edits, name->labels[i].key, cor_strz(name->labels[i].value), &arena);
    return r < 0 ? r : cor_edits_apply(&edits, old, to);
}

/* Writes the metadata of a new Lease, or those of the old one with the labels added. */
static int write_metadata(const struct cor_lease_name *name, struct cor_str old, struct cor_buf *to)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf labels, words;
    struct cor_edits edits = {.n = 0};
    size_t at;
    int r = 0;

    cor_buf_init(&labels, LEASE_MAX);
    cor_buf_init(&words, (name->ns.n + name->name.n) * 6 + 4);
    if (name->nlabels > 0)
        r = write_labels(name, value_at(old, "labels"), &labels);
    if (r == 0 && name->nlabels > 0)
        cor_edits_set(&edits, COR_STR("labels"), cor_buf_str(&labels));
    if (r == 0)
        r = cor_buf_reserve(&words, words.max);
    if (r == 0)
        r = cor_json_quote(&words, name->name);
    at = words.n;
    if (r == 0)
        r = cor_json_quote(&words, name->ns);
    if (r < 0)
        return r;
    cor_edits_set(&edits, COR_STR("name"), cor_str(words.p, at));
    cor_edits_set(&edits, COR_STR("namespace"), cor_str(words.p + at, words.n - at));
    return cor_edits_apply(&edits, old, to);
}

int cor_lease_record_write(const struct cor_leader_record *record, const struct cor_object *old,
                           const struct cor_lease_name *name, struct cor_object **ret_lease,
                           struct cor_status *reterr)
{
    static const struct cor_str empty =
        COR_STR("{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\"}");
    COR_CLEANUP(cor_buf_deinit) struct cor_buf spec, metadata, lease;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *base = NULL;
    struct cor_edits edits = {.n = 0};
    int r;

    cor_buf_init(&spec, LEASE_MAX);
    cor_buf_init(&metadata, LEASE_MAX);
    cor_buf_init(&lease, LEASE_MAX);
    /* A server may send members in any order, and edits need them sorted. */
    r = cor_object_canonical(old ? cor_object_json(old) : empty, &base, reterr);
    if (r < 0)
        return r;
    r = write_spec(record, value_at(cor_object_json(base), "spec"), &spec);
    if (r == 0)
        r = write_metadata(name, value_at(cor_object_json(base), "metadata"), &metadata);
    if (r == 0) {
        cor_edits_set(&edits, COR_STR("metadata"), cor_buf_str(&metadata));
        cor_edits_set(&edits, COR_STR("spec"), cor_buf_str(&spec));
        r = cor_edits_apply(&edits, cor_object_json(base), &lease);
    }
    return r < 0 ? cor_status_untyped(reterr, r, "the Lease cannot be written: %s", cor_err_text(r))
                 : cor_object_canonical(cor_buf_str(&lease), ret_lease, reterr);
}
