/* The version of these headers, and of the library that the program runs with. Until 1.0 the ABI
 * may change with the minor version, and the soname has both numbers (libcoracle.so.0.9);
 * docs/internals/libcoracle.md states the policy. */
#ifndef CORACLE_VERSION_H
#define CORACLE_VERSION_H

#include "coracle/api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COR_VERSION "0.9.0"

/* The same as a number that the preprocessor can compare: 0xMMmmpp for major, minor and patch.
 *
 *   #if COR_VERSION_NUMBER >= COR_VERSION_AT(0, 10, 0) */
#define COR_VERSION_AT(major, minor, patch) ((major)*0x10000 + (minor)*0x100 + (patch))
#define COR_VERSION_NUMBER                  COR_VERSION_AT(0, 9, 0)

/* The version of the library, in the same two forms: a static text, and a number. Thread: any. */
COR_API const char *cor_version(void);
COR_API unsigned cor_version_number(void);

#ifdef __cplusplus
}
#endif

#endif
