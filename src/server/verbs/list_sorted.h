/* A cursor over the objects of another cursor, in the order in which a Table shows them: upstream
 * lists FlowSchemas by their precedence.
 * Owner: whoever opened it.  Thread: as every cursor; opening it also on a thread that has the
 * call, because the objects of a cursor are a snapshot. */
#ifndef COR_SERVER_LIST_SORTED_H
#define COR_SERVER_LIST_SORTED_H

#include "schema/types/columns.h"
#include "storage/store/reader.h"

/* Reads `source` to its end. The new cursor owns `source` then; on failure the caller still does.
 * The objects come in the order of `columns`, equal ones as in the source. 0, -COR_ENOMEM. */
int cor_list_sorted_open(struct cor_list_cursor *source, const struct cor_table_columns *columns,
                         struct cor_list_cursor **ret_cursor);

#endif
