/* clang-format off */
/* An Event as JSON, in both of its APIs. Member names and order are those that client-go writes, so
 * that the bytes can be compared; members that are empty and optional are left out.
 *
 *   core/v1               involvedObject, message, count, firstTimestamp, lastTimestamp, source
 *   events.k8s.io/v1      regarding, related, note, eventTime, series {count, lastObservedTime}
 *
 * Every writer appends to a bounded buffer; the first failure (no memory, too large) is kept by the
 * JSON writer and returned at the end.
 * Thread: any (values). */
/* clang-format on */
#include "kit/events/event.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "meta/value/time_text.h"
#include "json/write/print.h"

int cor_event_ref_to(const struct cor_object *object, struct cor_event_ref *ret_ref)
{
    const struct cor_event_ref ref = {
        .kind = cor_object_kind(object),
        .api_version = cor_object_api_version(object),
        .ns = cor_object_namespace(object),
        .name = cor_object_name(object),
        .uid = cor_object_uid(object),
        .resource_version = cor_object_resource_version(object),
    };

    if (ref.kind.n == 0 || ref.name.n == 0)
        return -COR_EINVAL;
    *ret_ref = ref;
    return 0;
}

struct cor_str cor_event_namespace(const struct cor_event *event)
{
    return event->about.ns.n > 0 ? event->about.ns : COR_STR("default");
}

int cor_event_copy(const struct cor_event *event, struct cor_event *ret_event, char **ret_strings)
{
    struct cor_event copy = *event;
    struct cor_str *strings[] = {
        &copy.about.kind,
        &copy.about.api_version,
        &copy.about.ns,
        &copy.about.name,
        &copy.about.uid,
        &copy.about.resource_version,
        &copy.about.field_path,
        &copy.related.kind,
        &copy.related.api_version,
        &copy.related.ns,
        &copy.related.name,
        &copy.related.uid,
        &copy.related.resource_version,
        &copy.related.field_path,
        &copy.type,
        &copy.reason,
        &copy.message,
        &copy.action,
        &copy.component,
        &copy.host,
        &copy.event_name,
    };
    int r = cor_str_gather(strings, COR_ARRAY_LEN(strings), ret_strings);

    if (r == 0)
        *ret_event = copy;
    return r;
}

static void time_member(struct cor_json_writer *w, const char *key, int64_t unix_ms)
{
    char text[COR_TIME_TEXT_MAX];

    cor_json_member(w, cor_strz(key), cor_time_print(unix_ms / 1000, text));
}

static void write_ref(struct cor_json_writer *w, const char *key, const struct cor_event_ref *ref)
{
    cor_json_key(w, cor_strz(key));
    cor_json_print(w,
                   "{apiVersion?:%s,fieldPath?:%s,kind?:%s,name?:%s,namespace?:%s,"
                   "resourceVersion?:%s,uid?:%s}",
                   ref->api_version, ref->field_path, ref->kind, ref->name, ref->ns,
                   ref->resource_version, ref->uid);
}

static void write_metadata(struct cor_json_writer *w, const struct cor_event *e)
{
    cor_json_print(w, "metadata:{name:%s,namespace:%s}", e->event_name, cor_event_namespace(e));
}

/* The count is an int32 in Kubernetes; a larger one is written as the largest int32. */
static void write_count(struct cor_json_writer *w, const struct cor_event *e)
{
    cor_json_key(w, COR_STR("count"));
    cor_json_u64(w, e->count < INT32_MAX ? e->count : INT32_MAX);
}

int cor_event_write(const struct cor_event *e, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_print(&w, "{kind:'Event',apiVersion:'v1'");
    write_count(&w, e);
    time_member(&w, "firstTimestamp", e->first_ms);
    write_ref(&w, "involvedObject", &e->about);
    time_member(&w, "lastTimestamp", e->last_ms);
    cor_json_member(&w, COR_STR("message"), e->message);
    write_metadata(&w, e);
    cor_json_print(&w,
                   "reason:%s,reportingComponent:%s,reportingInstance:%s,"
                   "source:{component?:%s,host?:%s},type:%s}",
                   e->reason, e->component, e->host, e->component, e->host, e->type);
    return cor_json_writer_finish(&w);
}

int cor_event_write_patch(const struct cor_event *e, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    write_count(&w, e);
    time_member(&w, "lastTimestamp", e->last_ms);
    cor_json_member(&w, COR_STR("message"), e->message);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

static void micro_time_member(struct cor_json_writer *w, const char *key, int64_t unix_ms)
{
    char text[COR_MICRO_TIME_TEXT_MAX];

    cor_json_member(w, cor_strz(key), cor_micro_time_print(unix_ms * 1000, text));
}

static void write_series(struct cor_json_writer *w, const struct cor_event *e)
{
    cor_json_key(w, COR_STR("series"));
    cor_json_begin_object(w);
    write_count(w, e);
    micro_time_member(w, "lastObservedTime", e->last_ms);
    cor_json_end_object(w);
}

int cor_event_write_v1(const struct cor_event *e, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_print(&w, "{kind:'Event',apiVersion:'events.k8s.io/v1',action:%s", e->action);
    micro_time_member(&w, "eventTime", e->first_ms);
    write_metadata(&w, e);
    cor_json_member(&w, COR_STR("note"), e->message);
    cor_json_member(&w, COR_STR("reason"), e->reason);
    write_ref(&w, "regarding", &e->about);
    if (e->related.name.n > 0)
        write_ref(&w, "related", &e->related);
    cor_json_member(&w, COR_STR("reportingController"), e->component);
    cor_json_member(&w, COR_STR("reportingInstance"), e->host);
    if (e->count > 1)
        write_series(&w, e);
    cor_json_member(&w, COR_STR("type"), e->type);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

int cor_event_write_v1_patch(const struct cor_event *e, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    write_series(&w, e);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

int cor_event_add_key(struct cor_buf *key, const struct cor_str *parts, size_t n)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        r = cor_buf_adds(key, parts[i]);
        if (r == 0)
            r = cor_buf_addc(key, '\0');
    }
    return r;
}
