/* A refusal owns its versions, which are also found by themselves. Adding allocates everything that
 * it needs before it changes anything.
 * Failures: no memory, which leaves everything as it was.  Thread: one at a time. */
#include "cache/queues/refusals.h"

#include <assert.h>
#include <string.h>

#include "base/dlist.h"
#include "base/err.h"
#include "base/mem.h"

struct version {
    struct cor_dlist link; /* in its refusal's versions, oldest first */
    struct cor_refusal *of;
    size_t len;
    char text[];
};

struct cor_refusal {
    struct cor_dlist versions;
    size_t nversions;
    int err;
    bool is_retried, is_marked;
    size_t key_len;
    char key[];
};

void cor_refusals_init(struct cor_refusals *r)
{
    cor_map_init(&r->by_key, COR_REFUSALS_MAX);
    cor_map_init(&r->by_version, (size_t)COR_REFUSALS_MAX * COR_REFUSAL_VERSIONS_MAX);
}

static struct cor_str text_of(const struct version *v)
{
    return cor_str(v->text, v->len);
}

static void drop_version(struct cor_refusals *r, struct version *v)
{
    cor_map_remove(&r->by_version, text_of(v));
    cor_dlist_remove(&v->link);
    v->of->nversions--;
    cor_free(v);
}

static void drop(struct cor_refusals *r, struct cor_refusal *refusal)
{
    cor_map_remove(&r->by_key, cor_str(refusal->key, refusal->key_len));
    COR_DLIST_FOREACH_SAFE(it, &refusal->versions)
        drop_version(r, COR_CONTAINER_OF(it, struct version, link));
    cor_free(refusal);
}

void cor_refusals_deinit(struct cor_refusals *r)
{
    COR_MAP_FOREACH(it, &r->by_key)
        drop(r, it.value);
    cor_map_deinit(&r->by_key);
    cor_map_deinit(&r->by_version);
}

static int put_refusal(struct cor_refusals *r, struct cor_str key, struct cor_refusal **ret)
{
    struct cor_refusal *refusal = cor_alloc(sizeof(*refusal) + key.n);
    int rc;

    if (!refusal)
        return -COR_ENOMEM;
    *refusal = (struct cor_refusal){.key_len = key.n};
    memcpy(refusal->key, key.p, key.n);
    cor_dlist_init(&refusal->versions);
    rc = cor_map_put(&r->by_key, cor_str(refusal->key, key.n), refusal, NULL);
    if (rc < 0) {
        cor_free(refusal);
        return rc;
    }
    *ret = refusal;
    return 0;
}

static int put_version(struct cor_refusals *r, struct cor_refusal *refusal, struct cor_str text)
{
    struct version *v = cor_alloc(sizeof(*v) + text.n);
    int rc;

    if (!v)
        return -COR_ENOMEM;
    *v = (struct version){.of = refusal, .len = text.n};
    memcpy(v->text, text.p, text.n);
    rc = cor_map_put(&r->by_version, text_of(v), v, NULL);
    if (rc < 0) {
        cor_free(v);
        return rc;
    }
    cor_dlist_push(&refusal->versions, &v->link);
    if (++refusal->nversions > COR_REFUSAL_VERSIONS_MAX)
        drop_version(r, COR_CONTAINER_OF(refusal->versions.next, struct version, link));
    return 0;
}

/* A version that is there already may be of another key, where a server gives one to several
 * objects: it stays the first one's. */
int cor_refusals_add(struct cor_refusals *r, struct cor_str key, struct cor_str version, int err,
                     bool is_retried)
{
    struct cor_refusal *refusal = cor_map_peek(&r->by_key, key);
    bool is_new = !refusal;
    int rc = 0;

    assert(err < 0);
    if (is_new)
        rc = put_refusal(r, key, &refusal);
    if (rc == 0 && version.n > 0 && !cor_map_peek(&r->by_version, version))
        rc = put_version(r, refusal, version);
    if (rc < 0 && is_new && refusal)
        drop(r, refusal);
    if (rc == -COR_ETOOBIG)
        return 0;
    if (rc < 0)
        return rc;
    refusal->err = err;
    refusal->is_retried = is_retried;
    return 0;
}

const struct cor_refusal *cor_refusals_of_version(const struct cor_refusals *r,
                                                  struct cor_str version)
{
    const struct version *v =
        cor_map_len(&r->by_version) > 0 ? cor_map_peek(&r->by_version, version) : NULL;

    return v ? v->of : NULL;
}

const struct cor_refusal *cor_refusals_of_key(const struct cor_refusals *r, struct cor_str key)
{
    return cor_map_len(&r->by_key) > 0 ? cor_map_peek(&r->by_key, key) : NULL;
}

void cor_refusals_remove(struct cor_refusals *r, struct cor_str key)
{
    struct cor_refusal *refusal = cor_map_peek(&r->by_key, key);

    if (refusal)
        drop(r, refusal);
}

int cor_refusal_err(const struct cor_refusal *refusal)
{
    return refusal->err;
}

bool cor_refusal_is_retried(const struct cor_refusal *refusal)
{
    return refusal->is_retried;
}

void cor_refusals_unmark(struct cor_refusals *r)
{
    COR_MAP_FOREACH(it, &r->by_key)
        ((struct cor_refusal *)it.value)->is_marked = false;
}

void cor_refusals_mark(struct cor_refusals *r, struct cor_str key)
{
    struct cor_refusal *refusal = cor_map_peek(&r->by_key, key);

    if (refusal)
        refusal->is_marked = true;
}

bool cor_refusal_is_marked(const struct cor_refusal *refusal)
{
    return refusal->is_marked;
}
