/* What writers were told of their writes, and whether a history agrees with it. Each write has a
 * token, which its pod carries: the history tells of each state who wrote it.
 * Thread: one.  Owner: whoever embeds it. */
#ifndef COR_TEST_NOTES_H
#define COR_TEST_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "history.h"

enum op { OP_CREATE, OP_PATCH, OP_READ, OP_UPDATE, OP_DELETE, OP_DELETE_ALL, OP_OUTSIDE };

const char *op_name(enum op op);

struct note;

struct notes {
    struct note *v; /* by token; the first is nobody's, since token 0 means no object */
    size_t n, cap;
    size_t ndone; /* acknowledged writes */
};

void notes_init(struct notes *notes);
void notes_deinit(struct notes *notes);

/* A write begins. Returns its token. What becomes of it is unknown until one of those below is
 * called. */
uint32_t notes_take(struct notes *notes, enum op op, unsigned key);
unsigned notes_key(const struct notes *notes, uint32_t token);

/* It was acknowledged at the revision. */
void notes_done(struct notes *notes, uint32_t token, uint64_t rev);
/* It found the pod marked at the revision, and was told that the pod was removed instead. */
void notes_removed(struct notes *notes, uint32_t token, uint64_t rev);
/* It was refused. */
void notes_refused(struct notes *notes, uint32_t token);

/* Every write that was acknowledged is in the history, and none that was refused. The history has
 * all that was acknowledged. */
void notes_check(const struct notes *notes, const struct history *h, struct verdict *verdict);

#endif
