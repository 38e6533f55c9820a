/* clang-format off */
/* YAML to JSON: what libyaml's parser reads is written as JSON event by event.
 *
 *    event ──► separate() writes the comma ──► a key, a scalar, or a frame for a collection
 *      alias: the text of its anchor once more    merge (<<): its members in place of the key
 *
 * There is a frame for each open collection; an anchor keeps the JSON of what it names. Whatever
 * hostile text could multiply has a maximum: depth, flow depth, merges inside merges, bytes of
 * anchors and of aliases. The first failure ends the parser, and the output is cut back to where it
 * was. Thread: any. */
/* clang-format on */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include <yaml.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "codec/yaml.h"
#include "codec/yaml_names.h"
#include "codec/yaml_scalar.h"
#include "codec/yaml_wipe.h"
#include "meta/status/quote.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define ANCHORS_MAX (1u << 20)
#define KEYS_MAX    (1u << 22)
#define TAG_PREFIX  "tag:yaml.org,2002:"

enum want { WANT_ELEM, WANT_KEY, WANT_VALUE, WANT_MERGE };

/* An open mapping or sequence, or the document itself. */
struct frame {
    enum want want;
    bool is_map;
    bool is_flow;
    bool has_members;
    size_t start;                 /* of its text in `out` */
    struct cor_yaml_name *anchor; /* to be filled when it closes; NULL: none */
    struct cor_map seen;          /* keys of a mapping, when duplicates are asked for */
    size_t merge_start;           /* WANT_MERGE: where the value's text begins */
    /* The key whose value is read, when the mapping had it before; and where that value begins. */
    struct cor_yaml_name *repeated;
    size_t value_line;
};

struct reader {
    yaml_parser_t parser;
    struct cor_buf *out;
    struct cor_buf *dups;
    struct cor_map anchors;
    struct frame *frames;
    size_t nframes, cap;
    size_t nflow, nmerges; /* open flow collections; merges whose value is open */
    size_t anchor_bytes, alias_bytes;
    int error;
    struct cor_yaml_error *reterr;
};

static int fail(struct reader *r, int error, const char *fmt, ...) COR_PRINTF(3, 4);
static int fail(struct reader *r, int error, const char *fmt, ...)
{
    va_list ap;
    int at;

    r->error = error;
    if (!r->reterr)
        return error;
    at = snprintf(r->reterr->message, sizeof(r->reterr->message), "yaml: ");
    va_start(ap, fmt);
    vsnprintf(r->reterr->message + at, sizeof(r->reterr->message) - (size_t)at, fmt, ap);
    va_end(ap);
    return error;
}

/* A full buffer has no words of its own yet. */
static int fail_write(struct reader *r, int error)
{
    return error == -COR_ETOOBIG && r->error == 0 ? fail(r, error, "document is too large as JSON")
                                                  : error;
}

/* The line arithmetic is yaml.v2's: a scanner counts lines from 0, a parser stands one further. */
static int fail_parse(struct reader *r)
{
    const char *problem = r->parser.problem;
    size_t line = r->parser.problem_mark.line;

    if (r->parser.error == YAML_MEMORY_ERROR)
        return r->error = -COR_ENOMEM;
    if (line != 0)
        line += r->parser.error == YAML_SCANNER_ERROR;
    else
        line = r->parser.context_mark.line;
    problem = problem ? problem : "unknown problem parsing YAML content";
    if (line)
        return fail(r, -COR_EINVAL, "line %zu: %s", line, problem);
    return fail(r, -COR_EINVAL, "%s", problem);
}

static struct frame *top(struct reader *r)
{
    return &r->frames[r->nframes - 1];
}

static int push(struct reader *r, bool is_map, struct cor_yaml_name *anchor, size_t start)
{
    if (r->nframes > COR_YAML_DEPTH_MAX)
        return fail(r, -COR_ETOOBIG, "exceeded max depth of %d", COR_YAML_DEPTH_MAX);
    if (COR_ARRAY_RESERVE(&r->frames, r->nframes, &r->cap, COR_ARRAY_NO_MAX) < 0)
        return -COR_ENOMEM;
    r->frames[r->nframes++] = (struct frame){
        .want = is_map ? WANT_KEY : WANT_ELEM, .is_map = is_map, .start = start, .anchor = anchor};
    cor_map_init(&top(r)->seen, KEYS_MAX);
    return 0;
}

static int report_dup(struct reader *r, struct cor_str key, size_t line)
{
    int err = 0;

    if (r->dups->n == 0)
        err = cor_buf_addz(r->dups, "yaml: unmarshal errors:");
    if (err == 0)
        err = cor_buf_addf(r->dups, "\n  line %zu: key ", line + 1);
    if (err == 0)
        err = cor_quote(key, r->dups);
    if (err == 0)
        err = cor_buf_addz(r->dups, " already set in map");
    return err == -COR_ETOOBIG ? 0 : err;
}

/* A repeated key is remembered. It is reported when its value has been read, with the line at which
 * the value begins: what is repeated inside the value comes first, as in yaml.v2. */
static int note_key(struct reader *r, struct cor_str key)
{
    struct cor_yaml_name *name;
    bool was_there;
    int err;

    if (!r->dups)
        return 0;
    err = cor_yaml_names_put(&top(r)->seen, key, &name, &was_there);
    top(r)->repeated = err == 0 && was_there ? name : NULL;
    return err;
}

static int report_repeated(struct reader *r, size_t line)
{
    struct cor_yaml_name *name = top(r)->repeated;

    top(r)->repeated = NULL;
    return name ? report_dup(r, cor_str(name->text, name->n), line) : 0;
}

/* The comma before the next member or element. */
static int separate(struct reader *r)
{
    struct frame *f = top(r);
    bool comma = f->has_members;

    if (f->want == WANT_VALUE || f->want == WANT_MERGE)
        return 0;
    f->has_members = true;
    return comma ? cor_buf_addc(r->out, ',') : 0;
}

static int add_key(struct reader *r, struct cor_str key)
{
    int err = separate(r);

    if (err == 0)
        err = cor_json_quote(r->out, key);
    if (err == 0)
        err = cor_buf_addc(r->out, ':');
    if (err == 0)
        err = note_key(r, key);
    top(r)->want = WANT_VALUE;
    return err;
}

static int add_merged_members(struct reader *r, struct cor_str object, size_t line)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct cor_str raw;
    int err = 0;

    while (err == 0 && cor_json_iter_member(&it, &raw)) {
        struct cor_str value = cor_json_iter_value(&it);

        top(r)->want = WANT_KEY;
        err = separate(r);
        if (err == 0)
            err = cor_buf_addc(r->out, '"');
        if (err == 0)
            err = cor_buf_adds(r->out, raw);
        if (err == 0)
            err = cor_buf_adds(r->out, COR_STR("\":"));
        if (err == 0)
            err = cor_buf_adds(r->out, value);
        if (err == 0)
            err = note_key(r, raw);
        if (err == 0)
            err = report_repeated(r, line);
    }
    return err;
}

/* Earlier mappings of a sequence count more, so they are written later. */
static int add_merged_list(struct reader *r, struct cor_str array, size_t line)
{
    struct cor_json_iter it = cor_json_iter(array);
    struct cor_str *objects = NULL;
    size_t n = 0;
    int err = 0;

    while (cor_json_iter_elem(&it))
        n++;
    objects = cor_calloc(n + 1, sizeof(*objects));
    if (!objects)
        return -COR_ENOMEM;
    it = cor_json_iter(array);
    for (size_t i = 0; cor_json_iter_elem(&it); i++)
        objects[i] = cor_json_iter_value(&it);
    while (n-- > 0 && err == 0) {
        if (cor_json_type(objects[n]) == COR_JSON_OBJECT)
            err = add_merged_members(r, objects[n], line);
        else
            err = fail(r, -COR_EINVAL, "map merge requires map or sequence of maps as the value");
    }
    cor_free(objects);
    return err;
}

/* The merge's value was written like any other; its members take its place. */
static int end_merge(struct reader *r, size_t line)
{
    struct frame *f = top(r);
    size_t n = r->out->n - f->merge_start;
    char *value = cor_memdup(r->out->p + f->merge_start, n);
    struct cor_str text = cor_str(value, n);
    int err;

    r->nmerges--;
    if (!value)
        return -COR_ENOMEM;
    cor_buf_truncate(r->out, f->merge_start);
    if (cor_json_type(text) == COR_JSON_OBJECT)
        err = add_merged_members(r, text, line);
    else if (cor_json_type(text) == COR_JSON_ARRAY)
        err = add_merged_list(r, text, line);
    else
        err = fail(r, -COR_EINVAL, "map merge requires map or sequence of maps as the value");
    cor_free(value);
    top(r)->want = WANT_KEY;
    return err;
}

/* After a whole value: keeps it for its anchor, and lets the frame go on. */
static int end_value(struct reader *r, struct cor_yaml_name *anchor, size_t start, size_t line)
{
    struct frame *f;
    int err = 0;

    if (anchor) {
        r->anchor_bytes += r->out->n - start;
        if (r->anchor_bytes > COR_YAML_ALIAS_BYTES_MAX)
            return fail(r, -COR_ETOOBIG, "document contains excessive aliasing");
        err = cor_buf_add(&anchor->json, r->out->p + start, r->out->n - start);
    }
    if (err < 0)
        return err;
    f = top(r);
    if (f->want == WANT_MERGE)
        return end_merge(r, line);
    if (f->want != WANT_VALUE)
        return 0;
    f->want = WANT_KEY;
    return report_repeated(r, f->value_line);
}

static int open_anchor(struct reader *r, const yaml_char_t *anchor, struct cor_yaml_name **ret_name)
{
    bool was_there;

    *ret_name = NULL;
    if (!anchor)
        return 0;
    /* A name that is used again while its first value is open would leave that one dangling. */
    *ret_name = cor_map_peek(&r->anchors, cor_strz((const char *)anchor));
    if (*ret_name && (*ret_name)->is_open)
        return fail(r, -COR_EINVAL, "anchor '%.60s' value contains itself", anchor);
    return cor_yaml_names_put(&r->anchors, cor_strz((const char *)anchor), ret_name, &was_there);
}

/* Tags that resolve by their text; the value is the kind they must come out as. */
static bool kind_of_tag(const char *tag, enum cor_yaml_kind *ret_kind)
{
    static const struct {
        const char *tag;
        enum cor_yaml_kind kind;
    } rows[] = {{TAG_PREFIX "str", COR_YAML_STR},   {TAG_PREFIX "bool", COR_YAML_BOOL},
                {TAG_PREFIX "int", COR_YAML_INT},   {TAG_PREFIX "float", COR_YAML_FLOAT},
                {TAG_PREFIX "null", COR_YAML_NULL}, {TAG_PREFIX "timestamp", COR_YAML_TIMESTAMP}};

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        if (strcmp(tag, rows[i].tag) == 0) {
            *ret_kind = rows[i].kind;
            return true;
        }
    return false;
}

static const char *kind_name(enum cor_yaml_kind kind)
{
    static const char *const names[] = {"str", "null", "bool", "int", "float", "timestamp"};

    return names[kind];
}

static int resolve(struct reader *r, const yaml_event_t *ev, struct cor_yaml_scalar *ret)
{
    struct cor_str text = cor_str((const char *)ev->data.scalar.value, ev->data.scalar.length);
    const char *tag = (const char *)ev->data.scalar.tag;
    enum cor_yaml_kind want;

    *ret = (struct cor_yaml_scalar){.kind = COR_YAML_STR};
    if (!tag) {
        if (ev->data.scalar.plain_implicit)
            *ret = cor_yaml_resolve(text);
        return 0;
    }
    if (!kind_of_tag(tag, &want) || want == COR_YAML_STR)
        return 0;
    *ret = cor_yaml_resolve(text);
    if (want == COR_YAML_FLOAT && ret->kind == COR_YAML_INT) {
        double v = (double)ret->magnitude;

        *ret = (struct cor_yaml_scalar){.kind = COR_YAML_FLOAT, .number = ret->negative ? -v : v};
    }
    if (ret->kind != want)
        return fail(r, -COR_EINVAL, "cannot decode !!%s `%.60s` as a !!%s", kind_name(ret->kind),
                    ev->data.scalar.value, kind_name(want));
    return 0;
}

static int write_binary(struct reader *r, struct cor_str text, struct cor_buf *to)
{
    struct cor_buf bytes;
    int err;

    cor_buf_init_secret(&bytes, text.n);
    err = cor_base64_decode(COR_BASE64_STD, text, &bytes, NULL);
    if (err == 0)
        err = cor_json_quote(to, cor_buf_str(&bytes));
    cor_buf_deinit(&bytes);
    if (err == -COR_EINVAL)
        return fail(r, err, "!!binary value contains invalid base64 data");
    return err;
}

static int write_float(struct reader *r, double v, struct cor_buf *to)
{
    char number[COR_YAML_NUMBER_MAX];

    if (isnan(v) || isinf(v)) {
        /* The words of the encoder that writes the JSON, not those of the YAML reader. */
        (void)fail(r, -COR_EINVAL, "%s", "");
        if (r->reterr)
            snprintf(r->reterr->message, sizeof(r->reterr->message), "json: unsupported value: %s",
                     isnan(v) ? "NaN"
                     : v < 0  ? "-Inf"
                              : "+Inf");
        return -COR_EINVAL;
    }
    cor_yaml_format_json(v, number);
    return cor_buf_addz(to, number);
}

static int write_scalar(struct reader *r, const yaml_event_t *ev, struct cor_buf *to)
{
    struct cor_str text = cor_str((const char *)ev->data.scalar.value, ev->data.scalar.length);
    const char *tag = (const char *)ev->data.scalar.tag;
    struct cor_yaml_scalar scalar;
    int err;

    if (tag && strcmp(tag, TAG_PREFIX "binary") == 0)
        return write_binary(r, text, to);
    err = resolve(r, ev, &scalar);
    if (err < 0)
        return err;
    switch (scalar.kind) {
    case COR_YAML_NULL:
        return cor_buf_addz(to, "null");
    case COR_YAML_BOOL:
        return cor_buf_addz(to, scalar.boolean ? "true" : "false");
    case COR_YAML_INT:
        err = scalar.negative ? cor_buf_addc(to, '-') : 0;
        return err == 0 ? cor_buf_addu64(to, scalar.magnitude) : err;
    case COR_YAML_FLOAT:
        return write_float(r, scalar.number, to);
    case COR_YAML_STR:
    case COR_YAML_TIMESTAMP:
        break;
    }
    return cor_json_quote(to, text);
}

static bool is_merge(const yaml_event_t *ev)
{
    const char *tag = (const char *)ev->data.scalar.tag;

    return cor_str_eqz(cor_str((const char *)ev->data.scalar.value, ev->data.scalar.length),
                       "<<") &&
           (tag ? strcmp(tag, TAG_PREFIX "merge") == 0 : ev->data.scalar.plain_implicit);
}

static int add_scalar_key(struct reader *r, const yaml_event_t *ev)
{
    struct cor_str text = cor_str((const char *)ev->data.scalar.value, ev->data.scalar.length);
    size_t line = ev->start_mark.line;
    char number[COR_YAML_NUMBER_MAX];
    struct cor_yaml_scalar scalar;
    int err;

    if (is_merge(ev)) {
        /* The members of a merge's value are looked at once more for each merge around it. */
        if (++r->nmerges > COR_YAML_MERGES_MAX)
            return fail(r, -COR_ETOOBIG, "exceeded max depth of %d merges", COR_YAML_MERGES_MAX);
        top(r)->want = WANT_MERGE;
        top(r)->merge_start = r->out->n;
        return 0;
    }
    err = resolve(r, ev, &scalar);
    if (err < 0)
        return err;
    switch (scalar.kind) {
    case COR_YAML_BOOL:
        text = scalar.boolean ? COR_STR("true") : COR_STR("false");
        break;
    case COR_YAML_INT:
        snprintf(number, sizeof(number), "%s%llu", scalar.negative ? "-" : "",
                 (unsigned long long)scalar.magnitude);
        text = cor_strz(number);
        break;
    case COR_YAML_FLOAT:
        cor_yaml_format_g(scalar.number, true, number);
        text = cor_strz(number);
        break;
    case COR_YAML_NULL:
        return fail(r, -COR_EINVAL, "line %zu: unsupported map key: null", line + 1);
    case COR_YAML_STR:
    case COR_YAML_TIMESTAMP:
        break;
    }
    return add_key(r, text);
}

static int on_scalar(struct reader *r, const yaml_event_t *ev)
{
    struct cor_yaml_name *anchor;
    size_t start;
    int err = open_anchor(r, ev->data.scalar.anchor, &anchor);

    if (err == 0 && top(r)->want == WANT_KEY) {
        err = anchor ? write_scalar(r, ev, &anchor->json) : 0;
        return err == 0 ? add_scalar_key(r, ev) : err;
    }
    if (err == 0)
        err = separate(r);
    start = r->out->n;
    if (err == 0)
        err = write_scalar(r, ev, r->out);
    return err == 0 ? end_value(r, anchor, start, ev->start_mark.line) : err;
}

static int add_alias_key(struct reader *r, struct cor_str json, size_t line)
{
    struct cor_str raw = json, text;
    char *buf;
    int err;

    if (cor_json_type(json) == COR_JSON_STRING)
        (void)cor_json_to_raw(json, &raw);
    else if (cor_json_type(json) != COR_JSON_NUMBER && cor_json_type(json) != COR_JSON_BOOL)
        return fail(r, -COR_EINVAL, "line %zu: invalid map key", line + 1);
    buf = cor_alloc(raw.n);
    if (!buf)
        return -COR_ENOMEM;
    err = cor_json_unescape(raw, buf, raw.n, &text);
    if (err == 0)
        err = add_key(r, text);
    cor_free(buf);
    return err;
}

static int on_alias(struct reader *r, const yaml_event_t *ev)
{
    const char *anchor = (const char *)ev->data.alias.anchor;
    struct cor_yaml_name *name = cor_map_peek(&r->anchors, cor_strz(anchor));
    size_t line = ev->start_mark.line;
    int err;

    if (!name)
        return fail(r, -COR_EINVAL, "unknown anchor '%.60s' referenced", anchor);
    if (name->json.n == 0)
        return fail(r, -COR_EINVAL, "anchor '%.60s' value contains itself", anchor);
    r->alias_bytes += name->json.n;
    if (r->alias_bytes > COR_YAML_ALIAS_BYTES_MAX)
        return fail(r, -COR_ETOOBIG, "document contains excessive aliasing");
    if (top(r)->want == WANT_KEY)
        return add_alias_key(r, cor_buf_str(&name->json), line);
    err = separate(r);
    if (err == 0)
        err = cor_buf_adds(r->out, cor_buf_str(&name->json));
    return err == 0 ? end_value(r, NULL, 0, line) : err;
}

static int on_open(struct reader *r, const yaml_event_t *ev, bool is_map)
{
    const yaml_char_t *name =
        is_map ? ev->data.mapping_start.anchor : ev->data.sequence_start.anchor;
    bool is_flow = is_map ? ev->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
                          : ev->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    struct cor_yaml_name *anchor;
    int err;

    if (top(r)->want == WANT_KEY)
        return fail(r, -COR_EINVAL, "line %zu: invalid map key", ev->start_mark.line + 1);
    err = open_anchor(r, name, &anchor);
    if (err == 0)
        err = separate(r);
    if (err == 0)
        err = push(r, is_map, anchor, r->out->n);
    if (err < 0)
        return err;
    if (anchor)
        anchor->is_open = true;
    top(r)->is_flow = is_flow;
    r->nflow += is_flow;
    /* libyaml looks at every open flow collection for each of its tokens. */
    if (r->nflow > COR_YAML_FLOW_DEPTH_MAX)
        return fail(r, -COR_ETOOBIG, "exceeded max depth of %d flow collections",
                    COR_YAML_FLOW_DEPTH_MAX);
    return cor_buf_addc(r->out, is_map ? '{' : '[');
}

static int on_close(struct reader *r, const yaml_event_t *ev)
{
    struct frame f = *top(r);
    int err = cor_buf_addc(r->out, f.is_map ? '}' : ']');

    cor_yaml_names_deinit(&top(r)->seen);
    r->nframes--;
    r->nflow -= f.is_flow;
    if (f.anchor)
        f.anchor->is_open = false;
    return err == 0 ? end_value(r, f.anchor, f.start, ev->start_mark.line) : err;
}

static int on_event(struct reader *r, const yaml_event_t *ev)
{
    /* The first event after a key begins its value. */
    if (top(r)->want == WANT_VALUE)
        top(r)->value_line = ev->start_mark.line;
    switch (ev->type) {
    case YAML_SCALAR_EVENT:
        return on_scalar(r, ev);
    case YAML_ALIAS_EVENT:
        return on_alias(r, ev);
    case YAML_MAPPING_START_EVENT:
        return on_open(r, ev, true);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(r, ev, false);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        return on_close(r, ev);
    case YAML_DOCUMENT_END_EVENT:
    case YAML_STREAM_END_EVENT:
        return top(r)->has_members ? 0 : cor_buf_addz(r->out, "null");
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_START_EVENT:
        break;
    }
    return 0;
}

static int read_all(struct reader *r)
{
    bool at_end = false;
    int err = push(r, false, NULL, r->out->n);

    while (err == 0 && !at_end) {
        yaml_event_t ev;

        if (!yaml_parser_parse(&r->parser, &ev))
            return fail_parse(r);
        err = on_event(r, &ev);
        /* What follows the first document is not looked at, as by Go's decoder. */
        at_end = ev.type == YAML_DOCUMENT_END_EVENT || ev.type == YAML_STREAM_END_EVENT;
        cor_yaml_event_delete(&ev);
    }
    return fail_write(r, err);
}

int cor_yaml_to_json(struct cor_str in, struct cor_buf *out, struct cor_buf *dups,
                     struct cor_yaml_error *reterr)
{
    struct reader r = {.out = out, .dups = dups, .reterr = reterr};
    size_t before = out->n;
    int err;

    if (!yaml_parser_initialize(&r.parser))
        return -COR_ENOMEM;
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)in.p, in.n);
    cor_map_init(&r.anchors, ANCHORS_MAX);
    err = read_all(&r);
    while (r.nframes > 0) {
        cor_yaml_names_deinit(&top(&r)->seen);
        r.nframes--;
    }
    cor_free(r.frames);
    cor_yaml_names_deinit(&r.anchors);
    cor_yaml_parser_delete(&r.parser);
    if (err < 0)
        cor_buf_truncate(out, before);
    return err;
}
