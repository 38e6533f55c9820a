/* clang-format off */
/* Page after page of a list, given item by item (each) or gathered (list).
 *
 *   pager_ask() ──► dynamic list ──► on_item(): into the page `filling`
 *                               └─► on_page_done() ──► pager_take_page(): into `pages`
 *   pager_go_on(): fetch the next page while there is room
 *        each: give items until the taker pauses, ends, or none is left; then on_done
 *        list: when all pages have arrived, give them as one list
 *
 * When a page fails:
 * - it has expired (410), and the list is gathered: all is asked for again in one answer, once;
 * - any other failure ends the pager; `each` first gives the items that have arrived.
 * A taker that pauses resumes through a timer that is always set, so that this cannot fail. A pager
 * that is cancelled inside on_item is freed when on_item has returned (is_busy, is_cancelled).
 * Thread: the REST client's loop. */
/* clang-format on */
#include "kit/dynamic/pager.h"

#include <string.h>

#include "base/array.h"
#include "base/dlist.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/timer.h"
#include "meta/select/page_walk.h"

#define RV_MAX 128
#define NEVER  UINT64_MAX

struct page {
    struct cor_dlist link;
    struct cor_object **objects;
    size_t n, cap;
    size_t next; /* to be given */
};

struct cor_pager {
    struct cor_pager_opts opts; /* the strings are in `text` */
    char *text;
    void (*on_list)(void *arg, const struct cor_paged_list *list, const struct cor_status *error);
    const struct cor_pager_each_cbs *each; /* NULL: gather */
    void *arg;
    unsigned prefetch;
    uint64_t end_ms; /* as cor_rest_client_end_ms() has it */

    struct cor_dynamic_request *req;
    struct page *filling; /* by req */
    struct cor_dlist pages;
    size_t npages, nobjects;
    struct cor_buf rv;
    struct cor_page_walk walk;
    struct cor_timer soon; /* always set, so that moving it cannot fail */
    struct cor_status why;
    bool is_paged, is_full; /* continued; the fallback is under way */
    bool is_complete;       /* nothing more is asked for: all is there, or `why` says why not */
    bool is_paused, is_busy, is_cancelled;
};

static struct page *page_of(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct page, link);
}

static struct page *page_free(struct page *page)
{
    if (!page)
        return NULL;
    for (size_t i = page->next; i < page->n; i++)
        cor_object_unref(page->objects[i]);
    cor_free(page->objects);
    return cor_free(page);
}

static void pager_drop_pages(struct cor_pager *p)
{
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(&p->pages)))
        page_free(page_of(link));
    p->filling = page_free(p->filling);
    p->npages = p->nobjects = 0;
}

static void pager_free(struct cor_pager *p)
{
    cor_timer_cancel(&p->soon);
    pager_drop_pages(p);
    cor_buf_deinit(&p->rv);
    cor_page_walk_deinit(&p->walk);
    cor_status_deinit(&p->why);
    cor_free(p->text);
    cor_free(p);
}

const char *cor_pager_failure(const struct cor_pager *p)
{
    return p->req ? cor_dynamic_failure(p->req) : "";
}

void cor_pager_cancel(struct cor_pager *p)
{
    struct cor_dynamic_request *req = COR_STEAL(p->req);

    p->is_cancelled = true;
    if (req)
        cor_dynamic_cancel(req);
    if (!p->is_busy)
        pager_free(p);
}

static void pager_fail(struct cor_pager *p, const struct cor_status *error)
{
    p->is_complete = true;
    cor_status_copy(&p->why, error);
}

static int on_item(void *arg, struct cor_object *object)
{
    struct cor_pager *p = arg;
    struct page *page = p->filling;

    if (p->nobjects == COR_PAGER_OBJECTS_MAX)
        return -COR_ETOOBIG;
    if (COR_ARRAY_RESERVE(&page->objects, page->n, &page->cap, COR_ARRAY_NO_MAX) < 0)
        return -COR_ENOMEM;
    page->objects[page->n++] = cor_object_ref(object);
    p->nobjects++;
    return 0;
}

static void pager_go_on(struct cor_pager *p);
static int pager_ask(struct cor_pager *p, struct cor_status *reterr);

/* The list has the revision of its first page; the last page has an empty token. */
static void pager_take_page(struct cor_pager *p, const struct cor_response *page)
{
    int r = p->rv.n == 0 ? cor_buf_adds(&p->rv, page->resource_version) : 0;

    cor_dlist_push(&p->pages, &p->filling->link);
    p->npages++;
    p->filling = NULL;
    p->is_complete = r < 0 || page->continue_token.n == 0 || p->is_full;
    if (r < 0)
        cor_status_set(&p->why, r, "%s", cor_err_text(r));
    else if (!p->is_complete)
        p->is_complete =
            cor_status_received(&p->why,
                                cor_page_walk_next(&p->walk, page->continue_token, &p->why)) < 0;
}

/* Has a list that is gathered expired after its first page? */
static bool pager_wants_full_list(const struct cor_pager *p, const struct cor_status *error)
{
    return !p->each && p->is_paged && !p->is_full && strcmp(error->reason, "Expired") == 0;
}

static void pager_begin_full_list(struct cor_pager *p)
{
    pager_drop_pages(p);
    cor_buf_reset(&p->rv);
    cor_page_walk_reset(&p->walk);
    p->is_full = true;
}

static void on_page_done(void *arg, const struct cor_response *page)
{
    struct cor_pager *p = arg;

    p->req = NULL;
    if (!page->error)
        pager_take_page(p, page);
    else if (pager_wants_full_list(p, page->error))
        pager_begin_full_list(p);
    else
        pager_fail(p, page->error);
    pager_go_on(p);
}

static int pager_ask(struct cor_pager *p, struct cor_status *reterr)
{
    static const struct cor_dynamic_cbs cbs = {.on_item = on_item, .on_done = on_page_done};
    struct cor_dynamic_call call = {.client = p->opts.client, .cbs = &cbs, .arg = p};
    struct cor_api_operation op = p->opts.op;
    struct cor_list_options *list = &op.query.list;
    int r = cor_rest_client_left_ms(call.client, p->end_ms, &call.timeout_ms);

    if (r < 0)
        return cor_status_set(reterr, r, "the deadline of the list has passed");
    call.deadline_ms = call.timeout_ms;
    p->filling = page_free(p->filling);
    p->filling = cor_calloc(1, sizeof(*p->filling));
    if (!p->filling)
        return cor_status_set(reterr, -COR_ENOMEM, "no memory for a page");
    if (p->is_full) {
        list->limit = 0;
        list->continue_token = COR_STR("");
    }
    if (p->walk.token.n > 0) {
        p->is_paged = true;
        list->continue_token = cor_buf_str(&p->walk.token);
        list->resource_version = list->resource_version_match = COR_STR("");
    }
    return cor_dynamic_send(&call, &op, &p->req, reterr);
}

/* Is there room for the page that is being taken, the one after it, and those fetched ahead? */
static bool pager_has_room(const struct cor_pager *p)
{
    return !p->each || p->npages < (size_t)p->prefetch + 2;
}

static void pager_fetch(struct cor_pager *p)
{
    struct cor_status why = {0};

    if (p->req || p->is_complete || !pager_has_room(p))
        return;
    if (pager_ask(p, &why) < 0)
        pager_fail(p, &why);
    cor_status_deinit(&why);
}

/* Gives items until the taker pauses, returns an error (which is returned), or no item is left. */
static int pager_give_items(struct cor_pager *p)
{
    int r = 0;

    while (r == 0 && !p->is_paused && !p->is_cancelled && !cor_dlist_empty(&p->pages)) {
        struct page *page = page_of(p->pages.next);

        if (page->next == page->n) {
            cor_dlist_remove(&page->link);
            page_free(page);
            p->npages--;
            pager_fetch(p);
            continue;
        }
        COR_CLEANUP(cor_object_unrefp) struct cor_object *object = page->objects[page->next++];

        p->nobjects--;
        r = p->each->on_item(p->arg, object);
        if (r > 0)
            p->is_paused = true;
        r = r > 0 ? 0 : r;
    }
    return r;
}

static void pager_end_each(struct cor_pager *p)
{
    p->each->on_done(p->arg, cor_buf_str(&p->rv), p->why.err < 0 ? &p->why : NULL);
    pager_free(p);
}

static void pager_give(struct cor_pager *p)
{
    int r;

    p->is_busy = true;
    r = pager_give_items(p);
    p->is_busy = false;
    if (p->is_cancelled) {
        pager_free(p);
        return;
    }
    if (r < 0) {
        if (p->req)
            cor_dynamic_cancel(COR_STEAL(p->req));
        cor_status_set(&p->why, r, "%s", cor_err_text(r));
        pager_end_each(p);
    } else if (p->is_complete && cor_dlist_empty(&p->pages)) {
        pager_end_each(p);
    }
}

static void pager_end_list(struct cor_pager *p)
{
    struct cor_paged_list list = {
        .n = p->nobjects, .resource_version = cor_buf_str(&p->rv), .is_paged = p->is_paged};
    COR_CLEANUP(cor_freep) struct cor_object **objects = NULL;
    size_t n = 0;

    if (p->why.err == 0) {
        objects = cor_alloc(list.n * sizeof(objects[0]));
        if (!objects)
            cor_status_set(&p->why, -COR_ENOMEM, "no memory for a list");
    }
    if (objects)
        COR_DLIST_FOREACH(link, &p->pages) {
            struct page *page = page_of(link);

            if (page->n > 0)
                memcpy(objects + n, page->objects, page->n * sizeof(objects[0]));
            n += page->n;
        }
    list.objects = objects;
    p->on_list(p->arg, objects ? &list : NULL, objects ? NULL : &p->why);
    pager_free(p);
}

static void pager_go_on(struct cor_pager *p)
{
    pager_fetch(p);
    if (p->each)
        pager_give(p);
    else if (p->is_complete)
        pager_end_list(p);
}

static void on_soon(struct cor_timer *timer)
{
    struct cor_pager *p = COR_CONTAINER_OF(timer, struct cor_pager, soon);

    cor_timer_set(&p->soon, NEVER);
    pager_go_on(p);
}

void cor_pager_resume(struct cor_pager *p)
{
    p->is_paused = false;
    cor_timer_set(&p->soon, 0);
}

static int copy_strings(struct cor_pager *p)
{
    struct cor_api_operation *op = &p->opts.op;
    struct cor_str *strings[] = {
        &op->at.gvr.group,
        &op->at.gvr.version,
        &op->at.gvr.resource,
        &op->at.ns,
        &op->query.label_selector,
        &op->query.field_selector,
        &op->query.list.resource_version,
        &op->query.list.resource_version_match,
        &op->query.list.continue_token,
    };

    return cor_str_gather(strings, COR_ARRAY_LEN(strings), &p->text);
}

static int pager_open(struct cor_pager *take_pager, const struct cor_pager_opts *opts,
                      struct cor_pager **ret_pager, struct cor_status *reterr)
{
    struct cor_pager *p = take_pager;
    int r;

    if (!p)
        return cor_status_set(reterr, -COR_ENOMEM, "no memory for a list");
    p->opts = *opts;
    p->end_ms = cor_rest_client_end_ms(opts->client, opts->timeout_ms);
    if (p->opts.op.query.list.limit == 0)
        p->opts.op.query.list.limit = COR_PAGE_SIZE;
    cor_dlist_init(&p->pages);
    cor_buf_init(&p->rv, RV_MAX);
    cor_page_walk_init(&p->walk);
    cor_timer_init(&p->soon, cor_rest_client_loop(opts->client), on_soon);
    r = copy_strings(p);
    if (r == 0)
        r = cor_timer_set(&p->soon, NEVER);
    if (r < 0)
        cor_status_set(reterr, r, "no memory for a list");
    else
        r = pager_ask(p, reterr);
    if (r < 0) {
        pager_free(p);
        return r;
    }
    *ret_pager = p;
    return 0;
}

int cor_pager_list(const struct cor_pager_opts *opts,
                   void (*on_done)(void *arg, const struct cor_paged_list *list,
                                   const struct cor_status *error),
                   void *arg, struct cor_pager **ret_pager, struct cor_status *reterr)
{
    struct cor_pager *p = cor_calloc(1, sizeof(*p));

    if (p) {
        p->on_list = on_done;
        p->arg = arg;
    }
    return pager_open(p, opts, ret_pager, reterr);
}

int cor_pager_each(const struct cor_pager_opts *opts, unsigned prefetch,
                   const struct cor_pager_each_cbs *cbs, void *arg, struct cor_pager **ret_pager,
                   struct cor_status *reterr)
{
    struct cor_pager *p = cor_calloc(1, sizeof(*p));

    if (p) {
        p->each = cbs;
        p->prefetch = prefetch;
        p->arg = arg;
    }
    return pager_open(p, opts, ret_pager, reterr);
}
