/* A leader election's record as a Lease of coordination.k8s.io/v1 has it.
 * Thread: any (pure). */
#ifndef COR_CLIENT_LEASE_H
#define COR_CLIENT_LEASE_H

#include "base/str.h"
#include "client/leader_election.h"
#include "meta/object.h"
#include "meta/status.h"

/* What a Lease says; fields that it lacks are 0. 0, or -COR_EINVAL (a field of another type, or a
 * holder that is too long). */
int cor_lease_read(const struct cor_object *lease, struct cor_leader_record *ret_record);

/* A new Lease. 0, -COR_ENOMEM, -COR_EINVAL. */
int cor_lease_make(struct cor_str ns, struct cor_str name, const struct cor_leader_record *record,
                   struct cor_object **ret_lease, struct cor_status *reterr);

/* `lease` with another record; all else, its resourceVersion too, is kept. Errors as above. */
int cor_lease_change(const struct cor_object *lease, const struct cor_leader_record *record,
                     struct cor_object **ret_lease, struct cor_status *reterr);

#endif
