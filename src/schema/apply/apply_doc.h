/* The objects that an update or an apply works on: those that the caller has, and those that are
 * made on the way (merged, pruned, converted). They are freed with the operation, or when nothing
 * borrows from them any more: an operation goes through all versions of a definition, and each of
 * them is a copy of the object. Owner: the operation.  Thread: one at a time for a request. */
#ifndef COR_SCHEMA_APPLY_DOC_H
#define COR_SCHEMA_APPLY_DOC_H

#include "schema/apply/field_managers.h"

/* An object in one version. */
struct cor_apply_doc {
    struct cor_apply_doc *next;
    struct cor_buf own;  /* the text, when the operation has made it */
    struct cor_str text; /* in `own`, or the caller's */
    struct cor_str version;
    struct cor_apply_place place;
    struct cor_json_nodes json;
};

struct cor_apply_op {
    const struct cor_apply_request *request;
    struct cor_arena *arena;
    struct cor_buf *words; /* of an apply: why it fails; else NULL */
    struct cor_apply_doc *docs;
};

static inline struct cor_typed cor_apply_doc_typed(const struct cor_apply_doc *doc)
{
    return (struct cor_typed){&doc->place, &doc->json};
}

void cor_apply_op_deinit(struct cor_apply_op *op);

/* Frees a document before the operation ends. No set may borrow from its text. */
void cor_apply_doc_drop(struct cor_apply_op *op, struct cor_apply_doc *doc);
/* Frees what was read of a document, and keeps its text, from which sets borrow. */
void cor_apply_doc_unread(struct cor_apply_doc *doc);

/* A document without a text; NULL: no memory is left. */
struct cor_apply_doc *cor_apply_doc_new(struct cor_apply_op *op, struct cor_str version);

/* Reads the text of a document. 0, -COR_ENOTFOUND (its version is not known), -COR_ENOMEM; what the
 * arena failed with. */
int cor_apply_doc_read(struct cor_apply_op *op, struct cor_apply_doc *doc, struct cor_str text);

/* A document of the caller's text. Errors as above. */
int cor_apply_doc_open(struct cor_apply_op *op, struct cor_str text, struct cor_str version,
                       struct cor_apply_doc **ret_doc);

/* Checks that the object conforms to its type (cor_typed_check()). `words` may be NULL. */
int cor_apply_doc_check(const struct cor_apply_doc *doc, bool allow_duplicates,
                        struct cor_buf *words);

/* The document in another version: itself, or a converted one. `what` names the part of the
 * operation that fails when the object does not conform to that version; the version is added to a
 * text that ends in a space. 0, -COR_ENOTFOUND (the version is not known), -COR_EINVALID, and what
 * convert() returns. */
int cor_apply_doc_convert(struct cor_apply_op *op, struct cor_apply_doc *doc,
                          struct cor_str version, const char *what, struct cor_apply_doc **ret_doc);

/* The document without a set of fields. Errors of cor_typed_remove(). */
int cor_apply_doc_without(struct cor_apply_op *op, const struct cor_apply_doc *doc,
                          struct cor_fieldset set, struct cor_apply_doc **ret_doc);

#endif
