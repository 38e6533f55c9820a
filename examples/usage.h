/* The arguments of the example programs: how many there may be, -h and --help. */
#ifndef EXAMPLES_USAGE_H
#define EXAMPLES_USAGE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns when there are `min` to `max` arguments and the first is not an option. Otherwise it
 * prints `text`, which begins with the program's name, and exits: with 0 if help was asked for,
 * else 2. */
static inline void usage(int argc, char **argv, int min, int max, const char *text)
{
    bool has_option = argc > 1 && argv[1][0] == '-';
    bool asked = has_option && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0);

    if (!has_option && argc - 1 >= min && argc - 1 <= max)
        return;
    fprintf(asked ? stdout : stderr, "usage: %s\n", text);
    exit(asked ? 0 : 2);
}

#endif
