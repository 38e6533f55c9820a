#include "json/write/edits.h"

#include <assert.h>

#include "json/text/scan.h"
#include "json/write/writer.h"

void cor_edits_set(struct cor_edits *edits, struct cor_str key, struct cor_str value)
{
    size_t at = edits->n;

    while (at > 0 && cor_str_cmp(edits->v[at - 1].key, key) > 0)
        at--;
    if (at > 0 && cor_str_eq(edits->v[at - 1].key, key)) {
        edits->v[at - 1].value = value;
        return;
    }
    assert(edits->n < COR_EDITS_MAX);
    memmove(edits->v + at + 1, edits->v + at, (edits->n - at) * sizeof(edits->v[0]));
    edits->v[at] = (struct cor_edit){key, value};
    edits->n++;
}

static void write_edit(struct cor_json_writer *w, const struct cor_edit *edit)
{
    if (!edit->value.p)
        return;
    cor_json_key(w, edit->key);
    cor_json_raw(w, edit->value);
}

/* The members of `json`, merged with the edits; both are in order of their keys. */
void cor_edits_write(const struct cor_edits *edits, struct cor_str json, bool is_top,
                     struct cor_json_writer *w)
{
    struct cor_json_iter it = cor_json_iter(json);
    struct cor_str key;
    size_t i = 0;

    while (cor_json_iter_member(&it, &key)) {
        if (is_top && (cor_str_eq(key, COR_STR("kind")) || cor_str_eq(key, COR_STR("apiVersion"))))
            continue;
        while (i < edits->n && cor_json_raw_cmp_text(key, edits->v[i].key) > 0)
            write_edit(w, &edits->v[i++]);
        if (i < edits->n && cor_json_raw_eq(key, edits->v[i].key)) {
            write_edit(w, &edits->v[i++]);
            continue;
        }
        cor_json_raw_key(w, key);
        cor_json_raw(w, cor_json_iter_value(&it));
    }
    while (i < edits->n)
        write_edit(w, &edits->v[i++]);
}

int cor_edits_apply(const struct cor_edits *edits, struct cor_str json, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_edits_write(edits, json, false, &w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}
