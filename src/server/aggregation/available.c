/* The condition Available: what it says, what it is judged by, and how it is written. The members
 * of objects are read as views; nothing is kept. Thread: any. */
#include <assert.h>
#include <stdarg.h>

#include "base/err.h"
#include "coracle/view.h"
#include "meta/value/time_text.h"
#include "server/aggregation/available.h"
#include "json/write/print.h"

void cor_available_init(struct cor_available *a)
{
    *a = (struct cor_available){0};
    cor_buf_init(&a->message, COR_AVAILABLE_MESSAGE_MAX);
}

int cor_available_set(struct cor_available *a, const char *status, const char *reason,
                      const char *fmt, ...)
{
    va_list ap;
    int r;

    a->status = status;
    a->reason = reason;
    cor_buf_reset(&a->message);
    va_start(ap, fmt);
    r = cor_buf_addv(&a->message, fmt, ap);
    va_end(ap);
    return r;
}

static struct cor_view member(struct cor_view view, const char *key)
{
    return cor_view_member(view, cor_strz(key));
}

static struct cor_str text_of(struct cor_view view, const char *key)
{
    return cor_view_text_or(member(view, key), NULL, 0, "");
}

bool cor_available_checks_ports(const struct cor_object *service)
{
    return cor_str_eqz(text_of(member(cor_object_view(service), "spec"), "type"), "ClusterIP");
}

bool cor_available_port_name(const struct cor_object *service, uint16_t port,
                             struct cor_str *ret_name)
{
    struct cor_view_iter it =
        cor_view_iter(member(member(cor_object_view(service), "spec"), "ports"));

    while (cor_view_next(&it)) {
        if (cor_view_int_or(member(it.value, "port"), 0) == port) {
            *ret_name = text_of(it.value, "name");
            return true;
        }
    }
    return false;
}

bool cor_available_slice_serves(const struct cor_object *slice, struct cor_str port_name)
{
    struct cor_view root = cor_object_view(slice);
    /* names a kind: a member of an EndpointSlice */
    struct cor_view_iter it = cor_view_iter(member(root, "endpoints"));
    bool is_ready = false;

    while (!is_ready && cor_view_next(&it))
        is_ready = cor_view_bool_or(member(member(it.value, "conditions"), "ready"), true);
    if (!is_ready)
        return false;
    it = cor_view_iter(member(root, "ports"));
    while (cor_view_next(&it)) {
        if (cor_view_exists(member(it.value, "name")) &&
            cor_view_exists(member(it.value, "port")) &&
            cor_str_eq(text_of(it.value, "name"), port_name))
            return true;
    }
    return false;
}

/* Is it the condition that is written? */
static bool is_available_condition(struct cor_view condition)
{
    return cor_str_eqz(text_of(condition, "type"), "Available");
}

/* Does the text of the member, decoded, equal this one? */
static bool says(struct cor_view condition, const char *key, struct cor_str text)
{
    char decoded[COR_AVAILABLE_MESSAGE_MAX];

    return cor_str_eq(cor_view_text_or(member(condition, key), decoded, sizeof(decoded), ""), text);
}

static struct cor_view condition_of(const struct cor_object *object)
{
    struct cor_view conditions = member(member(cor_object_view(object), "status"), "conditions");
    struct cor_view_iter it = cor_view_iter(conditions);

    while (cor_view_next(&it)) {
        if (is_available_condition(it.value))
            return it.value;
    }
    return member(conditions, "");
}

static void write_condition(struct cor_json_writer *w, const struct cor_available *a,
                            struct cor_str since)
{
    cor_json_print(w, "{lastTransitionTime:%s,message:%s,reason:%s,status:%s,type:'Available'}",
                   since, cor_buf_str(&a->message), a->reason, a->status);
}

int cor_available_patch(const struct cor_available *a, const struct cor_object *object,
                        int64_t now_s, struct cor_buf *out)
{
    struct cor_view_iter it =
        cor_view_iter(member(member(cor_object_view(object), "status"), "conditions"));
    struct cor_view old = condition_of(object);
    bool has_old = cor_view_exists(old), is_same = says(old, "status", cor_strz(a->status));
    char now[COR_TIME_TEXT_MAX];
    struct cor_str since = text_of(old, "lastTransitionTime");
    struct cor_json_writer w;
    int r;

    assert(a->status && a->reason);
    if (has_old && is_same && says(old, "reason", cor_strz(a->reason)) &&
        says(old, "message", cor_buf_str(&a->message)))
        return 0;
    if (!is_same || since.n == 0)
        since = cor_time_print(now_s, now);
    cor_json_writer_init(&w, out);
    cor_json_print(&w, "{metadata:{resourceVersion:%s},status:{conditions:[",
                   cor_object_resource_version(object));
    while (cor_view_next(&it)) {
        if (is_available_condition(it.value))
            write_condition(&w, a, since);
        else
            cor_json_raw(&w, it.value.json);
    }
    if (!has_old)
        write_condition(&w, a, since);
    cor_json_print(&w, "]}}");
    r = cor_json_writer_finish(&w);
    return r < 0 ? r : 1;
}
