/* SipHash-1-3: a keyed hash of bytes, safe for tables whose keys a stranger may choose.
 * Thread: any (pure). */
#ifndef COR_BASE_SIPHASH_H
#define COR_BASE_SIPHASH_H

#include <stdint.h>

#include "base/str.h"

uint64_t cor_siphash(struct cor_str s, uint64_t k0, uint64_t k1);

#endif
