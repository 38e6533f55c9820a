/* Events of watches as bytes that are sent: made when the first watch of a loop needs them, and
 * kept while the others are likely to ask for them. A loop delivers an event to all its watches in
 * turn, so that a few kept frames are enough.
 * Thread: its loop.  Owner: the API's loop has the frames, a watch has a reference to the one that
 * its reader has not taken whole. */
#ifndef COR_SERVER_FRAMES_H
#define COR_SERVER_FRAMES_H

#include "base/buf.h"
#include "base/limits.h"
#include "coracle/watch_type.h"
#include "meta/object/object.h"
#include "schema/kinds/resource_row.h"
#include "server/request/negotiate.h"

/* Of the kept frames and their sources together; a frame that alone needs more is not kept. */

/* What a frame shows, and how. */
struct cor_frame_key {
    struct cor_object *source; /* as the reader delivered it */
    cor_rev rev;               /* of the event */
    enum cor_watch_type event;
    const struct cor_resource_row *type;
    enum cor_accept_view view;
    bool is_v1beta1;
};

/* Do they show the same, in the same way? */
bool cor_frame_key_is_same(const struct cor_frame_key *a, const struct cor_frame_key *b);

struct cor_frame {
    unsigned nrefs;
    struct cor_buf bytes;
};

struct cor_kept_frame {
    struct cor_frame_key key; /* its source and its type are references */
    struct cor_frame *frame;  /* a reference; NULL: unused */
};

struct cor_frames {
    struct cor_kept_frame v[COR_FRAMES_MAX];
    size_t next; /* the oldest, which the next one replaces */
    size_t bytes;
};

/* The frame, borrowed until the next frame is added; NULL: it is not kept. */
struct cor_frame *cor_frames_find(const struct cor_frames *frames, const struct cor_frame_key *key);

/* Makes a frame of these bytes, which it takes, and keeps it. A new reference; NULL: no memory, and
 * the bytes are the caller's. */
struct cor_frame *cor_frames_add(struct cor_frames *frames, const struct cor_frame_key *key,
                                 struct cor_buf *take_bytes);

/* A frame that is not kept: for one event of a watch. As cor_frames_add() otherwise. */
struct cor_frame *cor_frame_new(struct cor_buf *take_bytes);

/* Drops the frames of custom resources whose definition is retired. */
void cor_frames_drop_retired(struct cor_frames *frames);
void cor_frames_deinit(struct cor_frames *frames); /* safe on a zeroed struct */

static inline struct cor_frame *cor_frame_ref(struct cor_frame *frame)
{
    frame->nrefs++;
    return frame;
}
struct cor_frame *cor_frame_unref(struct cor_frame *frame); /* returns NULL; NULL is fine */

#endif
