/* clang-format off */
/* The cells of a table's row, made from the bytes of an object by the columns of its kind
 * (schema/types/columns.h).
 *
 *   cor_cells_init(&cells, &writer, object, now_us);
 *   cor_cells_write(&cells, columns);             [ "web-1", "1/1", "Running", … ]
 *   cor_cells_write_conditions(&cells, columns);  "conditions":[…], or nothing
 *
 * The bytes are canonical, as the server keeps them. Members that have another type than the kind
 * declares count as absent: a row is made of every object. Failures are the writer's.
 * Owner: the caller; it holds no memory.  Thread: one at a time. */
/* clang-format on */
#ifndef COR_SCHEMA_PRINT_CELLS_H
#define COR_SCHEMA_PRINT_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/work.h"
#include "schema/types/columns.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

/* Members of an object, and of its spec and status, that are found once for all cells. Objects have
 * fewer; what comes later is looked for again. */
#define COR_CELLS_TOPS  12
#define COR_CELLS_BELOW 64

/* A member. The value goes on to the end of the object. */
struct cor_cells_member {
    struct cor_str key, value;
};

/* What three columns of a pod show: found once for a row. */
struct cor_pod_cells {
    bool is_made;
    bool is_init; /* "Init:" precedes the reason */
    bool has_last_restart;
    int64_t restarts, last_restart_us;
    int64_t nready, ncontainers;
    struct cor_str reason; /* raw text; in the object, a constant, or `own` */
    char own[64];
};

struct cor_cells {
    struct cor_json_writer *w;
    struct cor_str object;                 /* its bytes */
    struct cor_str metadata;               /* the value of its metadata, without what follows */
    struct cor_str name, created, deleted; /* members of the metadata; p == NULL: absent */
    int64_t now_us;
    struct cor_work *work; /* what queries may read; NULL: a budget of their own */
    size_t ntops;
    struct cor_cells_top {
        struct cor_cells_member member;
        uint8_t first, n; /* its own members, in `below` */
        bool is_known;    /* they are all there */
    } tops[COR_CELLS_TOPS];
    size_t nbelow;
    struct cor_cells_member below[COR_CELLS_BELOW];
    struct cor_pod_cells pod;
};

/* Finds the members of `object`, the whole JSON of an object. Ages are counted up to `now_us`. The
 * caller may set `work` then: cells for which nothing is left of it are null, and with
 * COR_WORK_YIELD, which becomes the writer's error, the whole row is for a thread. */
void cor_cells_init(struct cor_cells *cells, struct cor_json_writer *w, struct cor_str object,
                    int64_t now_us);

/* Writes the array of cells. */
void cor_cells_write(struct cor_cells *cells, const struct cor_table_columns *columns);

/* Writes the member "conditions" inside the row's object, if the row has conditions. */
void cor_cells_write_conditions(struct cor_cells *cells, const struct cor_table_columns *columns);

/* The number that rows of the kind are sorted by (columns->order is not 0). */
int64_t cor_cells_order(struct cor_cells *cells, const struct cor_table_columns *columns);

/* --- for hooks ------------------------------------------------------------------------------ */

/* A member; p == NULL: absent, null, or no object. The value is followed by other bytes: iterate
 * over it, or read it with the functions below. */
struct cor_str cor_cells_top(const struct cor_cells *cells, const char *key);
struct cor_str cor_cell_member(struct cor_str object, const char *key);
/* Member of a member of the object: cor_cells_at(cells, "spec", "nodeName"). Of spec and status,
 * this is cheaper than cor_cell_member(). */
struct cor_str cor_cells_at(const struct cor_cells *cells, const char *key, const char *below);

/* The raw text of a string; empty: absent, empty, or no string. */
struct cor_str cor_cell_raw(struct cor_str value);
/* Is the string this text, which has no escapes? */
bool cor_cell_is(struct cor_str value, const char *text);
/* 0: absent, or no whole number. */
int64_t cor_cell_number(struct cor_str value);
bool cor_cell_true(struct cor_str value);
/* Elements of an array, members of an object; 0: neither. */
size_t cor_cell_count(struct cor_str value);
/* False: absent, no time, or Go's zero time. */
bool cor_cell_time(struct cor_str value, int64_t *ret_us);

/* Is the object being deleted? */
static inline bool cor_cells_is_deleted(const struct cor_cells *cells)
{
    return cells->deleted.p != NULL;
}

/* The first element of a list whose member "type" is `type`; p == NULL: there is none. */
struct cor_str cor_cell_of_type(struct cor_str list, const char *type);

/* Writes a whole cell: a constant text; or the raw text `raw`, or `otherwise` when it is empty. */
void cor_cells_put(struct cor_cells *cells, const char *text);
void cor_cells_put_raw(struct cor_cells *cells, struct cor_str raw, const char *otherwise);
/* In the middle of a string: raw text in lower case (A to Z), and a duration as upstream's
 * HumanDuration prints it. */
void cor_cells_add_lower(struct cor_cells *cells, struct cor_str raw);
void cor_cells_add_duration(struct cor_cells *cells, int64_t us);
/* A whole cell: how long ago the time was; "<unknown>" when there is none. */
void cor_cells_put_since(struct cor_cells *cells, struct cor_str time);
/* A whole cell: the LabelSelector as text, `empty` when it has no requirement, `invalid` when it
 * cannot be read. */
void cor_cells_put_selector(struct cor_cells *cells, struct cor_str selector, const char *empty,
                            const char *invalid);

#endif
