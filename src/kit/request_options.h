/* Writes the options of kit/api_options.h as an HTTP request carries them: in the query, or for a
 * deletion in the body. What is empty, false or unset is left out.
 * Thread: any (values).  Owner: of the bytes, whoever they were taken from. */
#ifndef COR_KIT_REQUEST_OPTIONS_H
#define COR_KIT_REQUEST_OPTIONS_H

#include "base/buf.h"
#include "base/str.h"
#include "kit/api_options.h"

/* Each appends to a path, or to a path with a query. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_query_add(struct cor_buf *target, const char *name, struct cor_str value);
int cor_list_query_write(const struct cor_list_query *query, struct cor_buf *target);
int cor_write_options_write(const struct cor_write_options *opts, struct cor_buf *target);

/* Appends the DeleteOptions object. Same errors. */
int cor_removal_options_write(const struct cor_removal_options *opts, struct cor_buf *body);

#endif
