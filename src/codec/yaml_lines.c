#include "codec/yaml_lines.h"

#include <stdbool.h>
#include <string.h>

#include <yaml.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/ref.h"
#include "codec/yaml_wipe.h"

#define PATH_MAX_BYTES 4096

struct entry {
    size_t line;
    char path[];
};

struct cor_yaml_lines {
    struct cor_ref ref;
    struct cor_map entries; /* path -> entry */
};

/* An open mapping or sequence, whose path is the first `path_n` bytes of the walk's. */
struct frame {
    bool is_map, wants_key;
    size_t path_n, index;
};

struct walk {
    struct cor_yaml_lines *lines;
    struct cor_buf path; /* of the value at hand */
    struct frame frames[COR_YAML_LINES_DEPTH];
    size_t nframes;
    size_t skipped; /* open containers that are not looked into */
};

static int note(struct walk *w, size_t line)
{
    struct cor_map *entries = &w->lines->entries;
    struct entry *e;
    void *old = NULL;

    if (cor_map_len(entries) == COR_YAML_LINES_MAX)
        return 0;
    e = cor_alloc(sizeof(*e) + w->path.n);
    if (!e)
        return -COR_ENOMEM;
    e->line = line + 1;
    if (w->path.n > 0)
        memcpy(e->path, w->path.p, w->path.n);
    if (cor_map_put(entries, cor_str(e->path, w->path.n), e, &old) < 0) {
        cor_free(e);
        return -COR_ENOMEM;
    }
    cor_free(old);
    return 0;
}

/* A value begins, or the key of one: what it is called is in `path` then. */
static int enter(struct walk *w, struct frame *f, const yaml_event_t *ev, bool *ret_is_key)
{
    int r;

    *ret_is_key = f->is_map && f->wants_key;
    if (f->is_map)
        f->wants_key = !f->wants_key;
    if (f->is_map && !*ret_is_key)
        return 0;
    cor_buf_truncate(&w->path, f->path_n);
    if (!f->is_map)
        r = cor_buf_addf(&w->path, "[%zu]", f->index++);
    else if (ev->type == YAML_SCALAR_EVENT)
        r = cor_buf_addf(&w->path, "%s%.*s", f->path_n > 0 ? "." : "", (int)ev->data.scalar.length,
                         (const char *)ev->data.scalar.value);
    else
        r = cor_buf_addz(&w->path, "?");
    return r == 0 ? note(w, ev->start_mark.line) : r;
}

static int on_value(struct walk *w, const yaml_event_t *ev)
{
    bool opens = ev->type == YAML_MAPPING_START_EVENT || ev->type == YAML_SEQUENCE_START_EVENT;
    bool is_key = false;
    int r = 0;

    if (w->skipped == 0)
        r = w->nframes > 0 ? enter(w, &w->frames[w->nframes - 1], ev, &is_key)
                           : note(w, ev->start_mark.line);
    if (r < 0 || !opens)
        return r;
    if (w->skipped > 0 || is_key || w->nframes == COR_YAML_LINES_DEPTH) {
        w->skipped++;
        return 0;
    }
    w->frames[w->nframes++] = (struct frame){
        .is_map = ev->type == YAML_MAPPING_START_EVENT, .wants_key = true, .path_n = w->path.n};
    return 0;
}

static int on_event(struct walk *w, const yaml_event_t *ev)
{
    switch (ev->type) {
    case YAML_SCALAR_EVENT:
    case YAML_ALIAS_EVENT:
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        return on_value(w, ev);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        if (w->skipped > 0)
            w->skipped--;
        else
            w->nframes--;
        return 0;
    default:
        return 0;
    }
}

static int walk(struct walk *w, yaml_parser_t *parser)
{
    bool at_end = false;
    int r = 0;

    while (r == 0 && !at_end) {
        yaml_event_t ev;

        if (!yaml_parser_parse(parser, &ev))
            return parser->error == YAML_MEMORY_ERROR ? -COR_ENOMEM : -COR_EINVAL;
        r = on_event(w, &ev);
        at_end = ev.type == YAML_STREAM_END_EVENT;
        cor_yaml_event_delete(&ev);
    }
    return r;
}

int cor_yaml_lines_read(struct cor_str in, struct cor_yaml_lines **ret_lines)
{
    COR_CLEANUP(cor_yaml_lines_unrefp) struct cor_yaml_lines *lines = NULL;
    struct walk w = {0};
    yaml_parser_t parser;
    int r;

    lines = cor_calloc(1, sizeof(*lines));
    if (!lines)
        return -COR_ENOMEM;
    cor_ref_init(&lines->ref);
    cor_map_init(&lines->entries, COR_YAML_LINES_MAX);
    if (!yaml_parser_initialize(&parser))
        return -COR_ENOMEM;
    yaml_parser_set_input_string(&parser, (const unsigned char *)in.p, in.n);
    w.lines = lines;
    cor_buf_init(&w.path, PATH_MAX_BYTES);
    r = walk(&w, &parser);
    cor_buf_deinit(&w.path);
    cor_yaml_parser_delete(&parser);
    /* Names longer than any that is asked for: what came before them is known. */
    if (r < 0 && r != -COR_ETOOBIG)
        return r;
    *ret_lines = lines;
    lines = NULL;
    return 0;
}

struct cor_yaml_lines *cor_yaml_lines_ref(struct cor_yaml_lines *lines)
{
    cor_ref_get(&lines->ref);
    return lines;
}

struct cor_yaml_lines *cor_yaml_lines_unref(struct cor_yaml_lines *lines)
{
    if (!lines || !cor_ref_put(&lines->ref))
        return NULL;
    COR_MAP_FOREACH(it, &lines->entries)
        cor_free(it.value);
    cor_map_deinit(&lines->entries);
    return cor_free(lines);
}

size_t cor_yaml_lines_find(const struct cor_yaml_lines *lines, struct cor_str path)
{
    for (;;) {
        const struct entry *e = cor_map_peek(&lines->entries, path);

        if (e || path.n == 0)
            return e ? e->line : 0;
        do
            path.n--;
        while (path.n > 0 && path.p[path.n] != '.' && path.p[path.n] != '[');
    }
}
