/* The error table is public: see there. */
#ifndef COR_BASE_ERR_H
#define COR_BASE_ERR_H

#include "coracle/err.h"

#endif
