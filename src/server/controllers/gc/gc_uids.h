/* clang-format off */
/* Which uids exist, and in which namespace: what the garbage collector keeps for every object,
 * also for those that have neither owners nor dependents. A uid is kept as 16 bytes, with 4 bytes
 * of place; there is no name. The table answers one question: does the object with this uid live in
 * another namespace than an object that names it as its owner?
 *
 *   entry: 20 bytes   uid 16 | unused 1 bit, mark 1 bit, resource 10 bits, namespace 20 bits
 *
 * The namespace is a hash, so two namespaces are taken for one in a millionth of the cases; then a
 * warning event is missing, and nothing else. The table is between 58 % and 87 % full when it is
 * large, so an object costs 23 to 35 bytes. It does not shrink below what it once needed, except
 * when it becomes empty.
 * Owner: whoever embeds it.  Thread: one at a time. */
/* clang-format on */
#ifndef COR_SERVER_CONTROLLERS_GC_GC_UIDS_H
#define COR_SERVER_CONTROLLERS_GC_GC_UIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define COR_GC_RESOURCES_MAX 1023 /* numbers of resources are below it */

/* A uid as the table has it: the bytes of an RFC 4122 text, or a hash of any other text. */
struct cor_gc_uid {
    uint64_t a, b;
};

struct cor_gc_uid cor_gc_uid(struct cor_str text);

struct cor_gc_place {
    uint32_t resource; /* its number */
    uint32_t ns;       /* cor_gc_namespace_hash(); 0: the object has no namespace */
};

/* 0 for the empty namespace, and never 0 for another one. */
uint32_t cor_gc_namespace_hash(struct cor_str ns);

struct cor_gc_uids {
    struct cor_gc_uid_entry *entries; /* NULL: no room */
    size_t n, cap;
};

/* A zeroed table is empty. */
void cor_gc_uids_deinit(struct cor_gc_uids *t);

/* Adds the uid, or changes its place. `mark` is compared by the sweep. 0 or -COR_ENOMEM. */
int cor_gc_uids_put(struct cor_gc_uids *t, struct cor_gc_uid uid, struct cor_gc_place place,
                    bool mark);

bool cor_gc_uids_find(const struct cor_gc_uids *t, struct cor_gc_uid uid,
                      struct cor_gc_place *ret_place);

/* Nothing happens when the uid is not there. */
void cor_gc_uids_remove(struct cor_gc_uids *t, struct cor_gc_uid uid);

/* Removes the uids of the resource whose mark is not `mark`. Visits the whole table. */
void cor_gc_uids_sweep(struct cor_gc_uids *t, uint32_t resource, bool mark);

/* Gives all uids of the resource this mark. Visits the whole table. */
void cor_gc_uids_set_mark(struct cor_gc_uids *t, uint32_t resource, bool mark);

/* What the table occupies. */
size_t cor_gc_uids_bytes(const struct cor_gc_uids *t);

#endif
