/* A reflector's store that is made of functions, and calls to any store (coracle/store.h).
 * Thread: the writer's.  Owner: the maker. */
#ifndef COR_CACHE_REFLECTOR_STORE_H
#define COR_CACHE_REFLECTOR_STORE_H

#include "base/cleanup.h"
#include "cache/reflector/reflector_ops.h"
#include "coracle/store.h"

COR_DEFINE_CLEANUP(struct cor_reflector_store, cor_reflector_store_free)

#endif
