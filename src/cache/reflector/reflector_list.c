/* The list phase: which revision, which page size, page after page into the store's staging, and
 * what is tried when a revision is gone. */
#include "cache/reflector/reflector_int.h"

#include "cache/reflector/watch_error.h"
#include "coracle/status_is.h"

#define PAGE_SIZE_DEFAULT 500
#define SLOW_MS           10000

void cor_reflector_unstage(struct cor_reflector *r)
{
    if (!r->list.staging)
        return;
    r->list.staging = false;
    if (r->store->ops->replace_abort)
        r->store->ops->replace_abort(r->store);
}

static int list_begin_staging(struct cor_reflector *r, struct cor_status *reterr)
{
    int rc;

    if (r->list.staging)
        return 0;
    rc = r->store->ops->replace_begin(r->store, reterr);
    if (rc < 0)
        return rc;
    r->list.staging = true;
    r->list.objects = 0;
    cor_object_unref(r->list.first);
    r->list.first = NULL;
    return 0;
}

static bool is_of_type(const struct cor_object *a, const struct cor_object *b)
{
    return cor_str_eq(cor_object_kind(a), cor_object_kind(b)) &&
           cor_str_eq(cor_object_api_version(a), cor_object_api_version(b));
}

/* The first object stands for all, until one is of another type. */
static void list_look_at_type(struct cor_reflector *r, struct cor_object *object)
{
    if (r->list.objects == 0) {
        r->list.first = cor_object_ref(object);
    } else if (r->list.first && !is_of_type(r->list.first, object)) {
        cor_object_unref(r->list.first);
        r->list.first = NULL;
    }
}

int cor_reflector_stage(struct cor_reflector *r, struct cor_str key, struct cor_object *object,
                        struct cor_status *reterr)
{
    int rc = list_begin_staging(r, reterr);

    if (rc < 0)
        return rc;
    if (r->list.objects == r->opts.objects_max)
        return cor_status_set(reterr, -COR_ETOOBIG, "more than %zu objects", r->list.objects);
    rc = r->store->ops->replace_add(r->store, key, object, reterr);
    if (rc < 0)
        return rc;
    if (r->opts.learns_expected)
        list_look_at_type(r, object);
    r->list.objects++;
    return 0;
}

int cor_reflector_commit(struct cor_reflector *r, struct cor_reflector_at at,
                         struct cor_status *reterr)
{
    int rc = list_begin_staging(r, reterr);

    if (rc < 0)
        return rc;
    r->list.staging = false;
    rc = r->store->ops->replace_commit(r->store, at, reterr);
    if (rc < 0)
        return rc;
    cor_reflector_rv_set(&r->last_rv, at);
    if (r->opts.learns_expected)
        cor_reflector_expect(r, r->list.first);
    cor_object_unref(r->list.first);
    r->list.first = NULL;
    return 0;
}

/* Relists never ask for less than was seen. Without a limit the server may answer a list from a
 * revision out of its cache. */
static void choose_page_size(struct cor_reflector *r)
{
    struct cor_str rv = cor_reflector_rv_str(&r->list.asked_rv);

    if (r->opts.page_size > 0)
        r->list.page_size = r->opts.page_size;
    else if (!r->paginates && rv.n > 0 && !cor_str_eqz(rv, "0"))
        r->list.page_size = 0;
    else
        r->list.page_size = PAGE_SIZE_DEFAULT;
}

static void list_ask_from_start(struct cor_reflector *r, struct cor_str rv)
{
    cor_reflector_unstage(r);
    cor_reflector_rv_set(&r->list.asked_rv, cor_reflector_at(rv));
    cor_page_walk_reset(&r->list.walk);
    r->list.paged = false;
    r->list.full = false;
    cor_reflector_request(r, COR_REFLECTOR_LISTING);
}

void cor_reflector_list_begin(struct cor_reflector *r)
{
    struct cor_str rv = cor_reflector_rv_str(&r->last_rv);

    if (r->rv_unavailable)
        rv = COR_STR("");
    else if (rv.n == 0)
        rv = COR_STR("0");
    r->list.from_zero = cor_str_eqz(rv, "0");
    r->list.retried = false;
    r->list.began_ms = r->now_ms;
    r->stats.lists++;
    list_ask_from_start(r, rv);
    choose_page_size(r);
}

void cor_reflector_list_send(struct cor_reflector *r)
{
    struct cor_list_options opts = {
        .continue_token = cor_buf_str(&r->list.walk.token),
        .limit = r->list.full ? 0 : r->list.page_size,
        .recursive = true,
    };

    /* A server refuses a resourceVersion beside a token: the token has its own. */
    if (opts.continue_token.n == 0)
        opts.resource_version = cor_reflector_rv_str(&r->list.asked_rv);
    r->driver->ops->list(r->driver, &opts);
}

static void list_fail_round(struct cor_reflector *r, const char *what,
                            const struct cor_status *cause)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st;

    cor_reflector_wrap(&st, cause, what);
    cor_reflector_end_round(r, &st);
}

static void list_fail_list(struct cor_reflector *r, const struct cor_status *cause)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf what = {.max = 8192};

    cor_buf_addf(&what, "failed to list %s", r->type_description);
    list_fail_round(r, what.n > 0 ? cor_buf_z(&what) : "failed to list", cause);
}

void cor_reflector_list_error(struct cor_reflector *r, const struct cor_status *status)
{
    if (r->list.walk.token.n > 0 && cor_status_is_expired(status)) {
        cor_reflector_unstage(r);
        cor_page_walk_reset(&r->list.walk);
        r->list.full = true;
        cor_reflector_request(r, COR_REFLECTOR_LISTING);
        return;
    }
    if (!r->list.retried &&
        (cor_watch_error_expired(status) || cor_watch_error_too_large_rv(status))) {
        r->rv_unavailable = true;
        r->list.retried = true;
        list_ask_from_start(r, COR_STR(""));
        return;
    }
    list_fail_list(r, status);
}

static void list_say_if_slow(struct cor_reflector *r)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    uint64_t took = r->now_ms - r->list.began_ms;

    if (took <= SLOW_MS)
        return;
    cor_status_set(&st, -COR_ETIMEOUT, "listing %s took %llu ms", r->type_description,
                   (unsigned long long)took);
    cor_reflector_say(r, COR_REFLECTOR_SLOW, &st);
}

static void list_finish(struct cor_reflector *r)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};

    if (r->list.from_zero && r->list.paged)
        r->paginates = true;
    r->rv_unavailable = false;
    list_say_if_slow(r);
    if (cor_reflector_commit(r, cor_reflector_rv_at(&r->list.rv), &st) < 0) {
        list_fail_round(r, "unable to sync list result", &st);
        return;
    }
    r->stats.list_ms += r->now_ms - r->list.began_ms;
    r->stats.list_items += r->list.objects;
    cor_reflector_watch_begin(r);
    cor_reflector_watch_open(r);
}

/* Returns whether there is another page to ask for. */
static bool list_next_page(struct cor_reflector *r, struct cor_str token, struct cor_status *reterr)
{
    if (cor_page_walk_next(&r->list.walk, token, reterr) < 0)
        return false;
    r->list.paged = true;
    cor_reflector_request(r, COR_REFLECTOR_LISTING);
    return true;
}

static int list_stage_all(struct cor_reflector *r, const struct cor_list_page *page,
                          struct cor_status *reterr)
{
    for (size_t i = 0; i < page->n; i++) {
        struct cor_str key = page->keys ? page->keys[i] : (struct cor_str){0};
        int rc = cor_reflector_stage(r, key, page->objects[i], reterr);

        if (rc < 0)
            return rc;
    }
    return 0;
}

void cor_reflector_list_take(struct cor_reflector *r, const struct cor_list_page *page)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    const struct cor_reflector_at at = {page->resource_version, page->rev};
    bool is_first = r->list.walk.token.n == 0;

    if (list_stage_all(r, page, &st) < 0) {
        if (page->more_parts)
            cor_reflector_drop(r);
        list_fail_round(r, "unable to sync list result", &st);
        return;
    }
    if (page->more_parts)
        return;
    if (is_first && !cor_reflector_rv_set(&r->list.rv, at)) {
        cor_status_set(&st, -COR_EINVAL, "resourceVersion of %zu bytes", page->resource_version.n);
        list_fail_round(r, "unable to understand list result", &st);
        return;
    }
    if (page->continue_token.n == 0 || r->list.full)
        list_finish(r);
    else if (!list_next_page(r, page->continue_token, &st))
        list_fail_list(r, &st);
}
