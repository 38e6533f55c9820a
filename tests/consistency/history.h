/* What happened, in the order of revisions, and whether a watcher saw exactly that. The history is
 * what one watcher of everything has seen; history_add() checks that it makes sense by itself, and
 * history_check() compares another watcher's part with it.
 * Thread: one.  Owner: whoever embeds it. */
#ifndef COR_TEST_HISTORY_H
#define COR_TEST_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPACES 3
#define NAMES  16
#define KEYS   (SPACES * NAMES) /* key = namespace * NAMES + name */
#define ANY    (-1)

enum event_type { EVENT_ADDED, EVENT_MODIFIED, EVENT_DELETED, EVENT_BOOKMARK };

/* What an object says of itself. */
struct content {
    uint32_t token; /* of the write that made it; 0: there is no object */
    uint8_t color, node;
};

struct event {
    enum event_type type;
    uint16_t key;
    uint64_t rev;
    struct content content;  /* DELETED: the last one */
    struct content previous; /* filled in by history_add() */
    bool is_marked;          /* the object has a deletionTimestamp */
};

/* What a watcher selects; ANY where it does not. */
struct scope {
    int space, name, color, not_color, node;
};

#define SCOPE_ALL ((struct scope){ANY, ANY, ANY, ANY, ANY})

bool scope_has(const struct scope *scope, unsigned key, struct content content);

struct events {
    struct event *v;
    size_t n, cap;
};

void events_add(struct events *events, const struct event *event);
void events_deinit(struct events *events);

struct state {
    uint64_t revs[KEYS]; /* 0: absent */
    struct content contents[KEYS];
};

struct history {
    struct events events;
    struct state state; /* after the last event */
    uint64_t rev;       /* of the last event or bookmark */
    uint64_t whole;     /* complete up to here: the last revision may have more events */
};

/* Why something is wrong: the first reason stays. */
struct verdict {
    bool is_wrong;
    char text[400];
};
void verdict_set(struct verdict *verdict, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

void history_add(struct history *h, const struct event *event, struct verdict *verdict);
void history_deinit(struct history *h);

/* Only what `scope` selects. */
void history_state(const struct history *h, const struct scope *scope, uint64_t rev,
                   struct state *ret_state);

/* The revision of the last event that a watcher of `scope` sees; 0 without one. */
uint64_t history_last(const struct history *h, const struct scope *scope);

enum start {
    START_LIST,    /* a list, then a watch from its revision */
    START_INITIAL, /* sendInitialEvents: the bookmark tells where the initial ones end */
    START_NOW,     /* resourceVersion unset */
    START_ANY,     /* resourceVersion=0 */
    START_OLD,     /* a revision of long ago, without a state before it */
};

/* What a watcher saw from one start on, across any number of resumes. */
struct segment {
    struct scope scope;
    enum start start;
    bool has_begun;       /* LIST, INITIAL: the initial state is complete */
    size_t ninitial;      /* LIST, INITIAL: events that are the initial state */
    uint64_t from;        /* LIST, INITIAL, OLD: its revision */
    uint64_t known_rev;   /* what had been acknowledged when it started */
    struct events events; /* type ADDED for what was listed */
};

/* Is the segment what `scope` selects of the history, nothing lost, repeated or out of order? The
 * history must reach the segment's last revision. */
void history_check(const struct history *h, const struct segment *segment, struct verdict *verdict);

#endif
