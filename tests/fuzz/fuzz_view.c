/* Input: paths in lines, an empty line, bytes that may be JSON. Reading stays inside the bytes, a
 * set reads what its paths read one by one, and on canonical bytes the order of keys does not
 * matter. */
#include "base/err.h"
#include "coracle/view.h"
#include "fuzz.h"
#include "json/path/path.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define PATHS_MAX 16

static const struct cor_json_limits limits = {.bytes_max = 1u << 22, .depth_max = 200};

static void read_all(struct cor_view view, struct cor_str within, int depth)
{
    struct cor_view_iter it = cor_view_iter(view);
    struct cor_str text;
    char buf[64];
    int64_t i;
    double d;
    bool b;
    size_t n = 0;

    if (cor_view_exists(view))
        FUZZ_CHECK(view.json.p >= within.p && view.json.p + view.json.n <= within.p + within.n);
    (void)cor_view_text(view, buf, sizeof(buf), &text);
    (void)cor_view_int(view, &i);
    (void)cor_view_double(view, &d);
    (void)cor_view_bool(view, &b);
    while (depth < 20 && n++ < 100 && cor_view_next(&it))
        read_all(it.value, within, depth + 1);
}

static void read_with(const struct cor_str *texts, size_t n, struct cor_view view,
                      struct cor_str within, bool is_valid)
{
    struct cor_view found[PATHS_MAX];
    struct cor_view_set *set;

    if (cor_view_set_new(texts, n, &set, NULL, NULL) < 0)
        return;
    cor_view_set_read(set, view, found);
    for (size_t i = 0; i < n; i++) {
        struct cor_json_path *path;
        struct cor_view one;

        FUZZ_CHECK(cor_json_path_new(texts[i], &path, NULL) == 0);
        one = cor_view_at(view, path);
        if (is_valid)
            FUZZ_CHECK(one.json.p == found[i].json.p && one.json.n == found[i].json.n);
        read_all(one, within, 0);
        read_all(found[i], within, 0);
        cor_json_path_free(path);
    }
    cor_view_set_free(set);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str json = cor_str((const char *)data, size);
    struct cor_str texts[PATHS_MAX];
    struct cor_buf canonical;
    bool is_canonical;
    size_t n = 0;

    while (json.p && n < PATHS_MAX) {
        texts[n] = cor_str_cut(&json, '\n');
        if (texts[n].n == 0)
            break;
        n++;
    }
    if (!json.p)
        return 0;
    read_all(cor_view(json), json, 0);
    read_with(texts, n, cor_view(json), json,
              cor_json_check(json, &limits, &is_canonical, NULL) == 0);
    cor_buf_init(&canonical, 1u << 22);
    if (cor_json_canonicalize(json, &limits, &canonical, NULL, NULL) == 0) {
        struct cor_str bytes = cor_buf_str(&canonical);

        read_with(texts, n, cor_view(bytes), bytes, true);
        read_with(texts, n, (struct cor_view){bytes, COR_JSON_SORTED}, bytes, true);
    }
    cor_buf_deinit(&canonical);
    return 0;
}
