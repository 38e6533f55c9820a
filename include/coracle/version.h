/* The version of the headers, and of the library that is linked. */
#ifndef CORACLE_VERSION_H
#define CORACLE_VERSION_H

#include "coracle/api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COR_VERSION "0.1.0"

/* A static text such as COR_VERSION. Thread: any. */
COR_API const char *cor_version(void);

#ifdef __cplusplus
}
#endif

#endif
