/* The compiled form of a query: what query_parse.c makes and query.c walks. */
#ifndef COR_JSON_PATH_QUERY_INT_H
#define COR_JSON_PATH_QUERY_INT_H

#include <stdbool.h>

#include "json/path/query.h"

enum query_kind {
    QUERY_FIELD,     /* a member: `text` */
    QUERY_SLICE,     /* elements of an array: `bounds` */
    QUERY_ALL,       /* everything in a value */
    QUERY_RECURSIVE, /* everything in a value, and below */
    QUERY_FILTER,    /* elements that pass: `left`, `right`, `op` */
    QUERY_UNION,     /* the results of each of `branches` */
    QUERY_TEXT,      /* literals */
    QUERY_INT,
    QUERY_FLOAT,
    QUERY_BOOL,
    QUERY_WORD, /* an identifier, which nothing can be done with: `text` */
};

enum query_op {
    QUERY_OP_EXISTS,
    QUERY_OP_EQ,
    QUERY_OP_NE,
    QUERY_OP_LT,
    QUERY_OP_LE,
    QUERY_OP_GT,
    QUERY_OP_GE,
    QUERY_OP_UNKNOWN, /* it fails when it is evaluated, not before */
};

/* Nodes that are applied one after the other. */
struct query_list {
    struct query_node *first, *last;
    struct query_list *next; /* the next branch of a union, or the next expression */
};

/* A bound of a slice. Which one is absent is known after a look at the array. */
struct query_bound {
    bool is_known;
    bool is_derived; /* the index that follows the only one in the brackets */
    int64_t value;
};

struct query_node {
    enum query_kind kind;
    enum query_op op;
    struct query_node *next;
    struct cor_str text;
    int64_t integer;
    double real;
    struct query_bound bounds[3]; /* begin, end, step */
    struct query_list left, right;
    struct query_list *branches;
};

struct cor_json_query {
    struct query_list *expressions; /* the result is that of the first one */
};

#endif
