/* An exchange that asks who its sender is, and what the sender may do, and waits for answers that
 * others have to give. A request whose answers are there at once keeps nothing of this.
 *
 * Owner: the exchange.  Thread: the connection's loop. */
#ifndef COR_SERVER_EXCHANGE_WAIT_H
#define COR_SERVER_EXCHANGE_WAIT_H

#include "server/access/authorizer.h"
#include "server/http/exchange_int.h"

/* Leaves what it waits for. Returns NULL; NULL is fine. */
struct cor_exchange_wait *cor_exchange_wait_free(struct cor_exchange_wait *wait);

/* Copies the head, which the HTTP layer frees when on_head returns, and charges the sender for it.
 * From on_head, when a filter waits for the first time. 0, -COR_EBUSY, -COR_ENOMEM. */
int cor_exchange_wait_keep_head(struct cor_exchange *ex);

/* Has it copied the head, and so waited in earnest? */
bool cor_exchange_wait_has_head(const struct cor_exchange_wait *wait);

/* cor_authenticate() with the delegate. 0, COR_EXCHANGE_WAITS, -COR_EUNAUTHORIZED, -COR_EBUSY,
 * -COR_ENOMEM. A review that fails does not accept the token. */
int cor_exchange_authenticate(struct cor_exchange *ex);

/* A filter that asks for access calls this first, each time that it runs; its questions are told
 * apart by their order. After the last of them is allowed it ends them. */
void cor_exchange_begin_checks(struct cor_exchange *ex);
void cor_exchange_end_checks(struct cor_exchange *ex);

/* Asks the server's authorizer. 0: it is allowed; COR_EXCHANGE_WAITS; -COR_EFORBIDDEN,
 * -COR_EUNAUTHORIZED with the Status; -COR_EINTERNAL: it could not be decided, and the Status'
 * message is upstream's plain text of code 500, unless such a failure is a refusal; -COR_EBUSY,
 * -COR_ENOMEM. */
int cor_exchange_authorize(struct cor_exchange *ex, const struct cor_attributes *a,
                           bool is_failure_forbidden);

#endif
