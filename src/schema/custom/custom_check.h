/* The errors and warnings of a server about a CustomResourceDefinition and objects of the kinds
 * that it defines, found without a server: the checks of the write path in its order, over one
 * document at a time.  Owner: the caller. Thread: one at a time for a report. */
#ifndef COR_SCHEMA_CUSTOM_CUSTOM_CHECK_H
#define COR_SCHEMA_CUSTOM_CUSTOM_CHECK_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"

/* Gets the findings about a document, in the order in which a server would name them. `path` is the
 * field, empty when the finding is about the document as a whole; both are borrowed for the call. A
 * warning is what a server lets pass unless it validates strictly. */
typedef void (*cor_custom_finding_fn)(void *arg, bool is_warning, struct cor_str path,
                                      struct cor_str words);

struct cor_custom_report {
    cor_custom_finding_fn on_finding;
    void *arg;
    size_t nerrors, nwarnings;
};

/* Is the document, any JSON, a CustomResourceDefinition by its apiVersion and kind? */
bool cor_custom_is_definition(struct cor_str json);

/* Checks a definition as a server does that creates it, and appends its canonical form with all
 * defaults to `out` when nothing is wrong. `json` is valid JSON. 0 (the report has the findings),
 * -COR_ENOMEM, -COR_ETOOBIG (out's maximum). */
int cor_custom_check_definition(struct cor_str json, struct cor_custom_report *report,
                                struct cor_buf *out);

/* Does the definition (from cor_custom_check_definition()) define the kind of this object? */
bool cor_custom_defines(struct cor_str definition, struct cor_str json);

/* Checks an object, whose kind the definition defines, as a server does that creates it. An object
 * of a namespaced kind that names no namespace is taken for one of the namespace "default", as
 * kubectl does. The same errors. */
int cor_custom_check_object(struct cor_str definition, struct cor_str json,
                            struct cor_custom_report *report);

#endif
