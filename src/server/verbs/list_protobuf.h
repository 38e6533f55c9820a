/* A list in protobuf: the envelope that stands around its items, and one item at a time. The length
 * of the message is in front of it, so that the items are written twice: first they are only
 * counted, then they are sent (list.c has the flow).
 * Owner: the list's call.  Thread: the call's loop, or the thread that has the call. */
#ifndef COR_SERVER_LIST_PROTOBUF_H
#define COR_SERVER_LIST_PROTOBUF_H

#include "base/buf.h"
#include "meta/object/object.h"
#include "schema/types/types.h"
#include "server/api/call.h"
#include "storage/store/reader.h"

struct cor_list_protobuf {
    const struct cor_type *item; /* what the items are; NULL: the list is not in protobuf */
    struct cor_buf meta;         /* the list's metadata, as a field of the message */
    struct cor_buf frame;        /* what precedes the items and after them */
    size_t head_bytes;           /* of `frame`, the part before the items */
    bool is_counting;            /* the items are counted and not sent yet */
    uint64_t counted, sent;      /* bytes of items */
    struct cor_protobuf_cache_loop *cache; /* NULL: no items are kept */
    uint64_t since_ms;                     /* when the list began */
    size_t large_at; /* where an item that a thread writes begins in the call's output */
};

/* Sets the types and the metadata from the head of the cursor. 0, or a failure in the status. */
int cor_list_protobuf_init(struct cor_list_protobuf *list, struct cor_call *call,
                           const struct cor_list_cursor *cursor);
void cor_list_protobuf_deinit(struct cor_list_protobuf *list); /* safe on a zeroed struct */

/* Appends the item of `object`, of which `json` is the whole text in the version and the view of
 * the answer. 0, -COR_ENOMEM, -COR_ETOOBIG, -COR_EINVAL
 * with the call's status (the object has a value that its type does not have). */
int cor_list_protobuf_add_item(const struct cor_list_protobuf *list, struct cor_call *call,
                               const struct cor_object *object, struct cor_str json,
                               struct cor_buf *out);

/* The object's item if it is kept: a new reference. NULL: it must be made. The list has a cache. On
 * the loop. */
struct cor_protobuf_item *cor_list_protobuf_use_kept(const struct cor_list_protobuf *list,
                                                     const struct cor_call *call,
                                                     struct cor_object *object);
/* `item` was made of the object: keeps a copy. The list has a cache. On the loop. */
void cor_list_protobuf_keep(const struct cor_list_protobuf *list, const struct cor_call *call,
                            struct cor_object *object, struct cor_str item);

/* All items are counted: makes the frame around them. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_list_protobuf_make_frame(struct cor_list_protobuf *list, const struct cor_call *call);
/* The two parts of the frame. */
struct cor_str cor_list_protobuf_head(const struct cor_list_protobuf *list);
struct cor_str cor_list_protobuf_tail(const struct cor_list_protobuf *list);

#endif
