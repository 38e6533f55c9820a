/* The FIFO (coracle/fifo.h) for internal use: public API that no informer uses, but a program's
 * reflector does. */
#ifndef COR_CACHE_FIFO_H
#define COR_CACHE_FIFO_H

#include "base/cleanup.h"
#include "coracle/fifo.h"

COR_DEFINE_CLEANUP(struct cor_fifo, cor_fifo_free)

#endif
