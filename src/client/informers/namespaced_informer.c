/* clang-format off */
/* Several informers of one resource, read and handled as one.
 *
 *   cor_namespaced_informer: names of namespaces, sorted ──► an informer of the set for each
 *   cor_namespaced_handler:  the program's functions ◄── a handler of each informer
 *
 * A handler is added to all informers or to none. The handlers are held until all are added; when one cannot be added, the others
 * are marked as dropped before they are released, so that none of them calls the program. A handler that asks for its own removal while
 * others are still held is removed by whoever adds it. The struct goes with the last of the handlers.
 * Thread: any; what the handlers call is called where the runtime calls handlers. */
/* clang-format on */
#include "coracle/namespaced_informer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "base/str.h"
#include "client/informers/informers_int.h"
#include "coracle/object_key.h"

struct member {
    char *ns;
    struct cor_informer *informer;
};

struct cor_namespaced_informer {
    size_t n;
    struct member at[]; /* sorted by `ns`, each once */
};

/* Both bits are set before the handlers are removed; who sets the second one removes them. */
enum handler_state { HANDLER_ADDED = 1, HANDLER_REMOVED = 2 };

struct cor_namespaced_handler {
    struct cor_handler_fns on; /* the program's */
    void (*on_removed)(void *arg);
    bool is_dropped;     /* written before the first of `at` is released */
    atomic_int state;    /* bits of enum handler_state */
    atomic_size_t nleft; /* of `at`, that are not removed yet */
    size_t n;
    struct cor_handler *at[];
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->ns, ((const struct member *)b)->ns);
}

/* Sorts the members and drops those whose name is repeated. */
static void members_sort(struct cor_namespaced_informer *all)
{
    size_t n = 0;

    qsort(all->at, all->n, sizeof(all->at[0]), by_name);
    for (size_t i = 0; i < all->n; i++) {
        if (n > 0 && strcmp(all->at[n - 1].ns, all->at[i].ns) == 0)
            cor_free(all->at[i].ns);
        else
            all->at[n++] = all->at[i];
    }
    all->n = n;
}

static int check_opts(const struct cor_informer_opts *opts, const char *const *namespaces, size_t n,
                      struct cor_status *reterr)
{
    if (n == 0)
        return cor_status_set(reterr, -COR_EINVAL, "namespaces: at least one is expected");
    if (n > COR_INFORMERS_MAX)
        return cor_status_set(reterr, -COR_ETOOBIG, "namespaces: at most %d are expected",
                              COR_INFORMERS_MAX);
    if (opts->ns && *opts->ns)
        return cor_status_set(reterr, -COR_EINVAL,
                              "ns: none is expected beside a list of namespaces");
    for (size_t i = 0; i < n; i++)
        if (!namespaces[i] || !*namespaces[i])
            return cor_status_set(reterr, -COR_EINVAL, "namespaces[%zu]: a name is expected", i);
    return 0;
}

int cor_namespaced_informer_new(struct cor_informers *set, const struct cor_informer_opts *opts,
                                const char *const *namespaces, size_t n,
                                struct cor_namespaced_informer **ret_informer,
                                struct cor_status *reterr)
{
    struct cor_namespaced_informer *all;
    struct cor_informer_opts own;
    int r = cor_sized_copy(&own, sizeof(own), opts);

    if (r < 0)
        return cor_status_set(reterr, r, "informer of namespaces: %s", cor_sized_text(r));
    r = check_opts(&own, namespaces, n, reterr);
    if (r < 0)
        return r;
    all = cor_calloc(1, sizeof(*all) + n * sizeof(all->at[0]));
    if (!all)
        return cor_status_set(reterr, -COR_ENOMEM, "informer of namespaces");
    for (; all->n < n && r == 0; all->n++) {
        struct member *member = &all->at[all->n];

        member->ns = cor_strdup(namespaces[all->n]);
        own.ns = member->ns;
        r = member->ns ? cor_informers_for_resource(set, &own, &member->informer, reterr)
                       : cor_status_set(reterr, -COR_ENOMEM, "informer of namespaces");
    }
    if (r < 0) {
        cor_namespaced_informer_free(all);
        return r;
    }
    members_sort(all);
    *ret_informer = all;
    return 0;
}

struct cor_namespaced_informer *cor_namespaced_informer_free(struct cor_namespaced_informer *all)
{
    if (!all)
        return NULL;
    for (size_t i = 0; i < all->n; i++)
        cor_free(all->at[i].ns);
    return cor_free(all);
}

struct cor_informer *cor_namespaced_informer_of(const struct cor_namespaced_informer *all,
                                                struct cor_str ns)
{
    size_t from = 0, to = all->n;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = cor_str_cmp(cor_strz(all->at[middle].ns), ns);

        if (order == 0)
            return all->at[middle].informer;
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

static void handler_on_add(void *arg, struct cor_object *object, bool in_initial_list)
{
    struct cor_namespaced_handler *h = arg;

    if (!h->is_dropped && h->on.on_add)
        h->on.on_add(h->on.arg, object, in_initial_list);
}

static void handler_on_update(void *arg, struct cor_object *old, struct cor_object *object)
{
    struct cor_namespaced_handler *h = arg;

    if (!h->is_dropped && h->on.on_update)
        h->on.on_update(h->on.arg, old, object);
}

static void handler_on_delete(void *arg, struct cor_str key, struct cor_object *object,
                              bool final_state_unknown)
{
    struct cor_namespaced_handler *h = arg;

    if (!h->is_dropped && h->on.on_delete)
        h->on.on_delete(h->on.arg, key, object, final_state_unknown);
}

static void handler_on_behind(void *arg, size_t pending_bytes)
{
    struct cor_namespaced_handler *h = arg;

    if (!h->is_dropped && h->on.on_behind)
        h->on.on_behind(h->on.arg, pending_bytes);
}

static void handler_on_removed(void *arg)
{
    struct cor_namespaced_handler *h = arg;

    if (atomic_fetch_sub(&h->nleft, 1) != 1)
        return;
    if (!h->is_dropped && h->on_removed)
        h->on_removed(h->on.arg);
    cor_free(h);
}

/* The struct may be gone after the last of them. */
static void handler_remove_all(struct cor_namespaced_handler *h, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct cor_handler *handler = h->at[i];

        cor_handler_remove(handler);
    }
}

/* What was added to the first `n` informers is taken back. */
static void handler_drop(struct cor_namespaced_handler *h, size_t n)
{
    h->is_dropped = true;
    atomic_store(&h->nleft, n);
    for (size_t i = 0; i < n; i++)
        cor_handler_release(h->at[i]);
    if (n > 0)
        handler_remove_all(h, n);
    else
        cor_free(h);
}

int cor_namespaced_informer_add_handler(struct cor_namespaced_informer *all,
                                        const struct cor_handler_opts *opts,
                                        struct cor_namespaced_handler **ret_handler)
{
    struct cor_namespaced_handler *h;
    struct cor_handler_opts own;
    int r = cor_sized_copy(&own, sizeof(own), opts);

    if (r < 0)
        return r;
    h = cor_calloc(1, sizeof(*h) + all->n * sizeof(h->at[0]));
    if (!h)
        return -COR_ENOMEM;
    h->on = own.on;
    h->on_removed = own.on_removed;
    h->n = all->n;
    atomic_init(&h->nleft, all->n);
    own.on = (struct cor_handler_fns){.on_add = handler_on_add,
                                      .on_update = handler_on_update,
                                      .on_delete = handler_on_delete,
                                      .on_behind = handler_on_behind,
                                      .arg = h};
    own.on_removed = handler_on_removed;
    for (size_t i = 0; i < all->n; i++) {
        r = cor_informer_add_held_handler(all->at[i].informer, &own, &h->at[i]);
        if (r < 0) {
            handler_drop(h, i);
            return r;
        }
    }
    if (ret_handler)
        *ret_handler = h;
    for (size_t i = 0; i < all->n; i++)
        cor_handler_release(h->at[i]);
    if (atomic_fetch_or(&h->state, HANDLER_ADDED) & HANDLER_REMOVED)
        handler_remove_all(h, all->n);
    return 0;
}

void cor_namespaced_handler_remove(struct cor_namespaced_handler *h)
{
    int state = atomic_fetch_or(&h->state, HANDLER_REMOVED);

    assert(!(state & HANDLER_REMOVED));
    if (state & HANDLER_ADDED)
        handler_remove_all(h, h->n);
}

bool cor_namespaced_handler_has_synced(struct cor_namespaced_handler *h)
{
    for (size_t i = 0; i < h->n; i++)
        if (!cor_handler_has_synced(h->at[i]))
            return false;
    return true;
}

int cor_namespaced_informer_add_indexes(struct cor_namespaced_informer *all,
                                        const struct cor_index_def *defs, size_t n)
{
    int r = 0;

    for (size_t i = 0; i < all->n && r == 0; i++)
        r = cor_informer_add_indexes(all->at[i].informer, defs, n);
    return r;
}

bool cor_namespaced_informer_has_synced(struct cor_namespaced_informer *all)
{
    for (size_t i = 0; i < all->n; i++)
        if (!cor_informer_has_synced(all->at[i].informer))
            return false;
    return true;
}

size_t cor_namespaced_informer_len(struct cor_namespaced_informer *all)
{
    size_t len = 0;

    for (size_t i = 0; i < all->n; i++)
        len += cor_informer_len(all->at[i].informer);
    return len;
}

/* A namespace that is not followed has no objects: any informer returns the usual error. */
int cor_namespaced_informer_get(struct cor_namespaced_informer *all, struct cor_str ns,
                                struct cor_str name, struct cor_object **ret_object,
                                struct cor_status *reterr)
{
    struct cor_informer *informer = cor_namespaced_informer_of(all, ns);

    return cor_informer_get(informer ? informer : all->at[0].informer, ns, name, ret_object,
                            reterr);
}

int cor_namespaced_informer_get_by_key(struct cor_namespaced_informer *all, struct cor_str key,
                                       struct cor_object **ret_object)
{
    struct cor_informer *informer;
    struct cor_str ns, name;

    if (cor_object_key_split(key, &ns, &name) < 0)
        return -COR_ENOTFOUND;
    informer = cor_namespaced_informer_of(all, ns);
    return informer ? cor_informer_get_by_key(informer, key, ret_object) : -COR_ENOTFOUND;
}

int cor_namespaced_informer_each(struct cor_namespaced_informer *all, struct cor_str ns,
                                 const struct cor_label_selector *selector, cor_each_fn fn,
                                 void *arg)
{
    struct cor_informer *informer;
    int r = 0;

    if (ns.n > 0) {
        informer = cor_namespaced_informer_of(all, ns);
        return informer ? cor_informer_each(informer, ns, selector, fn, arg) : 0;
    }
    for (size_t i = 0; i < all->n && r == 0; i++)
        r = cor_informer_each(all->at[i].informer, ns, selector, fn, arg);
    return r;
}

int cor_namespaced_informer_each_by_index(struct cor_namespaced_informer *all, struct cor_str index,
                                          struct cor_str value, cor_each_fn fn, void *arg)
{
    int r = 0;

    for (size_t i = 0; i < all->n && r == 0; i++)
        r = cor_informer_each_by_index(all->at[i].informer, index, value, fn, arg);
    return r;
}
