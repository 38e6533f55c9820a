/* The head and the items of a list as text, in `call.out` of the list or in another buffer.
 * Each returns 0, -COR_ENOMEM or -COR_ETOOBIG (the buffer's maximum); an item of a table may also
 * be too much for the loop (COR_WORK_YIELD). What was appended before is of no use then. Thread:
 * the one that has the call. */
#ifndef COR_SERVER_LIST_TEXT_H
#define COR_SERVER_LIST_TEXT_H

#include "server/verbs/list.h"

/* Writes the value of a list's `metadata`. */
void cor_list_write_meta(struct cor_json_writer *w, const struct cor_list_cursor *cursor);

/* An item after its `{`: without kind and apiVersion, which upstream writes into the items of
 * custom resources alone. Borrowed from the object. */
struct cor_str cor_list_item_json(const struct cor_call *call, const struct cor_object *object);

/* The head up to its first item, into the call's output. The tail closes what is open. */
int cor_list_write_head(struct cor_list_call *list);

/* One item without indentation and without a comma, at the end of `out`. */
int cor_list_write_item(struct cor_list_call *list, const struct cor_object *object,
                        struct cor_buf *out);

/* The next item at the end of the call's output, in the form that the client asked for (JSON,
 * indented JSON or protobuf), with what is between two items. */
int cor_list_write_text_item(struct cor_list_call *list, const struct cor_object *object);

/* The whole table of a list that is known to be empty. */
int cor_list_write_no_rows(struct cor_list_call *list);

#endif
