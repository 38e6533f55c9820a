/* clang-format off */
/* A parser by descent; each function takes what it names from the front of the text, or leaves the
 * text as it was and returns false.
 *
 *   address     addr-spec [comment] | [phrase] "<" addr-spec ">" | phrase ":" [address] ";"
 *   addr-spec   (dot-atom | quoted-string) "@" (dot-atom | "[" literal "]")
 *   phrase      word {word}, word = atom with any dots | quoted-string
 *
 * Thread: any (pure). */
/* clang-format on */
#include "schema/structural/email.h"

#include <string.h>

static bool is_printable(char c)
{
    return (c >= '!' && c <= '~') || (unsigned char)c >= 0x80;
}

static bool is_atom_char(char c)
{
    return is_printable(c) && !strchr("()<>[]:;@\\,\"", c);
}

static void skip_space(struct cor_str *text)
{
    while (text->n > 0 && (text->p[0] == ' ' || text->p[0] == '\t'))
        *text = cor_str_from(*text, 1);
}

static bool take(struct cor_str *text, char c)
{
    if (text->n == 0 || text->p[0] != c)
        return false;
    *text = cor_str_from(*text, 1);
    return true;
}

/* A comment in parentheses, which may hold others. */
static bool take_comment(struct cor_str *text)
{
    size_t depth = 0;

    for (size_t i = 0; i < text->n; i++) {
        char c = text->p[i];

        if (c == '\\' && i + 1 < text->n)
            i++;
        else if (c == '(')
            depth++;
        else if (c == ')' && --depth == 0) {
            *text = cor_str_from(*text, i + 1);
            return true;
        }
    }
    return false;
}

/* Spaces and comments; false: a comment has no end. */
static bool skip_comments(struct cor_str *text)
{
    for (skip_space(text); text->n > 0 && text->p[0] == '('; skip_space(text)) {
        if (!take_comment(text))
            return false;
    }
    return true;
}

/* `any_dots`: dots may also are at the ends and beside each other. */
static bool take_atom(struct cor_str *text, bool any_dots)
{
    size_t n = 0;

    while (n < text->n && is_atom_char(text->p[n])) {
        bool is_bad_dot = text->p[n] == '.' && (n == 0 || text->p[n - 1] == '.');

        if (is_bad_dot && !any_dots)
            return false;
        n++;
    }
    if (n == 0 || (!any_dots && text->p[n - 1] == '.'))
        return false;
    *text = cor_str_from(*text, n);
    return true;
}

/* `ret_n` is the length of what is quoted. */
static bool take_quoted(struct cor_str *text, size_t *ret_n)
{
    *ret_n = 0;
    for (size_t i = 1; i < text->n; i++) {
        char c = text->p[i];

        if (c == '"') {
            *text = cor_str_from(*text, i + 1);
            return true;
        }
        if (c == '\\' && ++i < text->n)
            c = text->p[i];
        if (!is_printable(c) && c != ' ' && c != '\t')
            return false;
        (*ret_n)++;
    }
    return false;
}

static bool take_literal(struct cor_str *text)
{
    for (size_t i = 1; i < text->n; i++) {
        if (text->p[i] == ']') {
            *text = cor_str_from(*text, i + 1);
            return true;
        }
        if (!is_printable(text->p[i]) || text->p[i] == '[' || text->p[i] == '\\')
            return false;
    }
    return false;
}

static bool take_spec(struct cor_str *text)
{
    struct cor_str rest = *text;
    size_t quoted = 1;

    skip_space(&rest);
    if (rest.n > 0 && rest.p[0] == '"' ? !take_quoted(&rest, &quoted) : !take_atom(&rest, false))
        return false;
    if (quoted == 0 || !take(&rest, '@'))
        return false;
    skip_space(&rest);
    if (rest.n > 0 && rest.p[0] == '[' ? !take_literal(&rest) : !take_atom(&rest, false))
        return false;
    *text = rest;
    return true;
}

static bool take_phrase(struct cor_str *text)
{
    size_t words = 0, ignored;

    for (;;) {
        struct cor_str rest = *text;

        if (words > 0 && !skip_comments(&rest))
            return false;
        skip_space(&rest);
        if (rest.n > 0 && rest.p[0] == '"' ? !take_quoted(&rest, &ignored)
                                           : !take_atom(&rest, true))
            break;
        words++;
        *text = rest;
    }
    return words > 0 && skip_comments(text);
}

static bool take_address(struct cor_str *text, bool may_be_group)
{
    skip_space(text);
    if (take_spec(text)) {
        skip_space(text);
        return text->n == 0 || text->p[0] != '(' || take_comment(text);
    }
    if (text->n > 0 && text->p[0] != '<' && !take_phrase(text))
        return false;
    skip_space(text);
    if (may_be_group && take(text, ':')) {
        if (!take_address(text, false) || !skip_comments(text))
            return false;
        return take(text, ';');
    }
    return take(text, '<') && take_spec(text) && take(text, '>');
}

bool cor_email_is_address(struct cor_str text)
{
    return take_address(&text, true) && skip_comments(&text) && text.n == 0;
}
