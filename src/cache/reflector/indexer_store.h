/* Lets a reflector keep an indexer equal to a collection, with no queue between and nobody told:
 * client-go's NewReflector over a Store, for a program that only reads.
 * Thread: the reflector's; the indexer may be read from any.  Owner: the maker. */
#ifndef COR_CACHE_INDEXER_STORE_H
#define COR_CACHE_INDEXER_STORE_H

#include "base/cleanup.h"
#include "cache/reflector/reflector_ops.h"
#include "cache/store/indexer.h"

struct cor_indexer_store;

/* `indexer` must stay valid. 0 or -COR_ENOMEM. */
int cor_indexer_store_new(struct cor_indexer *indexer, struct cor_indexer_store **ret_store);

/* The indexer stays. Returns NULL. */
struct cor_indexer_store *cor_indexer_store_free(struct cor_indexer_store *s);
COR_DEFINE_CLEANUP(struct cor_indexer_store, cor_indexer_store_free)

/* For cor_reflector_new(); borrowed. Its calls fail as the indexer's do. A list becomes the whole
 * content in one step for any reader. */
struct cor_reflector_store *cor_indexer_store(struct cor_indexer_store *s);

#endif
