/* Kept documents: what is made once, what leaves, and what a failure leaves behind. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "loop/loop.h"
#include "server/docs/kept_docs.h"
#include "test.h"

struct maker {
    size_t n;   /* bytes to make */
    int r;      /* what to return */
    int ncalls; /* so often it was called */
};

static int maker_make(const void *arg, struct cor_buf *out)
{
    struct maker *maker = (struct maker *)(uintptr_t)arg;
    int r = cor_buf_reserve(out, maker->n);

    maker->ncalls++;
    if (r < 0 || maker->r < 0)
        return r < 0 ? r : maker->r;
    for (size_t i = 0; i < maker->n; i++)
        (void)cor_buf_addc(out, 'x');
    return 0;
}

struct fixture {
    struct cor_loop *loop;
    struct cor_kept_docs docs;
    struct cor_kept_docs_loop part;
};

static void setup(struct fixture *fx)
{
    assert_int_equal(cor_loop_new(16, &fx->loop), 0);
    cor_kept_docs_init(&fx->docs);
    cor_kept_docs_loop_init(&fx->part, &fx->docs, fx->loop);
}

static void teardown(struct fixture *fx)
{
    cor_kept_docs_loop_deinit(&fx->part);
    cor_kept_docs_deinit(&fx->docs);
    cor_loop_free(fx->loop);
}

/* The document that is kept, or one that is made now and kept. */
static int docs_get(struct cor_kept_docs_loop *part, struct cor_str key, cor_kept_make make,
                    const void *arg, struct cor_kept_doc **ret_doc)
{
    int r = 0;

    *ret_doc = cor_kept_docs_find(part, key);
    if (!*ret_doc) {
        r = cor_kept_doc_make(key, make, arg, ret_doc);
        if (r == 0)
            cor_kept_docs_keep(part, *ret_doc);
    }
    return r;
}

/* Asks for a document and gives it back at once. */
static void ask(struct fixture *fx, const char *key, struct maker *maker)
{
    struct cor_kept_doc *doc = NULL;

    assert_int_equal(docs_get(&fx->part, cor_strz(key), maker_make, maker, &doc), 0);
    assert_int_equal(cor_kept_doc_bytes(doc).n, maker->n);
    cor_kept_doc_unref(doc);
}

TEST(kept_docs, makes_a_document_once)
{
    struct maker maker = {.n = 1000};
    struct fixture fx;

    setup(&fx);
    ask(&fx, "a", &maker);
    ask(&fx, "a", &maker);
    assert_int_equal(maker.ncalls, 1);
    ask(&fx, "b", &maker);
    assert_int_equal(maker.ncalls, 2);
    assert_true(cor_timer_is_set(&fx.part.timer));
    teardown(&fx);
}

TEST(kept_docs, drops_the_least_recently_used_when_the_budget_is_full)
{
    struct maker maker = {.n = COR_KEPT_DOCS_BYTES_MAX / 3};
    struct fixture fx;

    setup(&fx);
    ask(&fx, "a", &maker);
    ask(&fx, "b", &maker);
    ask(&fx, "a", &maker);
    ask(&fx, "c", &maker);
    assert_int_equal(maker.ncalls, 3);
    assert_true(cor_kept_docs_bytes(&fx.docs) <= COR_KEPT_DOCS_BYTES_MAX);
    ask(&fx, "a", &maker);
    assert_int_equal(maker.ncalls, 3);
    ask(&fx, "b", &maker);
    assert_int_equal(maker.ncalls, 4);
    teardown(&fx);
}

/* The timer is set while something is kept, and drops what nobody has used for half a minute. */
TEST(kept_docs, drops_what_is_not_used)
{
    struct maker maker = {.n = 100};
    struct cor_kept_doc *doc;
    struct fixture fx;

    setup(&fx);
    assert_int_equal(docs_get(&fx.part, COR_STR("a"), maker_make, &maker, &doc), 0);
    cor_timer_cancel(&fx.part.timer);
    fx.part.timer.on_timer(&fx.part.timer);
    assert_true(cor_timer_is_set(&fx.part.timer));
    assert_true(cor_kept_docs_bytes(&fx.docs) > 0);

    /* As if it had been used long ago. */
    doc->used_ms = 0;
    cor_kept_doc_unref(doc);
    cor_timer_cancel(&fx.part.timer);
    cor_kept_docs_drop_unused(&fx.docs, 1);
    assert_int_equal(cor_kept_docs_bytes(&fx.docs), 0);
    fx.part.timer.on_timer(&fx.part.timer);
    assert_false(cor_timer_is_set(&fx.part.timer));
    teardown(&fx);
}

TEST(kept_docs, a_document_that_is_read_stays_when_it_is_dropped)
{
    struct maker maker = {.n = 64};
    struct cor_kept_doc *doc;
    struct fixture fx;

    setup(&fx);
    assert_int_equal(docs_get(&fx.part, COR_STR("a"), maker_make, &maker, &doc), 0);
    cor_kept_docs_drop_unused(&fx.docs, UINT64_MAX);
    assert_int_equal(cor_kept_docs_bytes(&fx.docs), 0);
    assert_true(cor_ref_is_sole(&doc->ref));
    assert_int_equal(cor_kept_doc_bytes(doc).p[63], 'x');
    cor_kept_doc_unref(doc);
    ask(&fx, "a", &maker);
    assert_int_equal(maker.ncalls, 2);
    teardown(&fx);
}

TEST(kept_docs, a_document_larger_than_the_budget_is_for_its_reader_alone)
{
    struct maker maker = {.n = COR_KEPT_DOCS_BYTES_MAX};
    struct fixture fx;

    setup(&fx);
    ask(&fx, "a", &maker);
    assert_int_equal(cor_kept_docs_bytes(&fx.docs), 0);
    assert_false(cor_timer_is_set(&fx.part.timer));
    teardown(&fx);
}

TEST(kept_docs, a_document_that_cannot_be_made_is_not_kept)
{
    struct maker maker = {.n = 10, .r = -COR_ENOTFOUND};
    struct cor_kept_doc *doc = NULL;
    struct fixture fx;

    setup(&fx);
    assert_int_equal(docs_get(&fx.part, COR_STR("a"), maker_make, &maker, &doc), -COR_ENOTFOUND);
    assert_null(doc);
    maker.r = 0;
    ask(&fx, "a", &maker);
    assert_int_equal(maker.ncalls, 2);
    teardown(&fx);
}

TEST(kept_docs, is_whole_or_absent_without_memory)
{
    struct maker maker = {.n = 500};
    struct cor_kept_doc *doc;
    struct fixture fx;

    setup(&fx);
    FOR_EACH_FAILED_ALLOC(n) {
        int r = docs_get(&fx.part, COR_STR("a"), maker_make, &maker, &doc);

        if (r == 0) {
            assert_int_equal(cor_kept_doc_bytes(doc).n, 500);
            cor_kept_doc_unref(doc);
        } else {
            assert_int_equal(r, -COR_ENOMEM);
        }
        cor_kept_docs_drop_unused(&fx.docs, UINT64_MAX);
    }
    teardown(&fx);
}

#define KEYS 8

static int text_make(const void *arg, struct cor_buf *out)
{
    return cor_buf_addz(out, arg);
}

static void *ask_for_all(void *arg)
{
    struct cor_kept_docs *docs = arg;
    struct cor_kept_docs_loop part;
    struct cor_loop *loop;
    uintptr_t wrong = 0;

    if (cor_loop_new(16, &loop) < 0)
        return (void *)1;
    cor_kept_docs_loop_init(&part, docs, loop);
    for (size_t i = 0; i < 500; i++) {
        struct cor_kept_doc *doc = NULL;
        char key[16];

        snprintf(key, sizeof(key), "doc-%zu", i * 5 % KEYS);
        wrong |= docs_get(&part, cor_strz(key), text_make, key, &doc) != 0 ||
                 !cor_str_eqz(cor_kept_doc_bytes(doc), key);
        /* Documents leave while others read them. */
        if (i % 50 == 0)
            cor_kept_docs_drop_unused(docs, UINT64_MAX);
        cor_kept_doc_unref(doc);
    }
    cor_kept_docs_loop_deinit(&part);
    cor_loop_free(loop);
    return (void *)wrong;
}

TEST(kept_docs, are_shared_by_all_loops)
{
    struct maker maker = {.n = 1};
    pthread_t threads[3];
    struct fixture fx;

    setup(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_for_all, &fx.docs), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(threads); i++) {
        void *wrong;

        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    /* What one loop has added, another one finds. */
    ask(&fx, "mine", &maker);
    ask(&fx, "mine", &maker);
    assert_int_equal(maker.ncalls, 1);
    teardown(&fx);
}
