/* Lets a reflector keep an indexer equal to a collection, with no queue between them and no
 * handlers: client-go's NewReflector over a Store, for a program that only reads. Public API
 * (coracle/store.h), which no informer uses.
 * Thread: the reflector's; the indexer may be read from any.  Owner: the maker. */
#ifndef COR_CACHE_INDEXER_STORE_H
#define COR_CACHE_INDEXER_STORE_H

#include "cache/reflector/reflector_store.h"
#include "cache/store/indexer.h"

#endif
