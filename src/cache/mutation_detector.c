#include "cache/mutation_detector.h"

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/siphash.h"

struct witness {
    struct cor_list link;
    struct cor_object *object;
    uint32_t len; /* the object's own may have been written over */
    uint64_t hash;
};

struct cor_mutation_detector {
    struct cor_mutation_detector_opts opts;
    struct cor_list young, old; /* of this retain period, and of the one before */
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
    cor_list_init(&d->young);
    cor_list_init(&d->old);
    *ret_detector = d;
    return 0;
}

static void forget(struct cor_list *list)
{
    struct cor_list *link;

    while ((link = cor_list_pop(list))) {
        struct witness *w = COR_CONTAINER_OF(link, struct witness, link);

        cor_object_unref(w->object);
        cor_free(w);
    }
}

struct cor_mutation_detector *cor_mutation_detector_free(struct cor_mutation_detector *d)
{
    if (!d)
        return NULL;
    forget(&d->young);
    forget(&d->old);
    return cor_free(d);
}

static uint64_t hash_of(const struct cor_mutation_detector *d, const struct witness *w)
{
    return cor_siphash(cor_str(w->object->bytes, w->len), d->key[0], d->key[1]);
}

static void rotate(struct cor_mutation_detector *d)
{
    forget(&d->old);
    cor_list_splice(&d->old, &d->young);
    d->nyoung = 0;
}

int cor_mutation_detector_add(struct cor_mutation_detector *d, struct cor_object *object)
{
    struct witness *w = cor_alloc(sizeof(*w));

    if (!w)
        return -COR_ENOMEM;
    if (d->nyoung >= COR_MUTATION_OBJECTS_MAX)
        rotate(d);
    *w = (struct witness){.object = cor_object_ref(object), .len = object->len};
    w->hash = hash_of(d, w);
    cor_list_push(&d->young, &w->link);
    d->nyoung++;
    return 0;
}

static void look_at(struct cor_mutation_detector *d, struct cor_list *list)
{
    COR_LIST_FOREACH(it, list) {
        struct witness *w = COR_CONTAINER_OF(it, struct witness, link);
        uint64_t hash = hash_of(d, w);

        if (hash == w->hash)
            continue;
        w->hash = hash;
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
