/* What an informer reports about its lists, watches and handlers, and client-go writes to its log.
 * Thread: any (values). */
#ifndef CORACLE_REFLECTOR_REPORT_H
#define CORACLE_REFLECTOR_REPORT_H

#include "coracle/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An operator may want to know of these; the informer goes on by itself. */
enum cor_reflector_report {
    COR_REFLECTOR_UNEXPECTED_TYPE, /* an event of another kind was skipped */
    COR_REFLECTOR_UNREADABLE,      /* an event or its resourceVersion was not understood: skipped */
    COR_REFLECTOR_UNKNOWN_EVENT,   /* an event of an unknown type was skipped */
    COR_REFLECTOR_STORE_FAILED,    /* a transform refused an event's object, or memory ran out */
    COR_REFLECTOR_CHANGE_REFUSED,  /* an index refused an object: the cache stays without it */
    COR_REFLECTOR_RESYNC_FAILED,
    COR_REFLECTOR_WATCH_EXPIRED, /* relists */
    COR_REFLECTOR_WATCH_FAILED,  /* relists */
    COR_REFLECTOR_WATCH_RETRY,   /* refused, 429 or 500: watches again without a list */
    COR_REFLECTOR_WATCH_SILENT,  /* nothing came for too long: watches again without a list */
    COR_REFLECTOR_STREAM_FAILED, /* falls back to a list */
    COR_REFLECTOR_STREAM_RETRY,
    COR_REFLECTOR_STREAM_LATE,  /* the end of the initial events does not come */
    COR_REFLECTOR_SLOW,         /* a list or streamed list took more than 10 s */
    COR_REFLECTOR_SLOW_CHANGE,  /* one took more than 100 ms (its index functions, or a machine that
                                   is busy) while more than ten waited behind it */
    COR_REFLECTOR_SLOW_HANDLER, /* a call of a handler took more than 100 ms, or does not return
                                   while others wait; the status names the handler */
};

/* The name of a report, for a log: "watch expired". "unknown" for a value that this version of the
 * library does not have. A static text. */
COR_API const char *cor_reflector_report_name(enum cor_reflector_report report);

#ifdef __cplusplus
}
#endif

#endif
