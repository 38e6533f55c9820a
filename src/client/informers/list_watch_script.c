/* A scripted collection: the present objects in an indexer, and the changes since the last
 * compaction in an array. A list is answered from the first, a watch with the changes after its
 * resourceVersion and then with each change as it is made. Each list-watch is one of the program's
 * functions (coracle/list_watch.h), so that nothing here knows the reflector.
 *
 * Failures: a change is stored before anybody is told. An answer for which there is no memory fails
 * its list or watch, which the reflector then tries again.
 * Thread: any; one lock guards everything. The answers are given under it, and take the
 * list-watch's lock. */
#include "coracle/list_watch_script.h"

#include <assert.h>
#include <stdio.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/dlist.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cache/store/indexer.h"
#include "cache/store/object_key.h"
#include "meta/select/label_selector.h"
#include "meta/status/status.h"

struct change {
    uint64_t rev;
    struct cor_object *old, *object; /* NULL: it was not, or is not there; a deletion has `old` at
                                        the deletion's resourceVersion */
};

struct cor_list_watch_script {
    struct cor_lock lock;
    struct cor_indexer *objects;
    struct change *changes;
    size_t nchanges, cap;
    uint64_t rev, compacted;
    struct cor_dlist watchers; /* list-watches with a watch that is open */
    int err;                   /* of the next `nfailing` requests */
    unsigned nfailing;
    uint64_t nlists, nwatches;
    size_t nlist_watches;
};

struct scripted {
    struct cor_list_watch_script *script;
    struct cor_dlist link; /* in watchers */
    struct cor_list_watch *lw;
    uint64_t id; /* of the watch */
    char *ns;
    struct cor_label_selector *selector;
};

int cor_list_watch_script_new(struct cor_list_watch_script **ret_script)
{
    struct cor_list_watch_script *s = cor_calloc(1, sizeof(*s));
    int r = s ? cor_indexer_new(NULL, 0, &s->objects) : -COR_ENOMEM;

    if (r < 0) {
        cor_free(s);
        return r;
    }
    s->rev = s->compacted = 1;
    cor_dlist_init(&s->watchers);
    cor_lock_init(&s->lock, COR_LOCK_LIST_WATCH_SCRIPT);
    *ret_script = s;
    return 0;
}

static void script_forget_locked(struct cor_list_watch_script *s)
{
    while (s->nchanges > 0) {
        s->nchanges--;
        cor_object_unref(s->changes[s->nchanges].old);
        cor_object_unref(s->changes[s->nchanges].object);
    }
    s->compacted = s->rev;
}

struct cor_list_watch_script *cor_list_watch_script_free(struct cor_list_watch_script *s)
{
    if (!s)
        return NULL;
    assert(s->nlist_watches == 0);
    script_forget_locked(s);
    cor_free(s->changes);
    cor_indexer_free(s->objects);
    cor_lock_deinit(&s->lock);
    return cor_free(s);
}

static bool scripted_selects(const struct scripted *w, const struct cor_object *object)
{
    if (!object || (w->ns && !cor_str_eqz(cor_object_namespace(object), w->ns)))
        return false;
    return !w->selector || cor_label_selector_matches(w->selector, cor_object_labels(object));
}

/* A watch whose answer was refused for lack of memory or room is ended; it is opened again. */
static void scripted_lose(struct scripted *w)
{
    cor_dlist_remove(&w->link);
    cor_list_watch_failed(w->lw, w->id, -COR_ENOMEM, "an event was lost");
}

/* What a change is to a list-watch that selects some of the objects: one that leaves the selection
 * is deleted, as its last state that was selected, at the resourceVersion of the change. False: the
 * watch is over. */
static bool scripted_tell(struct scripted *w, const struct change *c)
{
    bool was = scripted_selects(w, c->old), is = scripted_selects(w, c->object);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *last = NULL;
    struct cor_watch_event event = {.type = was ? COR_WATCH_MODIFIED : COR_WATCH_ADDED,
                                    .object = c->object};
    int r = 0;

    if (!was && !is)
        return true;
    if (!is) {
        r = cor_object_at(c->old, c->rev, &last);
        event = (struct cor_watch_event){.type = COR_WATCH_DELETED, .object = last};
    }
    if (r == 0)
        r = cor_list_watch_event(w->lw, w->id, &event);
    if (r == -COR_ECANCELED)
        cor_dlist_remove(&w->link);
    else if (r < 0)
        scripted_lose(w);
    return r == 0;
}

static void script_change_locked(struct cor_list_watch_script *s, struct cor_object *take_old,
                                 struct cor_object *object)
{
    const struct change c = {
        .rev = s->rev, .old = take_old, .object = object ? cor_object_ref(object) : NULL};

    assert(s->nchanges < s->cap);
    s->changes[s->nchanges++] = c;
    for (struct cor_dlist *it = s->watchers.next, *next; it != &s->watchers; it = next) {
        next = it->next;
        scripted_tell(COR_CONTAINER_OF(it, struct scripted, link), &c);
    }
}

static int script_reserve_locked(struct cor_list_watch_script *s)
{
    int r = COR_ARRAY_RESERVE(&s->changes, s->nchanges, &s->cap, COR_LIST_WATCH_SCRIPT_CHANGES_MAX);

    return r == -COR_ETOOBIG ? -COR_EBUSY : r;
}

static int script_put_locked(struct cor_list_watch_script *s, struct cor_object *object)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *next = NULL;
    struct cor_object *old = NULL;
    int r = script_reserve_locked(s);

    if (r == 0)
        r = cor_object_at(object, s->rev + 1, &next);
    if (r == 0)
        r = cor_indexer_put(s->objects, next, &old);
    if (r < 0)
        return r;
    s->rev++;
    script_change_locked(s, old, next);
    return 0;
}

int cor_list_watch_script_put(struct cor_list_watch_script *s, struct cor_object *object)
{
    int r;

    assert(object);
    cor_lock_acquire(&s->lock);
    r = script_put_locked(s, object);
    cor_lock_release(&s->lock);
    return r;
}

static int script_remove_locked(struct cor_list_watch_script *s, struct cor_str key)
{
    struct cor_object *old = NULL;
    int r = script_reserve_locked(s);

    if (r == 0)
        r = cor_indexer_remove(s->objects, key, &old);
    if (r < 0)
        return r;
    if (!old)
        return -COR_ENOTFOUND;
    s->rev++;
    script_change_locked(s, old, NULL);
    return 0;
}

int cor_list_watch_script_remove(struct cor_list_watch_script *s, struct cor_str key)
{
    return COR_LOCKED(&s->lock, script_remove_locked(s, key));
}

void cor_list_watch_script_fail_next(struct cor_list_watch_script *s, int err, unsigned n)
{
    assert(err < 0);
    cor_lock_acquire(&s->lock);
    s->err = err;
    s->nfailing = n;
    cor_lock_release(&s->lock);
}

void cor_list_watch_script_end_watches(struct cor_list_watch_script *s, int err)
{
    struct cor_dlist *link;

    cor_lock_acquire(&s->lock);
    while ((link = cor_dlist_pop(&s->watchers))) {
        struct scripted *w = COR_CONTAINER_OF(link, struct scripted, link);
        struct cor_status status = {0};
        const struct cor_watch_event event = {.type = COR_WATCH_ERROR, .status = &status};

        if (err == 0) {
            cor_list_watch_ended(w->lw, w->id);
        } else {
            cor_status_set_err(&status, err);
            cor_list_watch_event(w->lw, w->id, &event);
            cor_status_deinit(&status);
        }
    }
    cor_lock_release(&s->lock);
}

void cor_list_watch_script_compact(struct cor_list_watch_script *s)
{
    cor_lock_acquire(&s->lock);
    script_forget_locked(s);
    cor_lock_release(&s->lock);
}

uint64_t cor_list_watch_script_lists(struct cor_list_watch_script *s)
{
    return COR_LOCKED(&s->lock, s->nlists);
}

uint64_t cor_list_watch_script_watches(struct cor_list_watch_script *s)
{
    return COR_LOCKED(&s->lock, s->nwatches);
}

/* True: the request is to fail, and has. */
static bool script_fails_locked(struct cor_list_watch_script *s, struct cor_list_watch *lw,
                                uint64_t id)
{
    if (s->nfailing == 0)
        return false;
    s->nfailing--;
    cor_list_watch_failed(lw, id, s->err, NULL);
    return true;
}

struct gathering {
    const struct scripted *w;
    struct cor_object **objects;
    size_t n;
};

static int script_gather(void *arg, struct cor_object *object)
{
    struct gathering *g = arg;

    if (scripted_selects(g->w, object))
        g->objects[g->n++] = object;
    return 0;
}

/* The lock keeps the objects that were gathered where they are. */
static int script_list_locked(const struct scripted *w, uint64_t id)
{
    struct cor_list_watch_script *s = w->script;
    struct gathering g = {.w = w};
    struct cor_list_watch_page page;
    char rv[24];
    int r, n = snprintf(rv, sizeof(rv), "%llu", (unsigned long long)s->rev);

    g.objects = cor_calloc(cor_indexer_len(s->objects) + 1, sizeof(g.objects[0]));
    r = g.objects ? cor_indexer_each(s->objects, COR_STR(""), NULL, script_gather, &g)
                  : -COR_ENOMEM;
    page = (struct cor_list_watch_page){.objects = g.objects,
                                        .n = g.n,
                                        .resource_version = cor_str(rv, (size_t)n),
                                        .continue_token = COR_STR("")};
    if (r == 0)
        r = cor_list_watch_page(w->lw, id, &page);
    cor_free(g.objects);
    return r;
}

static void scripted_on_list(void *arg, struct cor_list_watch *lw, uint64_t id,
                             const struct cor_informer_request *req)
{
    struct scripted *w = arg;
    struct cor_list_watch_script *s = w->script;
    int r;

    cor_lock_acquire(&s->lock);
    s->nlists++;
    w->lw = lw;
    if (!script_fails_locked(s, lw, id)) {
        r = script_list_locked(w, id);
        if (r < 0)
            cor_list_watch_failed(lw, id, r, NULL);
    }
    cor_lock_release(&s->lock);
}

static void scripted_watch_locked(struct scripted *w, uint64_t from)
{
    struct cor_list_watch_script *s = w->script;

    cor_dlist_push(&s->watchers, &w->link);
    if (cor_list_watch_opened(w->lw, w->id) < 0) {
        scripted_lose(w);
        return;
    }
    for (size_t i = 0; i < s->nchanges; i++)
        if (s->changes[i].rev > from && !scripted_tell(w, &s->changes[i]))
            return;
}

static void scripted_on_watch(void *arg, struct cor_list_watch *lw, uint64_t id,
                              const struct cor_informer_request *req)
{
    struct scripted *w = arg;
    struct cor_list_watch_script *s = w->script;
    uint64_t from = 0;
    bool is_number = cor_str_to_u64(req->resource_version, &from) == 0;

    cor_lock_acquire(&s->lock);
    s->nwatches++;
    cor_dlist_remove(&w->link);
    w->lw = lw;
    w->id = id;
    if (script_fails_locked(s, lw, id)) {
        /* It is answered. */
    } else if (req->send_initial_events) {
        cor_list_watch_failed(lw, id, -COR_EINVALID, "sendInitialEvents is not scripted");
    } else if (!is_number || from < s->compacted) {
        cor_list_watch_failed(lw, id, -COR_EEXPIRED, "too old resource version");
    } else {
        scripted_watch_locked(w, from);
    }
    cor_lock_release(&s->lock);
}

static void scripted_on_cancel(void *arg, struct cor_list_watch *lw, uint64_t id)
{
    struct scripted *w = arg;

    cor_lock_acquire(&w->script->lock);
    cor_dlist_remove(&w->link);
    cor_lock_release(&w->script->lock);
}

static void scripted_on_freed(void *arg)
{
    struct scripted *w = arg;

    cor_lock_acquire(&w->script->lock);
    cor_dlist_remove(&w->link);
    w->script->nlist_watches--;
    cor_lock_release(&w->script->lock);
    cor_label_selector_free(w->selector);
    cor_free(w->ns);
    cor_free(w);
}

int cor_list_watch_script_list_watch(struct cor_list_watch_script *s, const char *ns,
                                     const char *label_selector,
                                     struct cor_list_watch **ret_list_watch,
                                     struct cor_status *reterr)
{
    struct scripted *w = cor_calloc(1, sizeof(*w));
    struct cor_list_watch_opts opts = {COR_LIST_WATCH_OPTS,
                                       .list = scripted_on_list,
                                       .watch = scripted_on_watch,
                                       .cancel = scripted_on_cancel,
                                       .on_freed = scripted_on_freed,
                                       .arg = w,
                                       .label_selector = label_selector};
    int r = 0;

    if (!w)
        return cor_status_set(reterr, -COR_ENOMEM, "make a scripted list-watch");
    w->script = s;
    cor_dlist_init(&w->link);
    if (ns && *ns && !(w->ns = cor_strdup(ns)))
        r = cor_status_set(reterr, -COR_ENOMEM, "make a scripted list-watch");
    if (r == 0 && label_selector)
        r = cor_label_selector_parse(cor_strz(label_selector), &w->selector, reterr);
    if (r == 0) {
        r = cor_list_watch_new(&opts, ret_list_watch);
        if (r < 0)
            cor_status_set(reterr, r, "make a scripted list-watch");
    }
    cor_lock_acquire(&s->lock);
    s->nlist_watches++;
    cor_lock_release(&s->lock);
    if (r < 0)
        scripted_on_freed(w);
    return r;
}
