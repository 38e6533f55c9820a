/* The compiled form of a path: what path_parse.c makes and path.c walks. */
#ifndef COR_JSON_PATH_PATH_INT_H
#define COR_JSON_PATH_PATH_INT_H

#include <stdint.h>

#include "json/path/path.h"

enum step_kind { STEP_KEY, STEP_INDEX, STEP_ALL, STEP_FILTER };

enum filter_op { FILTER_EXISTS, FILTER_EQ, FILTER_NE };

struct step {
    enum step_kind kind;
    enum filter_op op;
    enum cor_json_type literal; /* what `text` holds for a filter: STRING, NUMBER or BOOL */
    unsigned operand_n;         /* the filter's own steps, which follow it */
    int64_t index;
    struct cor_str text; /* the key, or the literal; lies behind the steps */
};

struct cor_json_path {
    unsigned n;
    struct step steps[];
};

#endif
