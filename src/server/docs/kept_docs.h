/* Documents that were made once and are likely to be asked for again (OpenAPI): all loops share
 * them. They have a byte budget of their own; when it is full, the least recently used documents
 * leave, and a document that nobody used for COR_KEPT_UNUSED_MS leaves, too, so that a server whose
 * clients ask once does not keep megabytes. A key names the content: what is kept never goes stale.
 * Thread: any, except what has a cor_kept_docs_loop, which is its loop's.  Owner: the API. */
#ifndef COR_SERVER_KEPT_DOCS_H
#define COR_SERVER_KEPT_DOCS_H

#include "base/buf.h"
#include "base/lock.h"
#include "base/lru.h"
#include "base/ref.h"
#include "loop/timer.h"

#define COR_KEPT_UNUSED_MS 30000
/* How often each loop that has added a document looks for unused ones, while any is kept. */
#define COR_KEPT_SWEEP_MS 10000
/* The longest key. */
#define COR_KEPT_KEY_MAX 512

/* A document, immutable. */
struct cor_kept_doc {
    struct cor_ref ref;       /* the documents have one, and everybody who reads it */
    struct cor_lru_link link; /* under the lock */
    uint64_t used_ms;         /* under the lock */
    size_t n;
    char key[COR_KEPT_KEY_MAX];
    char bytes[];
};

struct cor_kept_docs {
    struct cor_lock lock; /* a leaf */
    struct cor_lru docs;
    size_t bytes;
};

/* A loop's part. */
struct cor_kept_docs_loop {
    struct cor_kept_docs *docs;
    struct cor_timer timer; /* set while documents are kept that this loop has added */
};

/* Cannot fail. */
void cor_kept_docs_init(struct cor_kept_docs *docs);
/* No loop's part is in use any more. */
void cor_kept_docs_deinit(struct cor_kept_docs *docs);

void cor_kept_docs_loop_init(struct cor_kept_docs_loop *part, struct cor_kept_docs *docs,
                             struct cor_loop *loop);
/* Nothing is added by this loop after this. Harmless when called twice; safe on a zeroed struct. */
void cor_kept_docs_loop_deinit(struct cor_kept_docs_loop *part);

/* The document of this key that is kept, a new reference; NULL: there is none. */
struct cor_kept_doc *cor_kept_docs_find(struct cor_kept_docs_loop *part, struct cor_str key);

/* Appends the document. 0, or an error, which cor_kept_doc_make() returns. */
typedef int (*cor_kept_make)(const void *arg, struct cor_buf *out);

/* Makes the document of this key, which nobody else has yet. On any thread. 0, -COR_ENOMEM, or what
 * `make` returns. */
int cor_kept_doc_make(struct cor_str key, cor_kept_make make, const void *arg,
                      struct cor_kept_doc **ret_doc);

/* Keeps a document that was made, if there is room for it and no other of its key is kept. The
 * caller's reference stays the caller's. */
void cor_kept_docs_keep(struct cor_kept_docs_loop *part, struct cor_kept_doc *doc);

static inline struct cor_kept_doc *cor_kept_doc_ref(struct cor_kept_doc *doc)
{
    cor_ref_get(&doc->ref);
    return doc;
}
struct cor_kept_doc *cor_kept_doc_unref(struct cor_kept_doc *doc); /* NULL; NULL is fine */

static inline struct cor_str cor_kept_doc_bytes(const struct cor_kept_doc *doc)
{
    return cor_str(doc->bytes, doc->n);
}

/* Drops documents that were last used before `before_ms`. */
void cor_kept_docs_drop_unused(struct cor_kept_docs *docs, uint64_t before_ms);

/* What is kept now, in bytes. */
size_t cor_kept_docs_bytes(struct cor_kept_docs *docs);

#endif
