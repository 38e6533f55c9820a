/* Bearer tokens and their users: those of a file in the format of kube-apiserver's
 * --token-auth-file, and the server's own. Only the digests of tokens are kept.
 * Owner: its maker.  Thread: its maker's until it is shared; then any (immutable). */
#ifndef COR_SERVER_TOKEN_TABLE_H
#define COR_SERVER_TOKEN_TABLE_H

#include "base/cleanup.h"
#include "base/str.h"
#include "meta/status/status.h"
#include "server/access/user.h"

#define COR_TOKEN_FILE_MAX   (16u * 1024 * 1024)
#define COR_TOKENS_MAX       100000
#define COR_TOKEN_GROUPS_MAX 1000

struct cor_token_table;

/* 0, -COR_ENOMEM. */
int cor_token_table_new(struct cor_token_table **ret_table);
struct cor_token_table *cor_token_table_free(struct cor_token_table *table);
COR_DEFINE_CLEANUP(struct cor_token_table, cor_token_table_free)

/* Adds the lines `token,user,uid,"group1,group2"` (CSV; groups may be missing, a known token is
 * replaced, a line without a token is skipped). -COR_ENOTFOUND (no such file),
 * -COR_EINVAL (the message names the line), -COR_ETOOBIG, -COR_EIO, -COR_ENOMEM. */
int cor_token_table_load(struct cor_token_table *table, const char *path,
                         struct cor_status *reterr_status);

/* `groups` is comma-separated; system:authenticated is added to it. 0, -COR_ETOOBIG, -COR_ENOMEM.
 */
int cor_token_table_add(struct cor_token_table *table, struct cor_str token, struct cor_str user,
                        struct cor_str uid, struct cor_str groups);

/* The user of a token. NULL: not a token of this table, or no memory. Takes the same time for every
 * wrong token. */
const struct cor_user *cor_token_table_find(const struct cor_token_table *table,
                                            struct cor_str token);

#endif
