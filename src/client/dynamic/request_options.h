/* The options of Kubernetes' verbs as a request carries them: in the query, or of a deletion in the
 * body. What is empty, false or unset is left out.
 * Thread: any (values).  Owner: of the bytes, whoever they were taken from. */
#ifndef COR_CLIENT_REQUEST_OPTIONS_H
#define COR_CLIENT_REQUEST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/list_options.h"

/* ListOptions. `list.watch` is the verb's to set, `list.recursive` is not sent. */
struct cor_list_query {
    struct cor_str label_selector, field_selector;
    struct cor_list_options list;
    uint32_t timeout_s; /* when the server ends a watch, or a list; 0: its own choice */
    bool metadata_only; /* not in the query: what is accepted as an answer */
};

/* CreateOptions, UpdateOptions and PatchOptions. */
struct cor_write_options {
    bool dry_run;
    struct cor_str field_manager;
    struct cor_str field_validation; /* "", "Ignore", "Warn" or "Strict" */
    enum cor_tristate force;         /* of an apply patch only */
};

/* DeleteOptions. */
struct cor_removal_options {
    bool dry_run;
    bool has_grace;
    int64_t grace_s;
    struct cor_str propagation;           /* "", "Orphan", "Background" or "Foreground" */
    struct cor_str uid, resource_version; /* preconditions; empty: none */
};

/* Each appends to a path, or to a path with a query. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_query_add(struct cor_buf *target, const char *name, struct cor_str value);
int cor_list_query_write(const struct cor_list_query *query, struct cor_buf *target);
int cor_write_options_write(const struct cor_write_options *opts, struct cor_buf *target);

/* Appends the DeleteOptions object. Same errors. */
int cor_removal_options_write(const struct cor_removal_options *opts, struct cor_buf *body);

#endif
