#include "meta/label_lexer.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_symbol(char c)
{
    return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '>' || c == '<';
}

static enum cor_label_token symbol(struct cor_str rest, size_t *ret_n)
{
    bool equals_follows = rest.n > 1 && rest.p[1] == '=';

    *ret_n = 1;
    switch (rest.p[0]) {
    case '(':
        return COR_LABEL_TOKEN_OPEN;
    case ')':
        return COR_LABEL_TOKEN_CLOSE;
    case ',':
        return COR_LABEL_TOKEN_COMMA;
    case '>':
        return COR_LABEL_TOKEN_GREATER;
    case '<':
        return COR_LABEL_TOKEN_LESS;
    case '!':
        *ret_n += equals_follows;
        return equals_follows ? COR_LABEL_TOKEN_NOT_EQUALS : COR_LABEL_TOKEN_NOT;
    default:
        *ret_n += equals_follows;
        return equals_follows ? COR_LABEL_TOKEN_DOUBLE_EQUALS : COR_LABEL_TOKEN_EQUALS;
    }
}

static enum cor_label_token word(struct cor_str text)
{
    if (cor_str_eq(text, COR_STR("in")))
        return COR_LABEL_TOKEN_IN;
    if (cor_str_eq(text, COR_STR("notin")))
        return COR_LABEL_TOKEN_NOT_IN;
    return COR_LABEL_TOKEN_IDENTIFIER;
}

/* A NUL ends the text where a word would begin, and is swallowed where it ends one: what a client
 * can observe of upstream's reader, which takes NUL for its end mark. */
enum cor_label_token cor_label_lexer_next(struct cor_label_lexer *lexer, struct cor_str *ret_text)
{
    enum cor_label_token token;
    struct cor_str rest = lexer->rest;
    size_t n = 0;

    while (rest.n > 0 && is_blank(rest.p[0]))
        rest = cor_str_from(rest, 1);
    if (rest.n == 0 || rest.p[0] == '\0') {
        lexer->rest = rest;
        *ret_text = COR_STR("");
        return COR_LABEL_TOKEN_END;
    }
    if (is_symbol(rest.p[0])) {
        token = symbol(rest, &n);
        *ret_text = cor_str(rest.p, n);
    } else {
        while (n < rest.n && rest.p[n] && !is_symbol(rest.p[n]) && !is_blank(rest.p[n]))
            n++;
        *ret_text = cor_str(rest.p, n);
        token = word(*ret_text);
        n += n < rest.n && rest.p[n] == '\0';
    }
    lexer->rest = cor_str_from(rest, n);
    return token;
}
