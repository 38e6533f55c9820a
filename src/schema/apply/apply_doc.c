/* The objects of an update or an apply, in a list that the operation frees. A document that was
 * converted is checked against the type of its version, since the caller's conversion promises
 * nothing. Failures: no memory, a version that is not known, an object that is none of its type.
 * Thread: one at a time for a request. */
#include "schema/apply/apply_doc.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define TEXT_MAX   (64u << 20) /* of one document; bodies are smaller by far */
#define STEP_BYTES 4           /* of a document that is read, checked and gone over, in a step */

static void doc_free(struct cor_apply_doc *doc)
{
    cor_json_nodes_deinit(&doc->json);
    cor_buf_deinit(&doc->own);
    cor_free(doc);
}

void cor_apply_op_deinit(struct cor_apply_op *op)
{
    struct cor_apply_doc *doc = op->docs, *next;

    for (; doc; doc = next) {
        next = doc->next;
        doc_free(doc);
    }
}

void cor_apply_doc_drop(struct cor_apply_op *op, struct cor_apply_doc *doc)
{
    struct cor_apply_doc **at = &op->docs;

    while (*at != doc)
        at = &(*at)->next;
    *at = doc->next;
    doc_free(doc);
}

void cor_apply_doc_unread(struct cor_apply_doc *doc)
{
    cor_json_nodes_deinit(&doc->json);
    cor_json_nodes_init(&doc->json, COR_STR("null"));
}

struct cor_apply_doc *cor_apply_doc_new(struct cor_apply_op *op, struct cor_str version)
{
    struct cor_apply_doc *doc = cor_alloc(sizeof(*doc));

    if (!doc)
        return NULL;
    /* The nodes are most of the struct, and are not cleared. */
    cor_buf_init(&doc->own, TEXT_MAX);
    doc->text = COR_STR("");
    doc->version = version;
    doc->place = (struct cor_apply_place){0};
    cor_json_nodes_init(&doc->json, COR_STR("null"));
    doc->next = op->docs;
    op->docs = doc;
    return doc;
}

int cor_apply_doc_read(struct cor_apply_op *op, struct cor_apply_doc *doc, struct cor_str text)
{
    const struct cor_apply_versions *versions = op->request->versions;

    doc->text = text;
    if (!versions->place(versions->arg, doc->version, &doc->place))
        return -COR_ENOTFOUND;
    cor_arena_charge(op->arena, text.n / STEP_BYTES);
    if (op->arena->error < 0)
        return op->arena->error;
    return cor_json_nodes_init(&doc->json, text);
}

int cor_apply_doc_open(struct cor_apply_op *op, struct cor_str text, struct cor_str version,
                       struct cor_apply_doc **ret_doc)
{
    *ret_doc = cor_apply_doc_new(op, version);
    return *ret_doc ? cor_apply_doc_read(op, *ret_doc, text) : -COR_ENOMEM;
}

int cor_apply_doc_check(const struct cor_apply_doc *doc, bool allow_duplicates,
                        struct cor_buf *words)
{
    return cor_typed_check(cor_apply_doc_typed(doc), allow_duplicates, words);
}

/* Checks a document that was converted. `what` says what of the operation fails with it; the
 * version is added to a text that ends in a space. */
static int doc_check_converted(struct cor_apply_op *op, const struct cor_apply_doc *doc,
                               const char *what)
{
    struct cor_buf *words = op->words;
    size_t begin = words ? words->n : 0;
    int r = 0;

    if (words && *what) {
        r = cor_buf_addz(words, what);
        if (r == 0 && what[strlen(what) - 1] == ' ')
            r = cor_buf_adds(words, doc->version);
        if (r == 0)
            r = cor_buf_addz(words, ": ");
    }
    /* Upstream allows items with repeated keys only in the version of the request. */
    if (r == 0)
        r = cor_apply_doc_check(doc, false, words);
    if (r == 0 && words)
        cor_buf_truncate(words, begin);
    return r;
}

int cor_apply_doc_convert(struct cor_apply_op *op, struct cor_apply_doc *doc,
                          struct cor_str version, const char *what, struct cor_apply_doc **ret_doc)
{
    const struct cor_apply_versions *versions = op->request->versions;
    struct cor_apply_place place;
    struct cor_apply_doc *other;
    int r;

    *ret_doc = doc;
    if (cor_str_eq(doc->version, version))
        return 0;
    if (!versions->place(versions->arg, version, &place))
        return -COR_ENOTFOUND;
    other = cor_apply_doc_new(op, version);
    if (!other)
        return -COR_ENOMEM;
    r = versions->convert(versions->arg, doc->text, doc->version, version, &other->own);
    if (r < 0)
        return r;
    *ret_doc = other;
    r = cor_apply_doc_read(op, other, cor_buf_str(&other->own));
    return r < 0 ? r : doc_check_converted(op, other, what);
}

int cor_apply_doc_without(struct cor_apply_op *op, const struct cor_apply_doc *doc,
                          struct cor_fieldset set, struct cor_apply_doc **ret_doc)
{
    struct cor_apply_doc *other = cor_apply_doc_new(op, doc->version);
    int r;

    if (!other)
        return -COR_ENOMEM;
    r = cor_typed_remove(cor_apply_doc_typed(doc), set, op->arena, &other->own);
    if (r < 0)
        return r;
    *ret_doc = other;
    return cor_apply_doc_read(op, other, cor_buf_str(&other->own));
}
