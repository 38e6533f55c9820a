/* What controllers of the server read after a change, in a cluster that grows: a quota counts the
 * pods of its namespace, and the garbage collector the dependents of an owner. Both are the same
 * number in every cluster. Failures end the program (process.h). Thread: one. */
#ifndef COR_BENCH_REACTIONS_H
#define COR_BENCH_REACTIONS_H

#include "target.h"

/* Makes 20 namespaces with a quota and 15 pods each, and one for families. Once. */
void reactions_make(const struct target *t);

/* Each quota gets another limit; server CPU of one in us, until its status shows that and the
 * number of the pods. */
double reactions_count(const struct target *t);

/* Makes 20 owners of 5 pods each, and deletes them; server CPU of one in us, until its pods are
 * gone. */
double reactions_collect(const struct target *t);

#endif
