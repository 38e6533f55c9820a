/* A witness of each object remembers a hash of its bytes. Witnesses are in two generations: after
 * each retain period the older one is forgotten, and the younger becomes the older. A look hashes
 * all objects again and reports one whose hash has changed, once. Failures: no memory for a
 * witness, which the caller passes on.  Thread: one at a time. */
#include "cache/informers/mutation_detector.h"

#include "base/dlist.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/siphash.h"
#include "meta/object/object_wire.h"

struct witness {
    struct cor_dlist link;
    struct cor_object *object;
    uint32_t len; /* the object's own may have been written over */
    bool is_young, is_told;
    uint64_t hash;
};

struct cor_mutation_detector {
    struct cor_mutation_detector_opts opts;
    struct cor_dlist young, old; /* of this retain period, and of the one before */
    struct cor_map by_object;    /* the bytes of a witness's pointer to its object -> the witness */
    size_t nyoung;
    uint64_t key[2];
    uint64_t rotated_ms;
};

int cor_mutation_detector_new(const struct cor_mutation_detector_opts *opts, uint64_t now_ms,
                              struct cor_mutation_detector **ret_detector)
{
    struct cor_mutation_detector *d = cor_calloc(1, sizeof(*d));
    struct cor_rand rand;

    if (!d)
        return -COR_ENOMEM;
    cor_rand_init(&rand);
    cor_rand_bytes(&rand, d->key, sizeof(d->key));
    d->opts = *opts;
    d->rotated_ms = now_ms;
    cor_dlist_init(&d->young);
    cor_dlist_init(&d->old);
    cor_map_init(&d->by_object, 2 * COR_MUTATION_OBJECTS_MAX);
    *ret_detector = d;
    return 0;
}

static struct cor_str pointer_to(struct cor_object *const *object)
{
    return cor_str((const char *)object, sizeof(*object));
}

static void forget(struct cor_mutation_detector *d, struct cor_dlist *list)
{
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(list))) {
        struct witness *w = COR_CONTAINER_OF(link, struct witness, link);

        cor_map_remove(&d->by_object, pointer_to(&w->object));
        cor_object_unref(w->object);
        cor_free(w);
    }
    if (cor_map_len(&d->by_object) == 0)
        cor_map_deinit(&d->by_object);
}

struct cor_mutation_detector *cor_mutation_detector_free(struct cor_mutation_detector *d)
{
    if (!d)
        return NULL;
    forget(d, &d->young);
    forget(d, &d->old);
    cor_map_deinit(&d->by_object);
    return cor_free(d);
}

static uint64_t hash_of(const struct cor_mutation_detector *d, const struct witness *w)
{
    uint64_t hash = cor_siphash(cor_str(w->object->bytes, w->len), d->key[0], d->key[1]);

    if (w->object->has_wire)
        hash ^= cor_siphash(cor_wire_message(cor_object_wire(w->object)), d->key[1], d->key[0]);
    return hash;
}

static void rotate(struct cor_mutation_detector *d)
{
    forget(d, &d->old);
    COR_DLIST_FOREACH(it, &d->young)
        COR_CONTAINER_OF(it, struct witness, link)->is_young = false;
    cor_dlist_splice(&d->old, &d->young);
    d->nyoung = 0;
}

static void make_young(struct cor_mutation_detector *d, struct witness *w)
{
    cor_dlist_remove(&w->link);
    cor_dlist_push(&d->young, &w->link);
    d->nyoung += !w->is_young;
    w->is_young = true;
}

static int witness_new(struct cor_mutation_detector *d, struct cor_object *object,
                       struct witness **ret)
{
    struct witness *w = cor_alloc(sizeof(*w));
    int r;

    if (!w)
        return -COR_ENOMEM;
    *w = (struct witness){.object = object, .len = object->len};
    r = cor_map_put(&d->by_object, pointer_to(&w->object), w, NULL);
    if (r < 0) {
        cor_free(w);
        return r;
    }
    cor_object_ref(object);
    cor_dlist_init(&w->link);
    w->hash = hash_of(d, w);
    *ret = w;
    return 0;
}

/* One that a resync or a relist repeats keeps its witness, who knows what it was at first. */
int cor_mutation_detector_add(struct cor_mutation_detector *d, struct cor_object *object)
{
    struct witness *w;
    int r = 0;

    if (d->nyoung >= COR_MUTATION_OBJECTS_MAX)
        rotate(d);
    w = cor_map_peek(&d->by_object, pointer_to(&object));
    if (!w)
        r = witness_new(d, object, &w);
    if (r == 0)
        make_young(d, w);
    return r;
}

static void look_at(struct cor_mutation_detector *d, struct cor_dlist *list)
{
    COR_DLIST_FOREACH(it, list) {
        struct witness *w = COR_CONTAINER_OF(it, struct witness, link);

        if (w->is_told || hash_of(d, w) == w->hash)
            continue;
        w->is_told = true;
        d->opts.on_mutation(d->opts.arg, w->object);
    }
}

void cor_mutation_detector_look(struct cor_mutation_detector *d, uint64_t now_ms)
{
    look_at(d, &d->young);
    look_at(d, &d->old);
    if (now_ms - d->rotated_ms < COR_MUTATION_RETAIN_MS)
        return;
    d->rotated_ms = now_ms;
    rotate(d);
}
