/* What a plain YAML scalar means, and how Go prints the numbers in it. For this folder only.
 * Thread: any (values). */
#ifndef COR_CODEC_YAML_SCALAR_H
#define COR_CODEC_YAML_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum cor_yaml_kind {
    COR_YAML_STR,
    COR_YAML_NULL,
    COR_YAML_BOOL,
    COR_YAML_INT,
    COR_YAML_FLOAT,
    COR_YAML_TIMESTAMP, /* a string that needs quotes */
};

struct cor_yaml_scalar {
    enum cor_yaml_kind kind;
    bool boolean;
    bool negative;      /* COR_YAML_INT: -magnitude */
    uint64_t magnitude; /* COR_YAML_INT */
    double number;      /* COR_YAML_FLOAT */
};

struct cor_yaml_scalar cor_yaml_resolve(struct cor_str text);

/* Returns whether other YAML 1.1 readers would read it as a base-60 number (12:30:45). */
bool cor_yaml_is_base60(struct cor_str text);

#define COR_YAML_NUMBER_MAX 40

/* encoding/json's form: 1.5, 1e+21; the value is finite. */
void cor_yaml_format_json(double v, char out[COR_YAML_NUMBER_MAX]);
/* strconv's 'g' with the shortest precision that reads back as the same float64 or float32; also
 * .inf, -.inf and .nan. */
void cor_yaml_format_g(double v, bool is_float32, char out[COR_YAML_NUMBER_MAX]);

#endif
