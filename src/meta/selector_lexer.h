/* The words of a label selector. Every text has words: whatever is neither blank nor one of the
 * symbols = ! ( ) , > < belongs to an identifier, so lexing cannot fail.
 * Thread: one at a time.  Owner: the parser; words borrow from the text. */
#ifndef COR_META_LABEL_LEXER_H
#define COR_META_LABEL_LEXER_H

#include "base/str.h"

enum cor_label_token {
    COR_LABEL_TOKEN_END,
    COR_LABEL_TOKEN_IDENTIFIER,
    COR_LABEL_TOKEN_IN, /* `in` and `notin` are identifiers where the parser wants one */
    COR_LABEL_TOKEN_NOT_IN,
    COR_LABEL_TOKEN_OPEN,
    COR_LABEL_TOKEN_CLOSE,
    COR_LABEL_TOKEN_COMMA,
    COR_LABEL_TOKEN_NOT,
    COR_LABEL_TOKEN_NOT_EQUALS,
    COR_LABEL_TOKEN_EQUALS,
    COR_LABEL_TOKEN_DOUBLE_EQUALS,
    COR_LABEL_TOKEN_GREATER,
    COR_LABEL_TOKEN_LESS,
};

struct cor_label_lexer {
    struct cor_str rest; /* what was not read yet */
};

/* The next word and, in `ret_text`, its bytes (empty at the end). */
enum cor_label_token cor_label_lexer_next(struct cor_label_lexer *lexer, struct cor_str *ret_text);

#endif
