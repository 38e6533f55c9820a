/* The findings of a read walk: texts, one after the other, each kept once.
 *
 * A client can send thousands of repeated or unknown members below a long path. So that the work
 * stays linear in the bytes of the body, a finding is first recognised by a hash of its path, and
 * the length of its text is compared with the room that is left; each place computes both once for
 * its path. The path is written only for a finding that is kept, at most COR_READ_FINDINGS_MAX
 * times. Two different paths with the same hash would be reported as one, which costs the client
 * one warning about its own body. Thread: any (pure). */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "meta/status/quote.h"
#include "schema/walk/read_int.h"
#include "json/text/scan.h"

struct cor_read_report *cor_read_report_new(void)
{
    struct cor_read_report *report = cor_alloc(sizeof(*report));

    if (!report)
        return NULL;
    report->n = 0;
    cor_buf_init(&report->error, COR_READ_ERROR_MAX);
    cor_buf_init(&report->texts, COR_READ_TEXTS_MAX);
    return report;
}

struct cor_read_report *cor_read_report_free(struct cor_read_report *report)
{
    if (!report)
        return NULL;
    cor_buf_deinit(&report->error);
    cor_buf_deinit(&report->texts);
    cor_free(report);
    return NULL;
}

struct cor_str cor_read_finding(const struct cor_read_report *report, size_t i)
{
    size_t from = i > 0 ? report->ends[i - 1] : 0;

    assert(i < report->n);
    return cor_str(report->texts.p + from, report->ends[i] - from);
}

/* Appends the text of a raw key. */
static int read_add_key(struct cor_buf *out, struct cor_str raw)
{
    struct cor_str text;
    int r;

    if (cor_str_find(raw, '\\') < 0)
        return cor_buf_adds(out, raw);
    r = cor_buf_reserve(out, raw.n);
    if (r == 0)
        r = cor_json_unescape(raw, out->p + out->n, raw.n, &text);
    if (r < 0)
        return r;
    out->n += text.n;
    out->p[out->n] = '\0';
    return 0;
}

static uint64_t read_mix(uint64_t hash, uint64_t part)
{
    hash = (hash ^ part) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
    return hash != 0 ? hash : 1;
}

/* The hash of a key's text without escapes, and the bytes that the text has in a finding. */
static int read_measure_key(struct cor_str raw, struct cor_buf *scratch, uint64_t *ret_hash,
                            size_t *ret_bytes)
{
    struct cor_str text = raw;

    if (cor_str_find(raw, '\\') >= 0) {
        int r;

        cor_buf_reset(scratch);
        r = read_add_key(scratch, raw);
        if (r < 0)
            return r;
        text = cor_buf_str(scratch);
    }
    *ret_hash = cor_str_hash(text);
    *ret_bytes = cor_quote_bytes(text) - 2;
    return 0;
}

/* Sets hash and path_bytes of `at`, which may be NULL, and of every place on the way to it. The
 * recursion is as deep as the value, like the walk itself. */
static int read_measure_place(struct cor_read_place *at, struct cor_buf *scratch)
{
    uint64_t part;
    size_t bytes;
    int r;

    if (!at || at->hash != 0)
        return 0;
    r = read_measure_place(at->up, scratch);
    if (r < 0)
        return r;
    if (at->name.p) {
        r = read_measure_key(at->name, scratch, &part, &bytes);
        if (r < 0)
            return r;
        bytes += at->up ? 1 : 0;
    } else {
        part = ~(uint64_t)at->index;
        bytes = (size_t)snprintf(NULL, 0, "[%zu]", at->index);
    }
    at->path_bytes = (at->up ? at->up->path_bytes : 0) + bytes;
    at->hash = read_mix(at->up ? at->up->hash : 1, part);
    return 0;
}

/* Writes the path of `at`: "spec.containers[0]"; nothing for the outermost value. */
static int read_add_path(const struct cor_read_place *at, struct cor_buf *path)
{
    int r;

    if (!at)
        return 0;
    r = read_add_path(at->up, path);
    if (r < 0)
        return r;
    if (!at->name.p)
        return cor_buf_addf(path, "[%zu]", at->index);
    if (at->up)
        r = cor_buf_addc(path, '.');
    return r < 0 ? r : read_add_key(path, at->name);
}

int cor_read_report_find(struct cor_read_report *report, const char *what,
                         struct cor_read_place *at, struct cor_str raw_key, struct cor_buf *scratch)
{
    size_t mark = report->texts.n, bytes = 0;
    uint64_t id, key = 0;
    int r;

    if (report->n == COR_READ_FINDINGS_MAX)
        return 0;
    r = read_measure_place(at, scratch);
    if (r == 0)
        r = read_measure_key(raw_key, scratch, &key, &bytes);
    if (r < 0)
        return r;
    bytes += strlen(what) + sizeof(" field \".\"") + (at ? at->path_bytes : 0);
    if (bytes > COR_READ_TEXTS_MAX - report->texts.n)
        return 0;
    id = read_mix(read_mix(at ? at->hash : 1, key), (uint64_t)what[0]);
    for (size_t i = 0; i < report->n; i++) {
        if (report->ids[i] == id)
            return 0;
    }
    cor_buf_reset(scratch);
    r = read_add_path(at, scratch);
    if (r == 0 && at)
        r = cor_buf_addc(scratch, '.');
    if (r == 0)
        r = read_add_key(scratch, raw_key);
    if (r == 0)
        r = cor_buf_addf(&report->texts, "%s field ", what);
    if (r == 0)
        r = cor_quote(cor_buf_str(scratch), &report->texts);
    if (r < 0) {
        cor_buf_truncate(&report->texts, mark);
        return r == -COR_ETOOBIG ? 0 : r;
    }
    report->ids[report->n] = id;
    report->ends[report->n++] = report->texts.n;
    return 0;
}
