#include "coracle/version.h"

const char *cor_version(void)
{
    return COR_VERSION;
}
