/* What a Lease says of an election, read and written.
 * Thread: any (values). */
#ifndef COR_CLIENT_LEASE_RECORD_H
#define COR_CLIENT_LEASE_RECORD_H

#include "coracle/client_config.h"
#include "kit/election/leader_election.h"
#include "meta/object.h"
#include "meta/status.h"

#define COR_LEASE_LABELS_MAX 16

struct cor_lease_name {
    struct cor_str ns, name;
    const struct cor_string_pair *labels; /* that the Lease gets; others stay */
    size_t nlabels;                       /* at most COR_LEASE_LABELS_MAX */
};

/* What is absent is empty or 0. 0, -COR_EINVAL (a member of another type, or no time), -COR_ETOOBIG
 * (a holder beyond COR_LEADER_IDENTITY_MAX). */
int cor_lease_record_read(const struct cor_object *lease, struct cor_leader_record *ret_record);

/* The Lease with this record. `old` NULL: a new one; else it at its resourceVersion, with all that
 * the record does not have. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_lease_record_write(const struct cor_leader_record *record, const struct cor_object *old,
                           const struct cor_lease_name *name, struct cor_object **ret_lease,
                           struct cor_status *reterr);

#endif
