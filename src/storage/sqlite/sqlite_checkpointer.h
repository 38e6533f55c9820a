/* Folds the write-ahead log back into the database file, on a thread and a connection of its own,
 * so that the writer does not wait for it. Thread: the engine's, except for the thread inside.
 * Owner: the engine. */
#ifndef COR_STORAGE_SQLITE_SQLITE_CHECKPOINTER_H
#define COR_STORAGE_SQLITE_SQLITE_CHECKPOINTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/sqlite/sqlite_db.h"

struct cor_checkpointer;

/* The errors of cor_sqlite_db_open(). */
int cor_checkpointer_new(const char *path, struct cor_checkpointer **ret_checkpointer,
                         struct cor_status *reterr_status);

/* Waits for the one under way and begins no other; its error can be asked for afterwards. */
void cor_checkpointer_stop(struct cor_checkpointer *cp);

/* Stops it first. Returns NULL; NULL is fine. */
struct cor_checkpointer *cor_checkpointer_free(struct cor_checkpointer *cp);

/* One more checkpoint, soon. */
void cor_checkpointer_ask(struct cor_checkpointer *cp);

/* The same, and waits until it is done or `timeout_ms` passed. */
void cor_checkpointer_wait(struct cor_checkpointer *cp, uint64_t timeout_ms);

/* Negative: a checkpoint met an I/O error. It must not be tried again: a second fsync would report
 * success for pages that never reached the disk. `ret_message` (`n` bytes) then says what. */
int cor_checkpointer_error(struct cor_checkpointer *cp, char *ret_message, size_t n);

#endif
