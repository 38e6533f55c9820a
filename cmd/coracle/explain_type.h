/* The row of `coracle explain-type`. */
#ifndef COR_CMD_EXPLAIN_TYPE_H
#define COR_CMD_EXPLAIN_TYPE_H

#include "command.h"

extern const struct command explain_type;

#endif
