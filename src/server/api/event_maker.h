/* What watches show of large objects, made on the offload threads: a frame in protobuf, the object
 * in another version, or its table. An object over COR_HEAVY_BYTES takes up to 30 ms, which is too
 * long for a loop, and a loop may have many such events to deliver in one turn.
 *
 * A product is made once for all watches of a loop that want it at the same time. It is made from
 * immutable things to which it has references, so that watches may go meanwhile.
 * Thread: the loop's.  Owner: the API's loop; a product that is being made counts among the calls
 * of its loop, which is therefore not released before. */
#ifndef COR_SERVER_EVENT_MAKER_H
#define COR_SERVER_EVENT_MAKER_H

#include "base/dlist.h"
#include "schema/convert/conversion.h"
#include "schema/protobuf/protobuf.h"
#include "server/docs/table.h"
#include "server/shared/frames.h"

struct cor_api_loop;

enum cor_event_product {
    COR_EVENT_FRAME,     /* the event in protobuf */
    COR_EVENT_CONVERTED, /* the object in the version of the watch */
    COR_EVENT_TABLE,     /* the object as a table of one row */
};

/* What is to be made. Everything is borrowed. */
struct cor_event_order {
    enum cor_event_product product;
    struct cor_frame_key key;      /* of COR_EVENT_CONVERTED only `source` and `type` count */
    const struct cor_type *schema; /* of key.type; NULL: the kind has none */
    const struct cor_conversion *conversion; /* NULL: the object has the version of the watch */
    struct cor_table_opts
        table; /* COR_EVENT_TABLE; of a custom resource its columns are key.type's */
};

struct cor_event_made {
    int err;                   /* negative: nothing was made */
    const char *why;           /* of -COR_EINVAL: why the object has no form in protobuf */
    struct cor_frame *frame;   /* COR_EVENT_FRAME, COR_EVENT_TABLE: the bytes; borrowed */
    struct cor_object *object; /* COR_EVENT_CONVERTED; borrowed */
};

/* Embedded in a watch. */
struct cor_event_wait {
    struct cor_dlist link;
    struct cor_event_job *job; /* that makes the product */
    void (*on_made)(struct cor_event_wait *wait, const struct cor_event_made *made);
};

/* Waits for the product, which is begun unless it is being made already. on_made follows in a later
 * turn, once. 0, -COR_ENOMEM. */
int cor_event_order(struct cor_api_loop *loop, const struct cor_event_order *order,
                    struct cor_event_wait *wait);

/* on_made does not follow. What nobody waits for any more is not made, unless it was begun. */
void cor_event_wait_cancel(struct cor_event_wait *wait);

/* Appends the event of `key` as a frame; `object` is what it shows, in its version and with its
 * revision. 0, -COR_ENOMEM, -COR_ETOOBIG, -COR_EINVAL with the reason (the object has no form in
 * protobuf). Thread: any. */
int cor_event_write_frame(const struct cor_frame_key *key, const struct cor_type *schema,
                          const struct cor_object *object, struct cor_buf *out,
                          struct cor_pb_error *reterr);

#endif
