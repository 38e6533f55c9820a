/* Server-side apply of a configuration to the present object of a write.
 * Thread: the thread that has the call (pure). */
#ifndef COR_SERVER_WRITE_STAGE_APPLY_H
#define COR_SERVER_WRITE_STAGE_APPLY_H

#include "server/write/write_phases.h"

/* Applies the configuration `sent`, YAML or JSON, to the present object, or to nothing when an
 * object is created: sets `json`, `text`, `yaml_dups` and `managed`. 0, or a failure in the status.
 */
int cor_write_apply_config(const struct cor_applying *write, struct cor_str sent);

#endif
