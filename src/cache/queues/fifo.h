/* The FIFO (coracle/fifo.h) for the tree itself: public API that no informer uses; a program's
 * reflector does. */
#ifndef COR_CACHE_FIFO_H
#define COR_CACHE_FIFO_H

#include "base/cleanup.h"
#include "coracle/fifo.h"

COR_DEFINE_CLEANUP(struct cor_fifo, cor_fifo_free)

#endif
