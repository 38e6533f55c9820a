/* The texts of ./dev bench crd: CustomResourceDefinitions, and objects of two of them. Each
 * function is a `write` of struct requests. Thread: the client's. */
#ifndef COR_BENCH_DEFINITIONS_H
#define COR_BENCH_DEFINITIONS_H

#include <stddef.h>

#include "base/buf.h"

#define DEFINITIONS_PATH  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define DEFINITIONS_GROUP "bench.example.com"
#define DEFINITIONS_TYPED "typeds"
#define DEFINITIONS_LOOSE "looses"

/* The definition of DEFINITIONS_TYPED, whose spec has 200 fields, or of DEFINITIONS_LOOSE, which
 * keeps all that it does not know. */
void definitions_add_typed(struct cor_buf *out);
void definitions_add_loose(struct cor_buf *out);

/* Definition number `i` of as many real ones: from 1,000 to 5,000 lines of YAML, with descriptions,
 * nested objects, lists by keys, enumerations, defaults and patterns. The plural is "kinds-`i`"
 * with an x in place of the hyphen. */
void definitions_add_large(struct cor_buf *out, size_t i);
/* A POST of it; `arg` is NULL. */
void definitions_write_large(struct cor_buf *out, size_t i, void *arg);

/* A POST of an object with all 200 fields; `arg` is a struct definitions_object. Objects of both
 * resources have as many bytes. */
struct definitions_object {
    const char *plural, *prefix;
};
void definitions_write_object(struct cor_buf *out, size_t i, void *arg);

/* The path of a list of the resource. */
void definitions_print_path(char *out, size_t n, const char *plural);
void definitions_print_plural(char *out, size_t n, size_t i); /* of a large one */

#endif
