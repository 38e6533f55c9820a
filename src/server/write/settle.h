/* Brings an object that an external admission plugin has made into the form of the server's own.
 * Thread: the thread that has the call (pure). */
#ifndef COR_SERVER_WRITE_SETTLE_H
#define COR_SERVER_WRITE_SETTLE_H

#include "server/admission/admission.h"

/* `settle` of the admission in a write's struct cor_write_admitted. */
int cor_write_settle(struct cor_admission *ad);

#endif
