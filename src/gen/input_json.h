/* The text of an input as canonical JSON. */
#ifndef COR_GEN_INPUT_JSON_H
#define COR_GEN_INPUT_JSON_H

#include "base/buf.h"
#include "gen/model.h"

#define COR_GEN_INPUT_MAX (256u * 1024 * 1024)

/* Appends one document, YAML or JSON, whose keys are then sorted. 0, -COR_EINVAL (not such a text,
 * or too much of it: the message has the file and the place), -COR_ENOMEM. */
int cor_gen_input_json(const char *file, struct cor_str text, struct cor_buf *out,
                       struct cor_gen_error *reterr);

#endif
