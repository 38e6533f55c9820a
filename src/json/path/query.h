/* clang-format off */
/* Queries are JSONPath as client-go's package jsonpath understands it, whole: what columns of custom
 * resources are written in. json/path/path.h has the part of that language that needs no memory to
 * evaluate; a query has all of it, with upstream's peculiarities (contract crd 4.13.6):
 *
 *   .spec.a  .a\.b  ['a\.b']        members; ['a.b'] means .a.b, and a lone dot is the member ""
 *   [0]  [-1]  [1:3]  [::2]  [*]    elements of arrays; an index outside of its array is a failure
 *   .*                              all elements, members, or bytes of a text
 *   [0,2]  ['a','b']                the results of several brackets, one after the other
 *   ..a  ..                         everything below, in the order of the bytes
 *   [?(@.a)]  [?(@.a==5)]           the elements that pass; == != < > <= >= compare values of one type
 *   'text'  5  1.5  true            literals
 *   }…{                             ends an expression and begins another, whose result is not used
 *
 * A member that is absent has no result, which is not a failure. `range` and `end`, which only
 * templates of several expressions can use, fail.
 * Thread: any (immutable).  Owner: the arena that it was compiled into. */
/* clang-format on */
#ifndef COR_JSON_PATH_QUERY_H
#define COR_JSON_PATH_QUERY_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/work.h"
#include "coracle/json_path.h"

#define COR_JSON_QUERY_BYTES_MAX 4096

struct cor_json_query;

/* Compiles the text of an expression without its braces into `arena`; `text` is not kept. 0,
 * -COR_EINVAL, -COR_ETOOBIG (longer than the maximum, or the arena is full), -COR_ENOMEM (the
 * arena's). `reterr` (may be NULL) gets the reason for the first two. */
int cor_json_query_new(struct cor_arena *arena, struct cor_str text,
                       const struct cor_json_query **ret_query, struct cor_json_error *reterr);

enum cor_json_result_kind {
    COR_JSON_RESULT_JSON, /* a value of the JSON: `text` is its bytes */
    COR_JSON_RESULT_TEXT, /* a text of the query: `text` is its bytes, which may be any */
    COR_JSON_RESULT_INT,  /* a number of the query: `integer` */
    COR_JSON_RESULT_FLOAT,
    COR_JSON_RESULT_BOOL, /* `integer` is 0 or 1 */
    COR_JSON_RESULT_BYTE, /* of a text of the JSON: `integer` */
};

struct cor_json_result {
    enum cor_json_result_kind kind;
    struct cor_str text; /* borrowed from the JSON or the query */
    int64_t integer;
    double real;
};

/* The first result in `json`, canonical bytes. Work is linear in the bytes of `json`: a query that
 * would walk over them more than a few times has no result. `work` is charged a step for each
 * COR_WORK_STEP_BYTES that are read, or as much for each value and node. 0, -COR_ENOTFOUND (no
 * result, or the evaluation failed), -COR_ENOMEM, -COR_ETOOBIG or COR_WORK_YIELD (`work` is used
 * up; its steps say so from now on). */
int cor_json_query_first(const struct cor_json_query *query, struct cor_str json,
                         struct cor_work *work, struct cor_json_result *ret_result);

#endif
