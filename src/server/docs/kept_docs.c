/* clang-format off */
/* Kept documents: an LRU under one lock, because a handful of documents is asked for now and then.
 *
 *   cor_kept_docs_find ──► kept: a reference, and the document becomes the last used one
 *          │ not kept
 *          ▼
 *   cor_kept_doc_make    on any thread and without the lock: into a buffer, then into a block of its size
 *          ▼
 *   cor_kept_docs_keep ──► the least recently used documents leave until it fits
 *
 * Two loops may make the same document at the same time; the second one is dropped after its reader
 * has read it. A loop that adds a document sets its timer, which drops unused documents and is set
 * again while anything is kept. Without memory for the timer, unused documents stay until the next
 * document is added.
 *
 * Failures: no memory, or what the maker returns; a document that does not fit is not kept, and its
 * reader has the only reference. */
/* clang-format on */
#include "server/docs/kept_docs.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "loop/loop.h"

#define MAKE_BYTES_MAX (64u << 20)
/* The bytes are the maximum that counts; so many documents never fit into them. */
#define DOCS_MAX 65536

struct cor_kept_doc *cor_kept_doc_unref(struct cor_kept_doc *doc)
{
    if (doc && cor_ref_put(&doc->ref))
        cor_free(doc);
    return NULL;
}

static void doc_drop(struct cor_lru_link *take)
{
    cor_kept_doc_unref(COR_CONTAINER_OF(take, struct cor_kept_doc, link));
}

static size_t doc_cost(const struct cor_kept_doc *doc)
{
    return sizeof(*doc) + doc->n;
}

void cor_kept_docs_init(struct cor_kept_docs *docs)
{
    *docs = (struct cor_kept_docs){0};
    cor_lock_init(&docs->lock, COR_LOCK_KEPT_DOCS);
    cor_lru_init(&docs->docs, DOCS_MAX, doc_drop);
}

void cor_kept_docs_deinit(struct cor_kept_docs *docs)
{
    cor_lru_deinit(&docs->docs);
    cor_lock_deinit(&docs->lock);
}

/* The least recently used document; NULL: there is none. Under the lock. */
static struct cor_kept_doc *docs_oldest(const struct cor_kept_docs *docs)
{
    if (cor_dlist_empty(&docs->docs.order))
        return NULL;
    return COR_CONTAINER_OF(docs->docs.order.next, struct cor_kept_doc, link.link);
}

/* Under the lock. */
static void docs_drop(struct cor_kept_docs *docs, struct cor_kept_doc *doc)
{
    assert(docs->bytes >= doc_cost(doc));
    docs->bytes -= doc_cost(doc);
    cor_lru_drop(&docs->docs, &doc->link);
}

void cor_kept_docs_drop_unused(struct cor_kept_docs *docs, uint64_t before_ms)
{
    struct cor_kept_doc *oldest;

    cor_lock_acquire(&docs->lock);
    while ((oldest = docs_oldest(docs)) && oldest->used_ms < before_ms)
        docs_drop(docs, oldest);
    cor_lock_release(&docs->lock);
}

size_t cor_kept_docs_bytes(struct cor_kept_docs *docs)
{
    return COR_LOCKED(&docs->lock, docs->bytes);
}

/* Keeps the document, which gets one more reference, unless it is too large, another loop has added
 * the same one, or there is no memory. True: it is kept. */
static bool docs_add(struct cor_kept_docs *docs, struct cor_kept_doc *doc)
{
    bool is_added = false;

    if (doc_cost(doc) > COR_KEPT_DOCS_BYTES_MAX)
        return false;
    cor_lock_acquire(&docs->lock);
    if (!cor_lru_use(&docs->docs, doc->link.key)) {
        while (docs->bytes + doc_cost(doc) > COR_KEPT_DOCS_BYTES_MAX)
            docs_drop(docs, docs_oldest(docs));
        if (cor_lru_add(&docs->docs, &doc->link) == 0) {
            cor_ref_get(&doc->ref);
            docs->bytes += doc_cost(doc);
            is_added = true;
        }
    }
    cor_lock_release(&docs->lock);
    return is_added;
}

int cor_kept_doc_make(struct cor_str key, cor_kept_make make, const void *arg,
                      struct cor_kept_doc **ret_doc)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};
    struct cor_kept_doc *doc;
    int r;

    assert(key.n > 0 && key.n <= COR_KEPT_KEY_MAX);
    cor_buf_init(&out, MAKE_BYTES_MAX);
    r = make(arg, &out);
    if (r < 0)
        return r;
    doc = cor_alloc(sizeof(*doc) + cor_buf_str(&out).n);
    if (!doc)
        return -COR_ENOMEM;
    cor_ref_init(&doc->ref);
    doc->n = cor_buf_str(&out).n;
    memcpy(doc->bytes, cor_buf_str(&out).p, doc->n);
    memcpy(doc->key, key.p, key.n);
    doc->link = (struct cor_lru_link){.key = cor_str(doc->key, key.n)};
    *ret_doc = doc;
    return 0;
}

struct cor_kept_doc *cor_kept_docs_find(struct cor_kept_docs_loop *part, struct cor_str key)
{
    struct cor_kept_docs *docs = part->docs;
    struct cor_kept_doc *doc = NULL;
    struct cor_lru_link *link;

    assert(cor_loop_is_current(part->timer.loop));
    cor_lock_acquire(&docs->lock);
    link = cor_lru_use(&docs->docs, key);
    if (link) {
        doc = cor_kept_doc_ref(COR_CONTAINER_OF(link, struct cor_kept_doc, link));
        doc->used_ms = cor_loop_now_ms(part->timer.loop);
    }
    cor_lock_release(&docs->lock);
    return doc;
}

void cor_kept_docs_keep(struct cor_kept_docs_loop *part, struct cor_kept_doc *doc)
{
    assert(cor_loop_is_current(part->timer.loop));
    doc->used_ms = cor_loop_now_ms(part->timer.loop);
    if (docs_add(part->docs, doc) && !cor_timer_is_set(&part->timer))
        (void)cor_timer_set(&part->timer, COR_KEPT_SWEEP_MS);
}

static void docs_on_timer(struct cor_timer *timer)
{
    struct cor_kept_docs_loop *part = COR_CONTAINER_OF(timer, struct cor_kept_docs_loop, timer);
    uint64_t now_ms = cor_loop_now_ms(timer->loop);

    cor_kept_docs_drop_unused(part->docs,
                              now_ms > COR_KEPT_UNUSED_MS ? now_ms - COR_KEPT_UNUSED_MS : 0);
    if (cor_kept_docs_bytes(part->docs) > 0)
        (void)cor_timer_set(timer, COR_KEPT_SWEEP_MS);
}

void cor_kept_docs_loop_init(struct cor_kept_docs_loop *part, struct cor_kept_docs *docs,
                             struct cor_loop *loop)
{
    part->docs = docs;
    cor_timer_init(&part->timer, loop, docs_on_timer);
}

void cor_kept_docs_loop_deinit(struct cor_kept_docs_loop *part)
{
    if (part->docs)
        cor_timer_cancel(&part->timer);
}
