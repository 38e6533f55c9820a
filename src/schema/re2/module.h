/* What the module of regular expressions offers. The module is the only file in C++ and the only
 * one that sees RE2; it is a shared object that is loaded when the first pattern is compiled
 * (schema/structural/pattern.c), so that a server whose schemas have no pattern does not pay for
 * RE2 and the library of C++.
 * Thread: any; a compiled pattern may be matched by several threads at once. */
#ifndef COR_SCHEMA_RE2_MODULE_H
#define COR_SCHEMA_RE2_MODULE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both sides must have the same. */
#define COR_RE2_MODULE_VERSION 2
/* The name of the struct below in the module. */
#define COR_RE2_MODULE_SYMBOL "cor_re2_module"

/* What is wrong with a pattern. */
enum cor_re2_mistake {
    COR_RE2_NO_MISTAKE,
    COR_RE2_NO_MEMORY,
    COR_RE2_INTERNAL,
    COR_RE2_BAD_ESCAPE,
    COR_RE2_BAD_CLASS,
    COR_RE2_BAD_RANGE,
    COR_RE2_MISSING_BRACKET,
    COR_RE2_MISSING_PARENTHESIS,
    COR_RE2_UNEXPECTED_PARENTHESIS,
    COR_RE2_TRAILING_BACKSLASH,
    COR_RE2_NOTHING_TO_REPEAT,
    COR_RE2_BAD_REPEAT_COUNT,
    COR_RE2_NESTED_REPEAT,
    COR_RE2_BAD_PERL,
    COR_RE2_BAD_UTF8,
    COR_RE2_BAD_NAME,
    COR_RE2_TOO_LARGE,
};

struct cor_re2_module {
    int version;
    /* A compiled pattern that takes at most `max_bytes`. NULL: it has a mistake; the part of the
     * pattern that is wrong is copied to `part`, at most `cap` bytes of it, with its length. */
    void *(*compile)(const char *pattern, size_t n, size_t max_bytes, enum cor_re2_mistake *mistake,
                     char *part, size_t cap, size_t *part_n);
    /* Does the pattern match anywhere in the text? 1, 0, -1: out of memory. */
    int (*match)(const void *compiled, const char *text, size_t n);
    /* The states that the pattern can be in at once, at most. Without memory for its usual way, RE2
     * goes through all of them for each byte. */
    size_t (*states)(const void *compiled);
    void (*release)(void *compiled);
};

#ifdef __cplusplus
}
#endif

#endif
