#include "client/event.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "meta/time_text.h"
#include "json/writer.h"

void cor_event_set_about(struct cor_event *event, const struct cor_object *object)
{
    event->kind = cor_object_kind(object);
    event->api_version = cor_object_api_version(object);
    event->ns = cor_object_namespace(object);
    event->name = cor_object_name(object);
    event->uid = cor_object_uid(object);
    event->resource_version = cor_object_resource_version(object);
}

struct cor_str cor_event_namespace(const struct cor_event *event)
{
    return event->ns.n > 0 ? event->ns : COR_STR("default");
}

int cor_event_copy(const struct cor_event *event, struct cor_event *ret_event, char **ret_strings)
{
    struct cor_event copy = *event;
    struct cor_str *strings[] = {
        &copy.kind,       &copy.api_version,      &copy.ns,         &copy.name,
        &copy.uid,        &copy.resource_version, &copy.field_path, &copy.type,
        &copy.reason,     &copy.message,          &copy.component,  &copy.host,
        &copy.event_name,
    };
    int r = cor_str_gather(strings, COR_ARRAY_LEN(strings), ret_strings);

    if (r == 0)
        *ret_event = copy;
    return r;
}

static void member(struct cor_json_writer *w, const char *key, struct cor_str value)
{
    if (value.n > 0)
        cor_json_member(w, cor_strz(key), value);
}

static void time_member(struct cor_json_writer *w, const char *key, int64_t unix_ms)
{
    char text[COR_TIME_TEXT_MAX];

    cor_json_member(w, cor_strz(key), cor_time_print(unix_ms / 1000, text));
}

static void write_about(struct cor_json_writer *w, const struct cor_event *e)
{
    cor_json_key(w, COR_STR("involvedObject"));
    cor_json_begin_object(w);
    member(w, "apiVersion", e->api_version);
    member(w, "fieldPath", e->field_path);
    member(w, "kind", e->kind);
    member(w, "name", e->name);
    member(w, "namespace", e->ns);
    member(w, "resourceVersion", e->resource_version);
    member(w, "uid", e->uid);
    cor_json_end_object(w);
}

static void write_source(struct cor_json_writer *w, const struct cor_event *e)
{
    cor_json_member(w, COR_STR("reportingComponent"), e->component);
    cor_json_member(w, COR_STR("reportingInstance"), e->host);
    cor_json_key(w, COR_STR("source"));
    cor_json_begin_object(w);
    member(w, "component", e->component);
    member(w, "host", e->host);
    cor_json_end_object(w);
}

int cor_event_write(const struct cor_event *e, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), COR_STR("Event"));
    cor_json_member(&w, COR_STR("apiVersion"), COR_STR("v1"));
    cor_json_key(&w, COR_STR("count"));
    cor_json_u64(&w, e->count);
    time_member(&w, "firstTimestamp", e->first_ms);
    write_about(&w, e);
    time_member(&w, "lastTimestamp", e->last_ms);
    cor_json_member(&w, COR_STR("message"), e->message);
    cor_json_key(&w, COR_STR("metadata"));
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("name"), e->event_name);
    cor_json_member(&w, COR_STR("namespace"), cor_event_namespace(e));
    cor_json_end_object(&w);
    cor_json_member(&w, COR_STR("reason"), e->reason);
    write_source(&w, e);
    cor_json_member(&w, COR_STR("type"), e->type);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

int cor_event_write_patch(const struct cor_event *e, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_key(&w, COR_STR("count"));
    cor_json_u64(&w, e->count);
    time_member(&w, "lastTimestamp", e->last_ms);
    cor_json_member(&w, COR_STR("message"), e->message);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}
