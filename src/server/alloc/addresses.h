/* The IPAddress objects that reserve the addresses of Services: created before the Service is
 * stored, deleted after it is gone. The creation is the compare-and-swap that decides who gets an
 * address.
 * Thread: the loop of the operation.  Owner: whoever embeds the operation. */
#ifndef COR_SERVER_ADDRESSES_H
#define COR_SERVER_ADDRESSES_H

#include "base/uuid.h"
#include "meta/object/object.h"
#include "server/alloc/addr.h"
#include "server/api/api_loop.h"

/* An IPAddress object: its address, and the uid that tells it from an earlier or later object of
 * the same address. */
struct cor_address_id {
    struct cor_addr ip;
    char uid[COR_UUID_TEXT_MAX]; /* "": not known */
};

struct cor_address_op {
    struct cor_api_loop *loop;
    struct cor_address_id id; /* cor_address_reserve() sets the uid; a release with a uid deletes
                               * the object only if it has that uid */
    struct cor_str ns, name;  /* of the Service; borrowed until on_done */
    cor_rev rev;              /* a release: of exactly this state of the object; 0: of any */
    /* Never before the call returns. `status` is of err < 0, and may be moved out. */
    void (*on_done)(struct cor_address_op *op, int err, struct cor_status *status);
};

/* Creates the object. on_done gets 0, -COR_EEXIST (somebody has the address), or the store's
 * failure, after which the object may exist all the same. 0, or a failure in `reterr_status` and no
 * on_done: then nothing was sent to the store. */
int cor_address_reserve(struct cor_address_op *op, struct cor_status *reterr_status);

/* Deletes the object, if it is the Service's. on_done gets 0 also when there is none, or when it is
 * another's; or the store's failure. Results as above. */
int cor_address_release(struct cor_address_op *op, struct cor_status *reterr_status);

/* What an IPAddress object says. */
struct cor_address_facts {
    struct cor_addr ip;
    bool is_address;         /* its name is an IP address */
    bool is_managed;         /* by this allocator, as its label says */
    bool has_labels;         /* the labels that the allocator gives, for its family */
    bool is_service;         /* it refers to a Service */
    struct cor_str ns, name; /* of the Service; borrowed from the object, raw JSON text */
};
struct cor_address_facts cor_address_facts(const struct cor_object *object);

#endif
