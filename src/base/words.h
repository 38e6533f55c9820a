/* Tables of words. Thread: any. */
#ifndef COR_BASE_WORDS_H
#define COR_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Is the text one of a few words? A table of many is searched by its order, or in a cor_map. */
static inline bool cor_str_is_one_of(struct cor_str text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cor_str_eqz(text, words[i]))
            return true;
    }
    return false;
}

#endif
