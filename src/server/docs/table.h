/* Objects as kubectl's tables show them: meta.k8s.io's Table. The columns of each kind and their
 * cells are those of schema/types/columns.h and schema/print/cells.h.
 * Thread: any (pure). */
#ifndef COR_SERVER_TABLE_H
#define COR_SERVER_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/work.h"
#include "meta/object/object.h"
#include "meta/status/status.h"
#include "schema/types/columns.h"
#include "json/write/writer.h"

/* How much of its object a row contains. */
enum cor_table_include { COR_TABLE_METADATA, COR_TABLE_OBJECT, COR_TABLE_NONE };

/* "" is Metadata. 0, -COR_EINVAL (400). */
int cor_table_include_parse(struct cor_str text, enum cor_table_include *ret,
                            struct cor_status *reterr_status);

/* `[{"name":"Name",…},…]` */
void cor_table_columns(struct cor_json_writer *w, const struct cor_table_columns *columns);

/* `"kind":"Table","apiVersion":…`, inside an object. */
void cor_table_type(struct cor_json_writer *w, bool is_v1beta1);

struct cor_table_opts {
    const struct cor_table_columns *columns;
    enum cor_table_include include;
    int64_t now_us; /* the time up to which ages are counted */
    bool is_v1beta1;
    bool has_columns;      /* false: the columns are null, as in a watch after its first event */
    bool shows_cells;      /* the cells and the metadata are those of `shown` */
    struct cor_work *work; /* is charged for cells; NULL: nobody counts */
};

/* `{"cells":[…],"conditions":[…],"object":…}`. The cells and the metadata are those of `object`,
 * which the columns are for, unless the options say otherwise; `shown` is the same object in the
 * version that the client asked for, which a row with whole objects has. The writer's error is
 * COR_WORK_YIELD when the row is too much for a loop. */
void cor_table_row(struct cor_json_writer *w, const struct cor_table_opts *opts,
                   const struct cor_object *object, const struct cor_object *shown);

/* A whole table of one object. */
void cor_table_of_object(struct cor_json_writer *w, const struct cor_table_opts *opts,
                         const struct cor_object *object, const struct cor_object *shown);

/* The beginning of a PartialObjectMetadata up to the value of metadata; `}` ends it. */
struct cor_str cor_partial_head(bool is_v1beta1);
/* "meta.k8s.io/v1" or v1beta1. */
struct cor_str cor_partial_api_version(bool is_v1beta1);

#endif
