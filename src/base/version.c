/* The version of the library that a program runs with, which may be later than that of the headers
 * with which it was compiled. Thread: any. */
#include "coracle/version.h"

const char *cor_version(void)
{
    return COR_VERSION;
}

unsigned cor_version_number(void)
{
    return COR_VERSION_NUMBER;
}
