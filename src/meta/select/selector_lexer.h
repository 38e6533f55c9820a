/* The lexical rules of label selectors and field selectors, which share their symbols.
 *
 * A label selector is read word by word. Every text has words: whatever is neither blank nor one of
 * the symbols = ! ( ) , > < belongs to an identifier, so that lexing cannot fail.
 * A field selector is cut into terms at its commas, and a term is split at its first operator.
 * Blanks and the other symbols belong to field and value there. Thread: one at a time.  Owner: the
 * parser; words borrow from the text. */
#ifndef COR_META_SELECT_SELECTOR_LEXER_H
#define COR_META_SELECT_SELECTOR_LEXER_H

#include "base/str.h"

enum cor_selector_token {
    COR_SELECTOR_TOKEN_END,
    COR_SELECTOR_TOKEN_IDENTIFIER,
    COR_SELECTOR_TOKEN_IN, /* `in` and `notin` are identifiers where the parser wants one */
    COR_SELECTOR_TOKEN_NOT_IN,
    COR_SELECTOR_TOKEN_OPEN,
    COR_SELECTOR_TOKEN_CLOSE,
    COR_SELECTOR_TOKEN_COMMA,
    COR_SELECTOR_TOKEN_NOT,
    COR_SELECTOR_TOKEN_NOT_EQUALS,
    COR_SELECTOR_TOKEN_EQUALS,
    COR_SELECTOR_TOKEN_DOUBLE_EQUALS,
    COR_SELECTOR_TOKEN_GREATER,
    COR_SELECTOR_TOKEN_LESS,
};

struct cor_selector_lexer {
    struct cor_str rest; /* what was not read yet */
};

/* The next word and, in `ret_text`, its bytes (empty at the end). */
enum cor_selector_token cor_selector_lexer_next(struct cor_selector_lexer *lexer,
                                                struct cor_str *ret_text);

/* Cuts the next term of a field selector off `rest`, whose `p` is NULL after the last one. A comma
 * after a backslash belongs to its term. */
struct cor_str cor_selector_cut_term(struct cor_str *rest);

/* Splits a term of a field selector at its first operator. Returns COR_SELECTOR_TOKEN_EQUALS,
 * _DOUBLE_EQUALS or _NOT_EQUALS, or _END when the term has no operator (nothing is set then). The
 * value still has its escapes. */
enum cor_selector_token cor_selector_split_term(struct cor_str term, struct cor_str *ret_field,
                                                struct cor_str *ret_value);

#endif
