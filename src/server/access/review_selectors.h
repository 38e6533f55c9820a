/* What a request selects, for the question whether it may: rules of an authorizer may be narrower
 * than a resource. Read as upstream does it (its gate AuthorizeWithSelectors): of a list, a watch
 * and a deletion of a collection, the first of each parameter; what cannot be read narrows nothing.
 * Thread: any (a value).  Owner: whoever read it. */
#ifndef COR_SERVER_REVIEW_SELECTORS_H
#define COR_SERVER_REVIEW_SELECTORS_H

#include "base/str.h"
#include "server/request/request_info.h"
#include "json/write/writer.h"

struct cor_field_selector;
struct cor_label_selector;

struct cor_review_selectors {
    struct cor_field_selector *fields; /* NULL: none */
    struct cor_label_selector *labels; /* NULL: none */
    struct cor_str name; /* the one object that a list or watch asks for by its name; else empty */
};

/* `query` is still encoded. 0, -COR_ENOMEM; on failure there is nothing to release. */
int cor_review_selectors_read(const struct cor_request_info *info, struct cor_str query,
                              struct cor_review_selectors *ret_selectors);
void cor_review_selectors_deinit(struct cor_review_selectors *s); /* safe on a zeroed struct */

/* Writes the members fieldSelector and labelSelector of ResourceAttributes, where there are any. */
void cor_review_selectors_write(const struct cor_review_selectors *s, struct cor_json_writer *w);

#endif
