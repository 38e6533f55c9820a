#include "cache/reflector/reflector_event.h"

#include "json/text/scan.h"

struct cor_str cor_reflector_event_rv(const struct cor_reflector_event *event)
{
    if (event->resource_version.n > 0 || !event->object)
        return event->resource_version;
    return cor_object_resource_version(event->object);
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
