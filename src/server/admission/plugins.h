/* The plugins of the server, for the list in plugins.c. What each of them does is in the head of
 * its file. Thread and failures: as struct cor_admission_row has them. */
#ifndef COR_SERVER_ADMISSION_PLUGINS_H
#define COR_SERVER_ADMISSION_PLUGINS_H

#include "server/admission/admission.h"

bool cor_namespace_lifecycle_applies(const struct cor_call *call); /* namespace_lifecycle.c */
void cor_namespace_lifecycle_start(struct cor_admission *ad);
bool cor_namespace_lifecycle_protects(const struct cor_call *call);
void cor_namespace_lifecycle_start_deletion(struct cor_admission *ad);

bool cor_storage_in_use_applies(const struct cor_call *call); /* storage_in_use.c */
int cor_storage_in_use_run(struct cor_admission *ad);

#endif
