/* Bearer tokens, kept as digests: a lookup hashes the token and finds the entry by the digest, so
 * that no token is compared byte by byte. --token-auth-file is CSV as Go's reader accepts it; a
 * line that cannot be used is a failure that names file and line, and nothing of the file is used
 * then.
 * Thread: filled by one thread before the loops start; read by any afterwards. */
#include "server/access/token_table.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "net/crypto/crypto.h"

#define COLUMNS_MAX 4

struct entry {
    uint8_t digest[COR_SHA256_BYTES];
    struct cor_user user;
    struct cor_str groups[COR_TOKEN_GROUPS_MAX + 1]; /* allocated as long as needed */
};

struct cor_token_table {
    struct cor_map entries; /* by digest */
};

/* A cursor over CSV as Go's reader accepts it: quoted fields may hold commas, line ends and "". */
struct csv {
    struct cor_str rest;
    unsigned line;
    struct cor_buf fields[COLUMNS_MAX];
    size_t nfields; /* of the record; only the first COLUMNS_MAX are kept */
};

int cor_token_table_new(struct cor_token_table **ret_table)
{
    struct cor_token_table *table = cor_calloc(1, sizeof(*table));

    if (!table)
        return -COR_ENOMEM;
    cor_map_init(&table->entries, COR_TOKENS_MAX);
    *ret_table = table;
    return 0;
}

struct cor_token_table *cor_token_table_free(struct cor_token_table *table)
{
    if (!table)
        return NULL;
    COR_MAP_FOREACH(it, &table->entries) {
        cor_free(it.value);
    }
    cor_map_deinit(&table->entries);
    return cor_free(table);
}

static size_t count_groups(struct cor_str groups)
{
    size_t n = 0;

    while (groups.p && groups.n) {
        (void)cor_str_cut(&groups, ',');
        n++;
    }
    return n;
}

static struct cor_str copy_text(char **at, struct cor_str s)
{
    struct cor_str copy = cor_str(*at, s.n);

    memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

static struct entry *entry_new(struct cor_str user, struct cor_str uid, struct cor_str groups)
{
    size_t ngroups = count_groups(groups);
    size_t head = offsetof(struct entry, groups) + (ngroups + 1) * sizeof(struct cor_str);
    struct entry *entry = cor_alloc(head + user.n + uid.n + groups.n);
    char *text;

    if (!entry)
        return NULL;
    text = (char *)entry + head;
    entry->user = (struct cor_user){.name = copy_text(&text, user),
                                    .uid = copy_text(&text, uid),
                                    .groups = entry->groups,
                                    .ngroups = ngroups + 1};
    groups = copy_text(&text, groups);
    for (size_t i = 0; i < ngroups; i++)
        entry->groups[i] = cor_str_cut(&groups, ',');
    entry->groups[ngroups] = COR_STR("system:authenticated");
    return entry;
}

int cor_token_table_add(struct cor_token_table *table, struct cor_str token, struct cor_str user,
                        struct cor_str uid, struct cor_str groups)
{
    struct entry *entry;
    void *old;
    int r;

    assert(table && user.n > 0);
    if (count_groups(groups) > COR_TOKEN_GROUPS_MAX)
        return -COR_ETOOBIG;
    entry = entry_new(user, uid, groups);
    if (!entry)
        return -COR_ENOMEM;
    r = cor_sha256(token, entry->digest);
    if (r == 0)
        r = cor_map_put(&table->entries, cor_str((char *)entry->digest, sizeof(entry->digest)),
                        entry, &old);
    cor_free(r == 0 ? old : entry);
    return r;
}

const struct cor_user *cor_token_table_find(const struct cor_token_table *table,
                                            struct cor_str token)
{
    uint8_t digest[COR_SHA256_BYTES];
    struct cor_str key = cor_str((char *)digest, sizeof(digest));
    const struct entry *entry;

    if (cor_sha256(token, digest) < 0)
        return NULL;
    entry = cor_map_peek(&table->entries, key);
    if (!entry || !cor_secret_eq(key, cor_str((const char *)entry->digest, sizeof(entry->digest))))
        return NULL;
    return &entry->user;
}

static int csv_error(const struct csv *csv, const char *path, const char *what,
                     struct cor_status *st)
{
    return cor_status_set(st, -COR_EINVAL, "token file '%s', line %u: %s", path, csv->line, what);
}

static int csv_add_char(struct csv *csv, char c)
{
    return csv->nfields < COLUMNS_MAX ? cor_buf_addc(&csv->fields[csv->nfields], c) : 0;
}

/* Reads a field after its opening quote. 0: the closing quote was read. */
static int csv_read_quoted(struct csv *csv, const char *path, struct cor_status *st)
{
    while (csv->rest.n > 0) {
        char c = csv->rest.p[0];
        bool is_pair = c == '"' && csv->rest.n > 1 && csv->rest.p[1] == '"';
        int r;

        csv->rest = cor_str_from(csv->rest, is_pair ? 2 : 1);
        if (c == '"' && !is_pair)
            return 0;
        csv->line += c == '\n';
        r = csv_add_char(csv, c);
        if (r < 0)
            return r;
    }
    return csv_error(csv, path, "a quoted field does not end", st);
}

static bool csv_at_field_end(const struct csv *csv)
{
    return csv->rest.n == 0 || csv->rest.p[0] == ',' || csv->rest.p[0] == '\n' ||
           cor_str_starts(csv->rest, COR_STR("\r\n"));
}

static int csv_read_field(struct csv *csv, const char *path, struct cor_status *st)
{
    int r = 0;

    if (csv->rest.n > 0 && csv->rest.p[0] == '"') {
        csv->rest = cor_str_from(csv->rest, 1);
        r = csv_read_quoted(csv, path, st);
        if (r == 0 && !csv_at_field_end(csv))
            return csv_error(csv, path, "extraneous or missing \" in quoted-field", st);
    }
    while (r == 0 && !csv_at_field_end(csv)) {
        if (csv->rest.p[0] == '"')
            return csv_error(csv, path, "bare \" in non-quoted field", st);
        r = csv_add_char(csv, csv->rest.p[0]);
        csv->rest = cor_str_from(csv->rest, 1);
    }
    csv->nfields++;
    return r;
}

/* 1: a record was read; 0: the end. Empty lines are skipped. */
static int csv_read_record(struct csv *csv, const char *path, struct cor_status *st)
{
    int r;

    while (csv->rest.n > 0 && (csv->rest.p[0] == '\n' || csv->rest.p[0] == '\r')) {
        csv->line += csv->rest.p[0] == '\n';
        csv->rest = cor_str_from(csv->rest, 1);
    }
    if (csv->rest.n == 0)
        return 0;
    csv->nfields = 0;
    for (size_t i = 0; i < COLUMNS_MAX; i++)
        cor_buf_reset(&csv->fields[i]);
    for (;;) {
        r = csv_read_field(csv, path, st);
        if (r < 0)
            return r;
        if (csv->rest.n == 0 || csv->rest.p[0] != ',')
            return 1;
        csv->rest = cor_str_from(csv->rest, 1);
    }
}

static int add_record(struct cor_token_table *table, struct csv *csv, const char *path,
                      struct cor_status *st)
{
    char what[120];
    int r;

    if (csv->nfields < 3) {
        snprintf(what, sizeof(what),
                 "must have at least 3 columns (token, user name, user uid), found %zu",
                 csv->nfields);
        return csv_error(csv, path, what, st);
    }
    if (csv->fields[0].n == 0)
        return 0;
    r = cor_token_table_add(table, cor_buf_str(&csv->fields[0]), cor_buf_str(&csv->fields[1]),
                            cor_buf_str(&csv->fields[2]), cor_buf_str(&csv->fields[3]));
    return r == -COR_ETOOBIG ? csv_error(csv, path, "too many tokens or groups", st) : r;
}

static int read_token_file(const char *path, struct cor_buf *out, struct cor_status *st)
{
    FILE *file = fopen(path, "re");
    char chunk[4096];
    size_t n;
    int r = 0;

    if (!file)
        return cor_status_set(st, errno == ENOENT ? -COR_ENOTFOUND : -COR_EIO,
                              "token file '%s': %s", path, strerror(errno));
    while (r == 0 && (n = fread(chunk, 1, sizeof(chunk), file)) > 0)
        r = cor_buf_add(out, chunk, n);
    if (r == 0 && ferror(file))
        r = cor_status_set(st, -COR_EIO, "token file '%s': cannot be read", path);
    else if (r == -COR_ETOOBIG)
        r = cor_status_set(st, r, "token file '%s' has more than %u bytes", path,
                           COR_TOKEN_FILE_MAX);
    (void)fclose(file);
    return r;
}

int cor_token_table_load(struct cor_token_table *table, const char *path,
                         struct cor_status *reterr_status)
{
    struct csv csv = {.line = 1};
    struct cor_buf text;
    int r;

    assert(table && path);
    cor_buf_init_secret(&text, COR_TOKEN_FILE_MAX);
    for (size_t i = 0; i < COLUMNS_MAX; i++)
        cor_buf_init_secret(&csv.fields[i], COR_TOKEN_FILE_MAX);
    r = read_token_file(path, &text, reterr_status);
    csv.rest = cor_buf_str(&text);
    while (r == 0) {
        r = csv_read_record(&csv, path, reterr_status);
        if (r <= 0)
            break;
        r = add_record(table, &csv, path, reterr_status);
    }
    if (r == -COR_ENOMEM)
        (void)cor_status_set(reterr_status, r, "token file '%s': out of memory", path);
    for (size_t i = 0; i < COLUMNS_MAX; i++)
        cor_buf_deinit(&csv.fields[i]);
    cor_buf_deinit(&text);
    return r;
}
