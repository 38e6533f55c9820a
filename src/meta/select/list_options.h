/* The options of a list or watch request, checked as upstream checks them, and resolved into one
 * plan for the store and the caches: which state to read, and where to continue.
 * Thread: any (values).  Owner: the caller; strings are borrowed. */
#ifndef COR_META_SELECT_LIST_OPTIONS_H
#define COR_META_SELECT_LIST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/status/revision.h"
#include "meta/status/status.h"

enum cor_tristate { COR_UNSET, COR_FALSE, COR_TRUE };

struct cor_list_options {
    struct cor_str resource_version;       /* "", "0" or a number */
    struct cor_str resource_version_match; /* "", "Exact" or "NotOlderThan" */
    struct cor_str continue_token;
    int64_t limit;  /* 0: all */
    bool recursive; /* all keys under a prefix; else one key, and a continue token is ignored */
    bool watch;
    bool allow_bookmarks;
    enum cor_tristate send_initial_events;
};

/* A plain watch without a revision begins with the current state: the REST layer asks for it. */
void cor_list_options_set_defaults(struct cor_list_options *opts);

/* The REST layer's check, of a list or (opts->watch) of a watch. 0, -COR_EINVALID (422, kind
 * ListOptions, a cause per fault), -COR_ENOMEM. */
int cor_list_options_validate(const struct cor_list_options *opts,
                              struct cor_status *reterr_status);

enum cor_read_mode {
    COR_READ_CONSISTENT,      /* at least what was committed when the request came */
    COR_READ_ANY,             /* whatever is at hand */
    COR_READ_NOT_OLDER_THAN,  /* at `rev` or later */
    COR_READ_EXACT,           /* at `rev`; a watch: the events after it */
    COR_READ_CONTINUE,        /* the next page, at `rev` */
    COR_READ_CONTINUE_LATEST, /* the next page, at the current revision */
};

struct cor_list_plan {
    enum cor_read_mode mode;
    cor_rev rev;          /* 0 unless the mode names it */
    struct cor_buf start; /* physical key to start at; empty unless a page continues */
};

void cor_list_plan_deinit(struct cor_list_plan *plan); /* safe on a zeroed struct */

/* `key_prefix`: the physical key of the list, with its final slash. 0, -COR_EINVAL (token or
 * resourceVersion: 400 in upstream's words; unknown match: untyped), -COR_ENOMEM. */
int cor_list_options_resolve(const struct cor_list_options *opts, struct cor_str key_prefix,
                             struct cor_list_plan *ret_plan, struct cor_status *reterr_status);

/* The list cannot be read at its revision because history was compacted. Returns -COR_EEXPIRED;
 * while a page continues, the status has a token that goes on from `start` at the latest revision.
 */
int cor_list_plan_expired(const struct cor_list_plan *plan, struct cor_str start,
                          struct cor_str key_prefix, struct cor_status *st);

struct cor_watch_plan {
    enum cor_read_mode mode; /* of the initial state, or where the events begin */
    cor_rev rev;             /* of COR_READ_NOT_OLDER_THAN and COR_READ_EXACT */
    bool initial_events;     /* the state as ADDED events first */
    bool end_bookmark;       /* then a bookmark that says so */
};

/* 0, or -COR_EINVAL (resourceVersion; untyped). */
int cor_watch_options_resolve(const struct cor_list_options *opts, struct cor_watch_plan *ret_plan,
                              struct cor_status *reterr_status);

#endif
