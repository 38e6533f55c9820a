/* Splits names into words. A word begins at a capital after a small letter or a digit, and at the
 * last capital of a run that small letters follow (the D of CSIDriver), except when all that
 * follows the run is the s of a plural (IPs). A version is a word (openAPIV3Schema). */
#include "gen/c_name.h"

#include <ctype.h>

static bool is_upper(struct cor_str s, size_t i)
{
    return i < s.n && s.p[i] >= 'A' && s.p[i] <= 'Z';
}

static bool is_lower(struct cor_str s, size_t i)
{
    return i < s.n && s.p[i] >= 'a' && s.p[i] <= 'z';
}

static bool is_digit(struct cor_str s, size_t i)
{
    return i < s.n && s.p[i] >= '0' && s.p[i] <= '9';
}

static bool begins_word(struct cor_str s, size_t i)
{
    bool is_plural_end = i + 1 < s.n && s.p[i + 1] == 's' && !is_lower(s, i + 2);

    if (i == 0 || !is_upper(s, i))
        return false;
    return is_lower(s, i - 1) || is_digit(s, i - 1) || (s.p[i] == 'V' && is_digit(s, i + 1)) ||
           (is_upper(s, i - 1) && is_lower(s, i + 1) && !is_plural_end);
}

static int add_words(struct cor_str name, struct cor_buf *out, int (*change)(int))
{
    size_t start = out->n;

    for (size_t i = 0; i < name.n; i++) {
        bool is_part = is_upper(name, i) || is_lower(name, i) || is_digit(name, i);
        int r = 0;

        /* Words are separated by one underscore; a name does not begin with one. */
        if ((!is_part || begins_word(name, i)) && out->n > start && out->p[out->n - 1] != '_')
            r = cor_buf_addc(out, '_');
        if (r == 0 && is_part)
            r = cor_buf_addc(out, (char)change((unsigned char)name.p[i]));
        if (r < 0)
            return r;
    }
    if (out->n > start && out->p[out->n - 1] == '_')
        cor_buf_truncate(out, out->n - 1);
    return 0;
}

int cor_gen_snake(struct cor_str name, struct cor_buf *out)
{
    return add_words(name, out, tolower);
}

int cor_gen_upper(struct cor_str name, struct cor_buf *out)
{
    return add_words(name, out, toupper);
}
