#include "cache/reflector/reflector_event.h"

#include "json/text/scan.h"

struct cor_reflector_at cor_reflector_event_at(const struct cor_reflector_event *event)
{
    struct cor_reflector_at at = {event->resource_version, event->rev};

    if (at.rv.n == 0 && event->object)
        at.rv = cor_object_resource_version(event->object);
    return at;
}

bool cor_reflector_event_ends_initial(const struct cor_reflector_event *event)
{
    struct cor_str raw;

    if (event->type != COR_WATCH_BOOKMARK || !event->object)
        return false;
    return cor_view_raw(cor_object_annotation(event->object, COR_STR(COR_INITIAL_EVENTS_END)),
                        &raw) == 0 &&
           cor_json_raw_eq(raw, COR_STR("true"));
}
