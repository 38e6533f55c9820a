#include "cache/reflector/reflector_event.h"

#include "json/scan.h"

struct cor_str cor_reflector_event_rv(const struct cor_reflector_event *event)
{
    if (event->resource_version.n > 0 || !event->object)
        return event->resource_version;
    return cor_object_resource_version(event->object);
}

bool cor_reflector_event_ends_initial(const struct cor_reflector_event *event)
{
    struct cor_str annotations, value, raw;
    enum cor_json_order order;

    if (event->type != COR_WATCH_BOOKMARK || !event->object)
        return false;
    value = cor_str_from(cor_object_json(event->object), event->object->meta_at);
    order = cor_object_order(event->object);
    return cor_json_get(value, COR_STR("annotations"), order, &annotations) == 0 &&
           cor_json_get(annotations, COR_STR(COR_INITIAL_EVENTS_END), order, &value) == 0 &&
           cor_json_to_raw(value, &raw) == 0 && cor_json_raw_eq(raw, COR_STR("true"));
}
