/* Addresses of electronic mail as Go's mail.ParseAddress() reads them: RFC 5322 with a display
 * name, comments and a group of one address. Thread: any (pure). */
#ifndef COR_SCHEMA_STRUCTURAL_EMAIL_H
#define COR_SCHEMA_STRUCTURAL_EMAIL_H

#include <stdbool.h>

#include "base/str.h"

/* Is the text one address? The work is linear in the text. */
bool cor_email_is_address(struct cor_str text);

#endif
