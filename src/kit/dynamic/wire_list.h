/* Reads a list in protobuf as it arrives: an envelope, and in it a message whose items are handed
 * out one by one. The list as a whole is never held.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_KIT_WIRE_LIST_H
#define COR_KIT_WIRE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "coracle/wire.h"

struct cor_wire_list {
    const struct cor_wire_type *type; /* of the items; set before the first piece */
    enum {
        COR_WIRE_LIST_PREFIX,
        COR_WIRE_LIST_ENVELOPE, /* what stands around the list */
        COR_WIRE_LIST_ITEMS,
    } state;
    bool has_list;          /* it has come */
    uint64_t left;          /* bytes of the list that have not been taken */
    struct cor_buf pending; /* the beginning of something whose end has not come */
};

/* The messages are borrowed for the call. A negative return ends the reading with that code. */
struct cor_wire_list_cbs {
    int (*on_item)(void *arg, struct cor_str message);
    int (*on_metadata)(void *arg, struct cor_str message);
};

/* Nothing but the items' own bytes counts for `item_max`. Cannot fail. */
void cor_wire_list_init(struct cor_wire_list *wl, size_t item_max);
void cor_wire_list_deinit(struct cor_wire_list *wl); /* safe on a zeroed struct */

/* 0, -COR_EINVAL (no protobuf, or a list of another kind), -COR_ETOOBIG, -COR_ENOMEM, or what a
 * callback returned. */
int cor_wire_list_feed(struct cor_wire_list *wl, struct cor_str piece,
                       const struct cor_wire_list_cbs *cbs, void *arg);

/* Has the list ended where it said it would? */
bool cor_wire_list_is_whole(const struct cor_wire_list *wl);

#endif
