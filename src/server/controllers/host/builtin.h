/* The controllers inside the server: one ops struct each, for controller_table.c. */
#ifndef COR_SERVER_CONTROLLERS_HOST_BUILTIN_H
#define COR_SERVER_CONTROLLERS_HOST_BUILTIN_H

#include "server/controllers/host/server_controller.h"

extern const struct cor_server_controller_ops cor_garbage_collector_ops; /* gc_controller.c */
extern const struct cor_server_controller_ops cor_namespaces_ops;       /* namespace_controller.c */
extern const struct cor_server_controller_ops cor_claim_protection_ops; /* protection.c */
extern const struct cor_server_controller_ops cor_volume_protection_ops;  /* protection.c */
extern const struct cor_server_controller_ops cor_class_protection_ops;   /* protection.c */
extern const struct cor_server_controller_ops cor_resource_quota_ops;     /* resource_quota.c */
extern const struct cor_server_controller_ops cor_role_aggregation_ops;   /* role_aggregation.c */
extern const struct cor_server_controller_ops cor_root_ca_ops;            /* root_ca.c */
extern const struct cor_server_controller_ops cor_service_accounts_ops;   /* service_accounts.c */
extern const struct cor_server_controller_ops cor_service_repair_ops;     /* service_repair.c */
extern const struct cor_server_controller_ops cor_ttl_after_finished_ops; /* ttl_after_finished.c */

#endif
