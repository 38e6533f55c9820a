/* The controllers inside the server: one ops struct each, for controller_table.c. */
#ifndef COR_SERVER_BUILTIN_H
#define COR_SERVER_BUILTIN_H

#include "server/controllers/server_controller.h"

extern const struct cor_server_controller_ops cor_root_ca_ops;          /* root_ca.c */
extern const struct cor_server_controller_ops cor_service_accounts_ops; /* service_accounts.c */

#endif
