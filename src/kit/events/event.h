/* An Event, of core/v1 or of events.k8s.io/v1: what happened to an object, for people to read.
 * Thread: any (values).  Owner: strings are borrowed unless said otherwise. */
#ifndef COR_KIT_EVENT_H
#define COR_KIT_EVENT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/object/object.h"

/* The most bytes that a server accepts. */
#define COR_EVENT_MESSAGE_MAX 1024
#define COR_EVENT_REASON_MAX  128
#define COR_EVENT_ACTION_MAX  128

struct cor_event_ref {
    struct cor_str kind, api_version, ns, name, uid;
    struct cor_str resource_version, field_path; /* may be empty */
};

struct cor_event {
    struct cor_event_ref about;
    struct cor_event_ref related; /* a second object; without a name: none. events.k8s.io only */
    struct cor_str type;          /* "Normal" or "Warning" */
    struct cor_str reason, message;
    struct cor_str action;          /* what was done; events.k8s.io only */
    struct cor_str component, host; /* who reports it; in events.k8s.io the host is an instance */
    struct cor_str event_name;      /* the Event's own */
    int64_t first_ms, last_ms;      /* Unix time */
    uint32_t count;
};

/* Fills the reference to an object, with strings borrowed from the object. 0, or -COR_EINVAL: the
 * object has no kind or no name. */
int cor_event_ref_to(const struct cor_object *object, struct cor_event_ref *ret_ref);

/* The namespace that the Event itself is in: the object's, or "default". */
struct cor_str cor_event_namespace(const struct cor_event *event);

/* A copy whose strings live in one allocation, `*ret_strings`, for cor_free(). 0 or -COR_ENOMEM. */
int cor_event_copy(const struct cor_event *event, struct cor_event *ret_event, char **ret_strings);

/* Append JSON: the whole Event, or the strategic merge patch that updates the count, the time and
 * the message of an Event that the server has. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_event_write(const struct cor_event *event, struct cor_buf *out);
int cor_event_write_patch(const struct cor_event *event, struct cor_buf *out);

/* The same in events.k8s.io/v1; a count above 1 is a series. */
int cor_event_write_v1(const struct cor_event *event, struct cor_buf *out);
int cor_event_write_v1_patch(const struct cor_event *event, struct cor_buf *out);

/* Appends the parts to a key, each with a NUL after it, so that different parts make different
 * keys. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_event_add_key(struct cor_buf *key, const struct cor_str *parts, size_t n);

#endif
