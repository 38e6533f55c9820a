/* Cuts a stream of JSON into values while it comes in, so that no answer need be held as a whole:
 * the documents of a watch, or the items of a list. A value that lies within one piece of input is
 * not copied. It only counts brackets and quotes: whoever gets a value checks it, unless `checks`
 * is set.
 * Thread: one at a time.  Owner: whoever embeds it. */
#ifndef COR_JSON_TEXT_SPLITTER_H
#define COR_JSON_TEXT_SPLITTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

enum cor_json_split {
    COR_JSON_SPLIT_DOCUMENTS, /* values one after the other, with white space between them or none
                               */
    COR_JSON_SPLIT_ITEMS,     /* one object, whose member `items` is an array */
};

/* What is given is borrowed for the call. A negative return ends the feed, which returns it. */
struct cor_json_splitter_cbs {
    /* A document, or an item. */
    int (*on_value)(void *arg, struct cor_str value);
    /* Another member of the list's object, as it comes. Not called for documents. */
    int (*on_member)(void *arg, struct cor_str raw_key, struct cor_str value);
};

struct cor_json_splitter {
    enum cor_json_split kind;
    const struct cor_json_splitter_cbs *cbs;
    void *arg;
    int state;
    bool has_items; /* the list's object has an array of that name */
    /* Set by the user after init: an item that is an object and lies in one piece is checked while
     * its end is looked for, which spares the user a second pass; other members of the list's
     * object must be JSON, with their keys. */
    bool checks;
    /* For on_value: the item was checked, as by cor_json_check() with any number; and its result.
     */
    bool is_checked, is_canonical;
    /* The value under way. */
    size_t depth;
    bool in_string, is_escaped, is_scalar;
    struct cor_buf part; /* what came of it in earlier pieces */
    struct cor_buf key;  /* of the member under way */
};

/* Cannot fail. `value_max`: bytes of one value. `cbs` must stay valid. */
void cor_json_splitter_init(struct cor_json_splitter *s, enum cor_json_split kind, size_t value_max,
                            const struct cor_json_splitter_cbs *cbs, void *arg);
void cor_json_splitter_deinit(struct cor_json_splitter *s); /* safe on a zeroed struct */

/* 0, -COR_EINVAL (not what was announced), -COR_ETOOBIG (a value is longer than the maximum),
 * -COR_ENOMEM, or what a callback returned. After a failure only deinit may follow. */
int cor_json_splitter_feed(struct cor_json_splitter *s, struct cor_str bytes);

/* The input has ended. 0, or -COR_EINVAL: in the middle of something. May call on_value: a number
 * has no other end. */
int cor_json_splitter_end(struct cor_json_splitter *s);

#endif
