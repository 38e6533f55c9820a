/* Walking UTF-8 one code point at a time. Overlong forms, surrogates and numbers above U+10FFFF are
 * invalid.
 * Thread: any (pure). */
#ifndef COR_BASE_UTF8_H
#define COR_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define COR_UTF8_INVALID UINT32_MAX

/* The length in bytes of the first code point of `s`, which is not empty; `ret_cp` gets it. An
 * invalid byte counts alone, as COR_UTF8_INVALID. */
size_t cor_utf8_first(struct cor_str s, uint32_t *ret_cp);

/* Returns whether it may affect a terminal or what a human sees. Controls do; those of the C1 block
 * reach a terminal like escape sequences, U+2028 and U+2029 end a line for some readers, and the
 * bidirectional controls reorder text. */
bool cor_utf8_is_control(uint32_t cp);

/* Position of the first invalid byte, or -1. */
ptrdiff_t cor_utf8_find_invalid(struct cor_str s);

#endif
