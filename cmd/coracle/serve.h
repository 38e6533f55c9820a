/* `coracle serve`. Thread: main. */
#ifndef COR_CMD_SERVE_H
#define COR_CMD_SERVE_H

#include "command.h"

extern const struct command serve;

#endif
