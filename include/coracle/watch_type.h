/* What happened to an object, as the wire names it.
 * Thread: any (values). */
#ifndef CORACLE_WATCH_TYPE_H
#define CORACLE_WATCH_TYPE_H

enum cor_watch_type {
    COR_WATCH_ADDED,
    COR_WATCH_MODIFIED,
    COR_WATCH_DELETED, /* the object is the last state, at the deletion's resourceVersion */
    COR_WATCH_BOOKMARK,
    COR_WATCH_ERROR,
    COR_WATCH_UNKNOWN, /* received: a type that this version does not know */
};

#endif
