/* Reads and writes the record of an election in a Lease.
 * Thread: any (values). */
#ifndef COR_KIT_LEASE_RECORD_H
#define COR_KIT_LEASE_RECORD_H

#include "coracle/client_config.h"
#include "kit/election/leader_election.h"
#include "meta/object/object.h"
#include "meta/status/status.h"

#define COR_LEASE_LABELS_MAX 16

struct cor_lease_name {
    struct cor_str ns, name;
    const struct cor_string_pair *labels; /* that the Lease gets; others stay */
    size_t nlabels;                       /* at most COR_LEASE_LABELS_MAX */
};

/* Members that are absent are empty or 0 in the record. 0, -COR_EINVAL (a member of another type,
 * or an invalid time), -COR_ETOOBIG (a holder longer than COR_LEADER_IDENTITY_MAX). */
int cor_lease_record_read(const struct cor_object *lease, struct cor_leader_record *ret_record);

/* Makes the Lease with this record: a new one when `old` is NULL, else `old` at its
 * resourceVersion with everything else that it has. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_lease_record_write(const struct cor_leader_record *record, const struct cor_object *old,
                           const struct cor_lease_name *name, struct cor_object **ret_lease,
                           struct cor_status *reterr);

#endif
