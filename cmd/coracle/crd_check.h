#ifndef COR_CMD_CRD_CHECK_H
#define COR_CMD_CRD_CHECK_H

#include "command.h"

extern const struct command crd_check;

#endif
