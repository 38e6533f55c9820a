/* The peer: the rows of the SQLite engine, written and read by hand on one thread. Same schema,
 * same pragmas, same bytes; no compare, no queue, nobody to tell. Thread: one at a time.  Owner:
 * whoever opened it. */
#ifndef COR_BENCH_RAW_H
#define COR_BENCH_RAW_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct raw;

/* Ends the program with a message when something fails, as all functions here do. */
struct raw *raw_open(const char *dir);
void raw_close(struct raw *raw);

/* `n` rows in one durable transaction. */
void raw_insert(struct raw *raw, const struct cor_str *keys, const struct cor_str *values,
                size_t n);

/* Reads the latest version of every key; returns how many there are and adds up their bytes. */
size_t raw_read_all(struct raw *raw, uint64_t *ret_bytes);

#endif
