/* `coracle store status`: revision, size, format and the servers that announced themselves, as text
 * or JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "coracle/view.h"
#include "session.h"
#include "store_commands.h"
#include "json/write/writer.h"

#define OUTPUT_BYTES_MAX (4u << 20)
/* More are not listed. */
#define SERVERS_MAX 1000
/* The byte after the prefix's last, '/', in its place. */
#define SERVERS_END "coracle/servers0"

/* Of what a server says, in the order of printing. */
static const char *const fields[] = {"version", "address", "since", "prefix"};

struct report {
    struct session session;
    struct cor_engine_status_req status;
    struct cor_range_req servers;
};

static void on_status(struct cor_engine_req *req)
{
    COR_CONTAINER_OF(req, struct report, status.req)->session.done = true;
}

static void on_servers(struct cor_engine_req *req)
{
    COR_CONTAINER_OF(req, struct report, servers.req)->session.done = true;
}

static int read_status(struct report *p)
{
    struct session *s = &p->session;

    cor_engine_req_init(&p->status.req, s->loop, on_status);
    cor_engine_status(s->engine, &p->status);
    session_wait(s);
    if (p->status.req.result < 0)
        cor_status_move(&s->status, &p->status.req.status);
    cor_engine_req_deinit(&p->status.req);
    return p->status.req.result;
}

static void read_servers(struct report *p)
{
    struct session *s = &p->session;

    p->servers.key = COR_STR(COR_SERVERS_PREFIX);
    p->servers.end = COR_STR(SERVERS_END);
    p->servers.limit = SERVERS_MAX;
    cor_engine_range(s->engine, &p->servers);
    session_wait(s);
}

static struct cor_str name_of(const struct cor_kv *kv)
{
    struct cor_str key = cor_kv_key(kv);
    size_t n = sizeof(COR_SERVERS_PREFIX) - 1;

    return cor_str(key.p + n, key.n - n);
}

static struct cor_str field_of(const struct cor_kv *kv, const char *field)
{
    return cor_view_text_or(cor_view_member(cor_view(cor_kv_value(kv)), cor_strz(field)), NULL, 0,
                            "-");
}

static void print_servers(const struct report *p)
{
    if (p->servers.req.result < 0)
        printf("servers: not known: %s\n", cor_status_message(&p->servers.req.status));
    else
        printf("servers:%s\n", p->servers.ret_nkvs == 0 ? " none" : "");
    for (size_t i = 0; i < p->servers.ret_nkvs; i++) {
        struct cor_str name = name_of(p->servers.ret_kvs[i]);

        printf("  %.*s", (int)name.n, name.p);
        for (size_t k = 0; k < COR_ARRAY_LEN(fields); k++) {
            struct cor_str text = field_of(p->servers.ret_kvs[i], fields[k]);

            printf("  %.*s", (int)text.n, text.p);
        }
        putchar('\n');
    }
}

/* The last revision of the objects that an older version of the program has written, whose form the
 * schema of today may change; 0: there are none. */
static cor_rev old_revision(const struct report *p)
{
    return p->status.ret_format > 0 ? cor_engine_old_rev(p->session.engine) : 0;
}

static void print_format(const struct report *p)
{
    if (p->status.ret_format == 0)
        return;
    printf("format %u", p->status.ret_format);
    if (old_revision(p) > 0)
        printf(": objects up to revision %" PRIu64 " may lack what the schema adds",
               old_revision(p));
    putchar('\n');
}

static void print_text(const struct report *p)
{
    printf("revision %" PRIu64 ", compacted up to %" PRIu64 ", %" PRIu64 " bytes, %" PRIu64
           " in use\n",
           p->status.ret_rev, p->status.ret_compact_rev, p->status.ret_file_bytes,
           p->status.ret_used_bytes);
    print_format(p);
    if (cor_engine_shares_store(p->session.engine))
        print_servers(p);
}

static void write_servers(const struct report *p, struct cor_json_writer *w)
{
    cor_json_key(w, COR_STR("servers"));
    if (p->servers.req.result < 0) {
        cor_json_null(w);
        return;
    }
    cor_json_begin_array(w);
    for (size_t i = 0; i < p->servers.ret_nkvs; i++) {
        cor_json_begin_object(w);
        cor_json_member(w, COR_STR("name"), name_of(p->servers.ret_kvs[i]));
        for (size_t k = 0; k < COR_ARRAY_LEN(fields); k++)
            cor_json_member(w, cor_strz(fields[k]), field_of(p->servers.ret_kvs[i], fields[k]));
        cor_json_end_object(w);
    }
    cor_json_end_array(w);
}

static void write_revision(struct cor_json_writer *w, struct cor_str key, cor_rev rev)
{
    char digits[24];

    snprintf(digits, sizeof(digits), "%" PRIu64, rev);
    cor_json_member(w, key, cor_strz(digits));
}

static int print_json(const struct report *p)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    struct cor_json_writer w;
    int r;

    cor_buf_init(&out, OUTPUT_BYTES_MAX);
    cor_json_writer_init(&w, &out);
    cor_json_begin_object(&w);
    write_revision(&w, COR_STR("revision"), p->status.ret_rev);
    write_revision(&w, COR_STR("compactRevision"), p->status.ret_compact_rev);
    cor_json_key(&w, COR_STR("fileBytes"));
    cor_json_u64(&w, p->status.ret_file_bytes);
    cor_json_key(&w, COR_STR("usedBytes"));
    cor_json_u64(&w, p->status.ret_used_bytes);
    if (p->status.ret_format > 0) {
        cor_json_key(&w, COR_STR("format"));
        cor_json_u64(&w, p->status.ret_format);
    }
    if (old_revision(p) > 0)
        write_revision(&w, COR_STR("oldRevision"), old_revision(p));
    if (cor_engine_shares_store(p->session.engine))
        write_servers(p, &w);
    cor_json_end_object(&w);
    r = cor_json_writer_finish(&w);
    if (r == 0)
        session_print(cor_buf_str(&out));
    return r;
}

static int report_store(struct report *p)
{
    struct session *s = &p->session;
    int status = session_open(s, SESSION_READS), r = 0;

    if (status != EXIT_OK)
        return status;
    if (read_status(p) < 0)
        return session_report(s);
    cor_range_req_init(&p->servers, s->loop, on_servers);
    if (cor_engine_shares_store(s->engine))
        read_servers(p);
    if (session_wants_json(s))
        r = print_json(p);
    else
        print_text(p);
    cor_range_req_deinit(&p->servers);
    if (r < 0) {
        (void)cor_status_set_err(&s->status, r);
        return session_report(s);
    }
    return session_finish_output(s);
}

static int run_store_status(const void *opts, const char *const *args, size_t nargs)
{
    struct report p = {.status = {.ret_rev = 0}};
    int status;

    (void)args, (void)nargs;
    session_init(&p.session, "store status", opts);
    status = report_store(&p);
    session_close(&p.session);
    return status;
}

static const struct session_opts defaults = SESSION_OPTS_DEFAULT;
static const struct flag flags[] = {
    SESSION_FLAG_DATA,
    SESSION_FLAG_OUTPUT("text|json", "how to print it (text)"),
    SESSION_FLAG_BACKEND,
};

const struct command store_status = {
    .group = "store",
    .name = "status",
    .args = "",
    .summary = "Say how large the store is and which servers are on it",
    .details =
        "Works beside a process that holds the store, and changes nothing. Servers are listed\n"
        "on etcd: name, version, address, since when, prefix. One that was killed stays for\n"
        "half a minute.\n",
    .flags = flags,
    .nflags = COR_ARRAY_LEN(flags),
    .opts_default = &defaults,
    .opts_size = sizeof(defaults),
    .run = run_store_status,
};
