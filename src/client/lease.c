#include "client/lease.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "meta/object_received.h"
#include "json/edits.h"
#include "json/scan.h"
#include "json/writer.h"

#define LEASE_MAX (1u << 20)
/* "2025-01-01T00:00:00.000000Z" and its NUL: upstream's MicroTime. */
#define TIME_MAX 28

static struct cor_str print_time(int64_t us, char out[TIME_MAX])
{
    time_t seconds = (time_t)(us / 1000000);
    struct tm tm;
    char date[24];
    size_t n;

    if (!gmtime_r(&seconds, &tm) || strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        return COR_STR("1970-01-01T00:00:00.000000Z");
    n = (size_t)snprintf(out, TIME_MAX, "%.19s.%06dZ", date, (int)(us % 1000000));
    return cor_str(out, n < TIME_MAX ? n : TIME_MAX - 1);
}

/* Fractions beyond a microsecond are dropped. */
static int parse_fraction(const char **p, int64_t *ret_us)
{
    int64_t us = 0, unit = 100000;

    if (**p == '.') {
        for ((*p)++; **p >= '0' && **p <= '9'; (*p)++, unit /= 10)
            us += (**p - '0') * unit;
    }
    *ret_us = us;
    return 0;
}

static int parse_time(struct cor_str text, int64_t *ret_us)
{
    char copy[64];
    struct tm tm = {0};
    const char *p;
    int64_t us;

    if (text.n >= sizeof(copy))
        return -COR_EINVAL;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    p = strptime(copy, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!p)
        return -COR_EINVAL;
    parse_fraction(&p, &us);
    if (strcmp(p, "Z") != 0 && !strptime(p, "%z", &tm))
        return -COR_EINVAL;
    *ret_us = ((int64_t)timegm(&tm) - (strcmp(p, "Z") ? tm.tm_gmtoff : 0)) * 1000000 + us;
    return 0;
}

static int read_text(struct cor_str spec, const char *key, struct cor_str *ret)
{
    struct cor_str value;

    *ret = COR_STR("");
    if (cor_json_get(spec, cor_strz(key), COR_JSON_ANY_ORDER, &value) < 0 ||
        cor_json_type(value) == COR_JSON_NULL)
        return 0;
    return cor_json_to_raw(value, ret);
}

static int read_i32(struct cor_str spec, const char *key, int32_t *ret)
{
    struct cor_str value;
    int64_t n;

    if (cor_json_get(spec, cor_strz(key), COR_JSON_ANY_ORDER, &value) < 0 ||
        cor_json_type(value) == COR_JSON_NULL)
        return 0;
    if (cor_json_to_i64(value, &n) < 0 || n < INT32_MIN || n > INT32_MAX)
        return -COR_EINVAL;
    *ret = (int32_t)n;
    return 0;
}

static int read_time(struct cor_str spec, const char *key, int64_t *ret_us)
{
    struct cor_str text;
    int r = read_text(spec, key, &text);

    return r < 0 || text.n == 0 ? r : parse_time(text, ret_us);
}

static int read_holder(struct cor_str spec, struct cor_leader_record *record)
{
    char buf[COR_LEADER_IDENTITY_MAX];
    struct cor_str raw, text;
    int r = read_text(spec, "holderIdentity", &raw);

    if (r == 0 && cor_json_unescape(raw, buf, sizeof(buf), &text) < 0)
        r = -COR_EINVAL;
    if (r < 0 || text.n > COR_LEADER_IDENTITY_MAX)
        return -COR_EINVAL;
    memcpy(record->holder, text.p, text.n);
    record->holder[text.n] = '\0';
    return 0;
}

int cor_lease_read(const struct cor_object *lease, struct cor_leader_record *ret_record)
{
    struct cor_leader_record record = {0};
    struct cor_str spec;
    int r = 0;

    if (cor_json_get(cor_object_json(lease), COR_STR("spec"), COR_JSON_ANY_ORDER, &spec) == 0) {
        r = read_holder(spec, &record);
        if (r == 0)
            r = read_i32(spec, "leaseDurationSeconds", &record.duration_s);
        if (r == 0)
            r = read_i32(spec, "leaseTransitions", &record.transitions);
        if (r == 0)
            r = read_time(spec, "acquireTime", &record.acquire_us);
        if (r == 0)
            r = read_time(spec, "renewTime", &record.renew_us);
    }
    if (r < 0)
        return -COR_EINVAL;
    *ret_record = record;
    return 0;
}

/* Keys in their order. */
static int write_spec(const struct cor_leader_record *record, struct cor_buf *out)
{
    struct cor_json_writer w;
    char text[TIME_MAX];

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_key(&w, COR_STR("acquireTime"));
    cor_json_string(&w, print_time(record->acquire_us, text));
    cor_json_key(&w, COR_STR("holderIdentity"));
    cor_json_string(&w, cor_strz(record->holder));
    cor_json_key(&w, COR_STR("leaseDurationSeconds"));
    cor_json_i64(&w, record->duration_s);
    cor_json_key(&w, COR_STR("leaseTransitions"));
    cor_json_i64(&w, record->transitions);
    cor_json_key(&w, COR_STR("renewTime"));
    cor_json_string(&w, print_time(record->renew_us, text));
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

int cor_lease_change(const struct cor_object *lease, const struct cor_leader_record *record,
                     struct cor_object **ret_lease, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf spec, json;
    struct cor_edits edits = {.n = 0};
    int r;

    cor_buf_init(&spec, LEASE_MAX);
    cor_buf_init(&json, LEASE_MAX);
    r = write_spec(record, &spec);
    cor_edits_set(&edits, COR_STR("spec"), cor_buf_str(&spec));
    if (r == 0)
        r = cor_edits_apply(&edits, cor_object_json(lease), &json);
    if (r < 0)
        return cor_status_set(reterr, r, "write a lease");
    return cor_object_from_json(cor_buf_str(&json), ret_lease, reterr);
}

int cor_lease_make(struct cor_str ns, struct cor_str name, const struct cor_leader_record *record,
                   struct cor_object **ret_lease, struct cor_status *reterr)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *empty = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    struct cor_json_writer w;
    int r;

    cor_buf_init(&json, LEASE_MAX);
    cor_json_writer_init(&w, &json);
    cor_json_begin_object(&w);
    cor_json_key(&w, COR_STR("kind"));
    cor_json_string(&w, COR_STR("Lease"));
    cor_json_key(&w, COR_STR("apiVersion"));
    cor_json_string(&w, COR_STR("coordination.k8s.io/v1"));
    cor_json_key(&w, COR_STR("metadata"));
    cor_json_begin_object(&w);
    cor_json_key(&w, COR_STR("name"));
    cor_json_string(&w, name);
    cor_json_key(&w, COR_STR("namespace"));
    cor_json_string(&w, ns);
    cor_json_end_object(&w);
    cor_json_end_object(&w);
    r = cor_json_writer_finish(&w);
    if (r < 0)
        return cor_status_set(reterr, r, "write a lease");
    r = cor_object_from_json(cor_buf_str(&json), &empty, reterr);
    return r < 0 ? r : cor_lease_change(empty, record, ret_lease, reterr);
}
