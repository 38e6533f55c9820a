/* Reads a list as it arrives: each item becomes an object, and the list as a whole is never held.
 * Items get their kind and apiVersion from the list, because servers leave them out of items.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_KIT_LIST_READER_H
#define COR_KIT_LIST_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "kit/dynamic/wire_list.h"
#include "meta/object/object.h"
#include "meta/status/status.h"
#include "json/text/splitter.h"

#define COR_LIST_READER_OBJECT_MAX (8u << 20)

/* Gets each item, borrowed for the call. A negative return ends the reading with that code. */
typedef int (*cor_list_item_cb)(void *arg, struct cor_object *object);

struct cor_list_reader {
    cor_list_item_cb on_item;
    void *arg;
    struct cor_json_splitter splitter;
    struct cor_buf kind, api_version; /* of the items; raw JSON text */
    struct cor_buf rv, token;         /* of the list */
    int64_t remaining;                /* metadata.remainingItemCount; -1: absent */
    size_t room;                      /* bytes of items for which the heap has been grown */
    bool has_null_items, is_status;
    struct cor_wire_list wire; /* reads in its place when it has a type */
};

/* Cannot fail. */
void cor_list_reader_init(struct cor_list_reader *lr, cor_list_item_cb on_item, void *arg);
void cor_list_reader_deinit(struct cor_list_reader *lr); /* safe on a zeroed struct */

/* Reads a piece. 0, -COR_EPROTOCOL (not a list, or an item that is not an object), -COR_ETOOBIG,
 * -COR_ENOMEM, or what on_item returned; `reterr` is written for all but the last. After a failure
 * only deinit may be called. */
int cor_list_reader_feed(struct cor_list_reader *lr, struct cor_str piece,
                         struct cor_status *reterr);

/* Ends the reading after the last piece. The same errors. */
int cor_list_reader_end(struct cor_list_reader *lr, struct cor_status *reterr);

/* The metadata of the list, after cor_list_reader_end(); borrowed. */
struct cor_list_meta {
    struct cor_str resource_version, continue_token;
    int64_t remaining; /* items after this page; -1: unknown */
};
struct cor_list_meta cor_list_reader_meta(const struct cor_list_reader *lr);

#endif
