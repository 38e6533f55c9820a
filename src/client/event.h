/* A core/v1 Event: what happened to an object, for people to read.
 * Thread: any (values).  Owner: strings are borrowed unless said otherwise. */
#ifndef COR_CLIENT_EVENT_H
#define COR_CLIENT_EVENT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/object.h"

/* The longest that a server takes. */
#define COR_EVENT_MESSAGE_MAX 1024
#define COR_EVENT_REASON_MAX  128

struct cor_event {
    struct cor_str kind, api_version, ns, name, uid; /* of the object that it is about */
    struct cor_str resource_version, field_path;     /* of the same; may be empty */
    struct cor_str type;                             /* "Normal" or "Warning" */
    struct cor_str reason, message;
    struct cor_str component, host; /* who says so */
    struct cor_str event_name;      /* the Event's own */
    int64_t first_ms, last_ms;      /* Unix time */
    uint32_t count;
};

/* The reference to an object; the rest is left as it is. */
void cor_event_set_about(struct cor_event *event, const struct cor_object *object);

/* The namespace that the Event itself is in: the object's, or "default". */
struct cor_str cor_event_namespace(const struct cor_event *event);

/* A copy whose strings live in one allocation, `*ret_strings`, for cor_free(). 0 or -COR_ENOMEM. */
int cor_event_copy(const struct cor_event *event, struct cor_event *ret_event, char **ret_strings);

/* Append JSON: the whole Event, or the patch that brings the server's up to date. 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
int cor_event_write(const struct cor_event *event, struct cor_buf *out);
int cor_event_write_patch(const struct cor_event *event, struct cor_buf *out);

#endif
