/* What was found out about the sender of one request, and how an identity is made whose names were
 * read from headers or from a review.
 * Owner: the request's exchange.  Thread: its loop. */
#ifndef COR_SERVER_IDENTITY_H
#define COR_SERVER_IDENTITY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/ref.h"
#include "server/access/user.h"

#define COR_GROUP_MASTERS "system:masters"

struct cor_kept_user;

struct cor_identity {
    struct cor_user user;
    struct cor_str
        sender; /* the one to charge, when it is not the user: a front proxy; else empty */
    bool is_anonymous;
    bool is_by_websocket;          /* by the token among the subprotocols of a WebSocket */
    struct cor_str *groups;        /* owned; NULL when the user's groups are borrowed */
    struct cor_user_extra *extras; /* owned; NULL when there are none */
    char *text;                    /* owned: the names of a user; NULL: they are borrowed */
    struct cor_kept_user *kept;    /* a reference: the user is borrowed from it; NULL: none */
    char name[48];                 /* of a user that has no name of its own */
};

/* Safe on a zeroed struct. */
void cor_identity_deinit(struct cor_identity *identity);

/* A user that several requests share. Immutable. */
struct cor_kept_user {
    struct cor_ref ref;
    struct cor_identity identity;
};

/* NULL: no memory, and the identity is deinitialised. */
struct cor_kept_user *cor_kept_user_new(struct cor_identity *take_identity);
struct cor_kept_user *cor_kept_user_unref(struct cor_kept_user *kept);

bool cor_user_is_in(const struct cor_user *user, struct cor_str group);

/* An identity in the making, which owns its text. All room is taken at the beginning, so that
 * nothing fails afterwards. */
struct cor_identity_draft {
    struct cor_identity id;
    struct cor_buf text;
};

/* Room for so many groups and extras, and for so many bytes of all names together. One more group,
 * the one of cor_identity_draft_add_authenticated(), always fits. 0, -COR_ENOMEM. */
int cor_identity_draft_init(struct cor_identity_draft *draft, size_t ngroups, size_t nextras,
                            size_t text_bytes);
/* For a draft that is not finished. */
void cor_identity_draft_deinit(struct cor_identity_draft *draft);

/* Copies the text; the copy lives as long as the identity. */
struct cor_str cor_identity_draft_keep(struct cor_identity_draft *draft, struct cor_str s);
/* Keeps the key of an extra, as a header has it: in lower case, then its percent escapes are
 * decoded; a key with wrong escapes stays as it is. Needs room for twice its bytes. */
struct cor_str cor_identity_draft_keep_key(struct cor_identity_draft *draft, struct cor_str raw);
/* The text was kept before. */
void cor_identity_draft_add_group(struct cor_identity_draft *draft, struct cor_str group);
void cor_identity_draft_add_extra(struct cor_identity_draft *draft, struct cor_str key,
                                  struct cor_str value);
/* Adds system:authenticated, unless the user is system:anonymous or has that group or
 * system:unauthenticated. */
void cor_identity_draft_add_authenticated(struct cor_identity_draft *draft);

/* Sorts the extras by key. The draft is empty afterwards. */
struct cor_identity cor_identity_draft_finish(struct cor_identity_draft *draft);

#endif
