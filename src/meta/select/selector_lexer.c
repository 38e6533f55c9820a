/* Words, terms and operators of selectors (see the header). Nothing here allocates or fails: what a
 * word or a term means, and whether it is allowed, is for the parsers (label_parser.c,
 * field_selector.c). */
#include "meta/select/selector_lexer.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_symbol(char c)
{
    return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '>' || c == '<';
}

/* The symbol at the start of `rest`, which begins with one, and its length: an operator of two
 * characters is one symbol. */
static enum cor_selector_token read_symbol(struct cor_str rest, size_t *ret_n)
{
    bool equals_follows = rest.n > 1 && rest.p[1] == '=';

    *ret_n = 1;
    switch (rest.p[0]) {
    case '(':
        return COR_SELECTOR_TOKEN_OPEN;
    case ')':
        return COR_SELECTOR_TOKEN_CLOSE;
    case ',':
        return COR_SELECTOR_TOKEN_COMMA;
    case '>':
        return COR_SELECTOR_TOKEN_GREATER;
    case '<':
        return COR_SELECTOR_TOKEN_LESS;
    case '!':
        *ret_n += equals_follows;
        return equals_follows ? COR_SELECTOR_TOKEN_NOT_EQUALS : COR_SELECTOR_TOKEN_NOT;
    default:
        *ret_n += equals_follows;
        return equals_follows ? COR_SELECTOR_TOKEN_DOUBLE_EQUALS : COR_SELECTOR_TOKEN_EQUALS;
    }
}

static enum cor_selector_token word_token(struct cor_str text)
{
    if (cor_str_eq(text, COR_STR("in")))
        return COR_SELECTOR_TOKEN_IN;
    if (cor_str_eq(text, COR_STR("notin")))
        return COR_SELECTOR_TOKEN_NOT_IN;
    return COR_SELECTOR_TOKEN_IDENTIFIER;
}

/* A NUL ends the text where a word would begin, and is skipped where it ends a word. This is what a
 * client can observe of upstream's reader, which uses NUL as its end mark. */
enum cor_selector_token cor_selector_lexer_next(struct cor_selector_lexer *lexer,
                                                struct cor_str *ret_text)
{
    enum cor_selector_token token;
    struct cor_str rest = lexer->rest;
    size_t n = 0;

    while (rest.n > 0 && is_blank(rest.p[0]))
        rest = cor_str_from(rest, 1);
    if (rest.n == 0 || rest.p[0] == '\0') {
        lexer->rest = rest;
        *ret_text = COR_STR("");
        return COR_SELECTOR_TOKEN_END;
    }
    if (is_symbol(rest.p[0])) {
        token = read_symbol(rest, &n);
        *ret_text = cor_str(rest.p, n);
    } else {
        while (n < rest.n && rest.p[n] && !is_symbol(rest.p[n]) && !is_blank(rest.p[n]))
            n++;
        *ret_text = cor_str(rest.p, n);
        token = word_token(*ret_text);
        n += n < rest.n && rest.p[n] == '\0';
    }
    lexer->rest = cor_str_from(rest, n);
    return token;
}

struct cor_str cor_selector_cut_term(struct cor_str *rest)
{
    struct cor_str term = *rest;

    for (size_t i = 0; i < rest->n; i++) {
        if (rest->p[i] == '\\') {
            i++;
        } else if (rest->p[i] == ',') {
            term.n = i;
            *rest = cor_str_from(*rest, i + 1);
            return term;
        }
    }
    *rest = cor_str(NULL, 0);
    return term;
}

enum cor_selector_token cor_selector_split_term(struct cor_str term, struct cor_str *ret_field,
                                                struct cor_str *ret_value)
{
    for (size_t i = 0; i < term.n; i++) {
        enum cor_selector_token token;
        size_t n;

        if (term.p[i] != '=' && term.p[i] != '!')
            continue;
        token = read_symbol(cor_str_from(term, i), &n);
        if (token == COR_SELECTOR_TOKEN_NOT)
            continue;
        *ret_field = cor_str(term.p, i);
        *ret_value = cor_str_from(term, i + n);
        return token;
    }
    return COR_SELECTOR_TOKEN_END;
}
