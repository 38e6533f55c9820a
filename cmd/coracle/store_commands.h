/* `coracle store …`: one file per command, each its row of the table. */
#ifndef COR_CMD_STORE_COMMANDS_H
#define COR_CMD_STORE_COMMANDS_H

#include "command.h"

extern const struct command store_put;
extern const struct command store_get;
extern const struct command store_list;
extern const struct command store_watch;
extern const struct command store_delete;
extern const struct command store_compact;
extern const struct command store_rewrite;
extern const struct command store_check;
extern const struct command store_status;
extern const struct command store_backup;

#endif
