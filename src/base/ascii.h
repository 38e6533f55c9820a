/* Classes of ASCII characters, whatever the locale. A byte of another character is in none.
 * Thread: any. */
#ifndef COR_BASE_ASCII_H
#define COR_BASE_ASCII_H

#include <stdbool.h>

/* An int, so that -1 may stand for the end of a text. */
static inline bool cor_is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static inline bool cor_is_lower(int c)
{
    return c >= 'a' && c <= 'z';
}

static inline bool cor_is_letter(int c)
{
    return cor_is_lower(c) || (c >= 'A' && c <= 'Z');
}

static inline bool cor_is_alphanumeric(int c)
{
    return cor_is_letter(c) || cor_is_digit(c);
}

#endif
