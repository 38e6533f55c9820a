#include "coracle/version.h"

const char *cor_version(void)
{
    return COR_VERSION;
}

unsigned cor_version_number(void)
{
    return COR_VERSION_NUMBER;
}
