/* Promises of the heads that go to aggregated API servers: whatever lines a client sends, the user
 * is said by the proxy alone, no value has a line end, and the target is one word that begins with
 * the path. The input is the query, a line end, and headers as lines "name: value". */
#include <ctype.h>
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "server/aggregation/remote_headers.h"

#define LINES_MAX 64

static const struct cor_str groups[] = {COR_STR("g1"), COR_STR("g2")};
static const struct cor_user user = {.name = COR_STR("u"), .groups = groups, .ngroups = 2};

/* Does the name say who the user is, to a server that is careless about its spelling? */
static bool says_user(struct cor_str name)
{
    static const char prefix[] = "x-remote-";
    char folded[64];

    if (name.n >= sizeof(folded) || name.n < sizeof(prefix) - 1)
        return false;
    for (size_t i = 0; i < name.n; i++)
        folded[i] = name.p[i] == '_' ? '-' : (char)tolower((unsigned char)name.p[i]);
    folded[name.n] = '\0';
    return strcmp(folded, "x-remote-user") == 0 || strcmp(folded, "x-remote-uid") == 0 ||
           strcmp(folded, "x-remote-group") == 0 || strncmp(folded, "x-remote-extra-", 15) == 0 ||
           strncmp(folded, "impersonate-", 12) == 0 || strcmp(folded, "authorization") == 0;
}

static void check_head(const struct cor_remote_head *head)
{
    size_t nsaid = 0;

    for (size_t i = 0; i < head->nheaders; i++) {
        const struct cor_http_header *h = &head->headers[i];

        nsaid += says_user(h->name);
        FUZZ_CHECK(!memchr(h->value.p, '\n', h->value.n));
    }
    FUZZ_CHECK(nsaid == 3); /* the user and two groups */
    FUZZ_CHECK(cor_str_starts(head->target, COR_STR("/apis/g/v")));
    for (size_t i = 0; i < head->target.n; i++)
        FUZZ_CHECK((unsigned char)head->target.p[i] > ' ' &&
                   (unsigned char)head->target.p[i] < 127);
}

/* The parsers of both protocols let no other names in. */
static bool is_token(struct cor_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];

        if (!isalnum(c) && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return name.n > 0;
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str in = cor_str((const char *)data, size);
    struct cor_http_header headers[LINES_MAX], out[LINES_MAX];
    struct cor_remote_head_opts opts = {.headers = headers,
                                        .query = cor_str_cut(&in, '\n'),
                                        .path = COR_STR("/apis/g/v"),
                                        .user = &user,
                                        .client_address = "127.0.0.1:1"};
    struct cor_remote_head head;
    int r;

    while (in.n > 0 && opts.nheaders < LINES_MAX) {
        struct cor_str value = cor_str_cut(&in, '\n'), name = cor_str_cut(&value, ':');

        if (is_token(name))
            headers[opts.nheaders++] = (struct cor_http_header){name, cor_str_trim(value)};
    }
    for (int is_upgrade = 0; is_upgrade < 2; is_upgrade++) {
        opts.is_upgrade = is_upgrade;
        r = cor_remote_head_init(&head, &opts);
        FUZZ_CHECK(r == 0 || r == -COR_ETOOBIG);
        if (r == 0) {
            check_head(&head);
            cor_remote_head_deinit(&head);
        }
    }
    (void)cor_remote_is_upgrade(headers, opts.nheaders);
    FUZZ_CHECK(cor_remote_answer_headers(headers, opts.nheaders, out, LINES_MAX) <= opts.nheaders);
    (void)cor_remote_answer_length(headers, opts.nheaders);
    return 0;
}
