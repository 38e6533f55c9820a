/* Finds a program that writes into what the cache holds, for debugging: each object is remembered
 * with a hash of its bytes, and checked again every second. client-go's mutation detector, with a
 * hash in place of its deep copy.
 *
 * An object is checked, and held, for two to four minutes after it was cached; the bound is for
 * programs that cache more than that.
 * Thread: one at a time.  Owner: the informer that made it. */
#ifndef COR_CACHE_MUTATION_DETECTOR_H
#define COR_CACHE_MUTATION_DETECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "meta/object/object.h"

#define COR_MUTATION_PERIOD_MS   1000
#define COR_MUTATION_RETAIN_MS   120000
#define COR_MUTATION_OBJECTS_MAX (1u << 20) /* then the objects of the last two minutes go */

struct cor_mutation_detector;

/* `object` has changed since it came into the cache. client-go panics here. Called once per object
 * while it is checked, however often it is modified or cached. */
typedef void (*cor_mutation_fn)(void *arg, const struct cor_object *object);

struct cor_mutation_detector_opts {
    cor_mutation_fn on_mutation;
    void *arg;
};

/* 0 or -COR_ENOMEM. */
int cor_mutation_detector_new(const struct cor_mutation_detector_opts *opts, uint64_t now_ms,
                              struct cor_mutation_detector **ret_detector);

/* Returns NULL. */
struct cor_mutation_detector *cor_mutation_detector_free(struct cor_mutation_detector *d);
COR_DEFINE_CLEANUP(struct cor_mutation_detector, cor_mutation_detector_free)

/* Holds a reference of its own. 0 or -COR_ENOMEM. */
int cor_mutation_detector_add(struct cor_mutation_detector *d, struct cor_object *object);

/* Checks all objects that it holds; called every COR_MUTATION_PERIOD_MS. */
void cor_mutation_detector_look(struct cor_mutation_detector *d, uint64_t now_ms);

#endif
