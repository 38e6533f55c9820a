/* A runtime that stands still until the test moves its clock, and a collection of pods in a script:
 * what reflectors and informers of a program's own are tested with.
 * Thread: the test's.  Owner: the test. */
#ifndef COR_TEST_STAGE_H
#define COR_TEST_STAGE_H

#include <coracle.h>

#include "base/cleanup.h"
#include "test.h"

struct stage {
    struct cor_clock_manual *clock;
    struct cor_runtime *rt;
    struct cor_list_watch_script *pods;
    char seen[256]; /* what callbacks have written down */
};

/* A pod with the label app; the caller unrefs it. */
struct cor_object *stage_pod(const char *ns, const char *name, const char *app);

void stage_begin(struct stage *s);
void stage_end(struct stage *s);

/* Into the script. */
void stage_put(struct stage *s, const char *ns, const char *name, const char *app);

void stage_pump(struct stage *s);
void stage_advance(struct stage *s, uint64_t ms); /* the clock; then pumps */

/* Appends to `seen`. */
void stage_note(struct stage *s, const char *fmt, ...) COR_PRINTF(2, 3);

#endif
