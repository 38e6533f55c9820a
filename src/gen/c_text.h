/* Texts of C that the writers of code share: the lines of a file, names, literals.
 * Owner: the writer of a file, for the time of a call.  Thread: one at a time. */
#ifndef COR_GEN_C_TEXT_H
#define COR_GEN_C_TEXT_H

#include "base/buf.h"
#include "gen/model.h"

#define COR_GEN_COLUMNS_MAX 100

/* The lines of a file that is being written. The first failure sticks. */
struct cor_gen_lines {
    struct cor_buf *out;
    int error; /* 0, -COR_ENOMEM, -COR_ETOOBIG */
};

void cor_gen_put(struct cor_gen_lines *l, const char *fmt, ...) COR_PRINTF(2, 3);

/* A comment of any text: words are put on lines, and nothing in it ends the comment or begins
 * another. */
void cor_gen_put_comment(struct cor_gen_lines *l, struct cor_str text);
/* A part of a comment, as it is except for what would end the comment or begin another. */
void cor_gen_put_in_comment(struct cor_gen_lines *l, struct cor_str text);
/* cor_gen_put_comment() behind so many spaces. */
void cor_gen_put_inner_comment(struct cor_gen_lines *l, unsigned indent, struct cor_str text);

/* What these return lives as long as the model, whose arena remembers a failure. */

/* cor_gen_snake() and cor_gen_upper() of a name. */
struct cor_str cor_gen_snake_of(struct cor_gen_model *model, struct cor_str name);
struct cor_str cor_gen_upper_of(struct cor_gen_model *model, struct cor_str name);

/* A text as a literal of C. What is not a plain character is written in octal, which cannot swallow
 * the characters behind it. */
struct cor_str cor_gen_literal(struct cor_gen_model *model, struct cor_str text);

/* "apps/v1", or "v1" of the core group. */
struct cor_str cor_gen_api_version(struct cor_gen_model *m, const struct cor_gen_package *p);

#endif
