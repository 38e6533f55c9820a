/* The least that a delivery can cost: a process that answers GET with an open response, and POST by
 * one send() of `bytes` to each of those, without TLS, events or anything else.
 * Owner: as a target. */
#ifndef COR_BENCH_SENDER_H
#define COR_BENCH_SENDER_H

#include <stddef.h>

struct target;

void sender_start(size_t bytes, struct target *ret);

#endif
