/* JSON for human eyes: four blanks per level, one member per line, as kubectl prints it. */
#ifndef COR_CMD_PRETTY_H
#define COR_CMD_PRETTY_H

#include <stdio.h>

#include "base/str.h"

/* `json` is valid and minified. Write errors stay in `out`. */
void pretty_print(struct cor_str json, FILE *out);

#endif
