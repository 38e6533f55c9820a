/* The objects that writers write and watchers read: pods with a token of the write, a color as
 * label and a node as trigger field.
 * Thread: any (values). */
#ifndef COR_TEST_POD_H
#define COR_TEST_POD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "history.h"

#define COLORS 3
#define NODES  2

/* Appends a pod with `pad` bytes that mean nothing; rev 0: without a resourceVersion. */
void pod_write(struct cor_buf *out, unsigned key, struct content content, uint64_t rev, size_t pad);

/* The same as a server would store it. */
void pod_write_stored(struct cor_buf *out, unsigned key, struct content content, size_t pad);

/* Appends a merge patch that sets token and color. */
void pod_write_patch(struct cor_buf *out, struct content content, size_t pad);

/* "/api/v1/namespaces/ns0/pods", and "/k00" after it unless `key` is all that counts. */
void pod_path(char *out, size_t n, unsigned key, bool is_collection);

/* What a watch or list of `scope` is asked for: "/api/v1/pods?labelSelector=...&", ready for more
 * parameters. */
void scope_path(char *out, size_t n, const struct scope *scope);

/* Key, revision and content of a pod. False: it is none of ours. */
bool pod_read(struct cor_str json, struct event *ret_event);

/* A line of a watch. A bookmark has its revision; `ret_ends_initial` when it is the one that ends
 * the initial events. False: an ERROR event or nonsense. */
bool pod_read_event(struct cor_str line, struct event *ret_event, bool *ret_ends_initial);

/* Appends the items of a list as ADDED events and gives its revision. */
bool pod_read_list(struct cor_str json, struct events *events, uint64_t *ret_rev);

/* The text of a member of `object`, "" when there is none. */
struct cor_str json_text(struct cor_str object, const char *key);
/* The member itself; empty when there is none. */
struct cor_str json_member(struct cor_str object, const char *key);

#endif
