/* Views: values inside JSON that belongs to somebody else. Each getter scans the text that it
 * needs, and nothing is kept between calls; an absent value is a view of nothing, which every call
 * accepts. Thread: any, while the text stays. */
#include "coracle/view.h"

#include "base/err.h"
#include "json/path/path.h"
#include "json/text/json_int.h"

#define NUMBER_TEXT_MAX 512

static const struct cor_view nothing;

static struct cor_view within(struct cor_view view, struct cor_str json)
{
    return (struct cor_view){json, view.order};
}

struct cor_view cor_view(struct cor_str json)
{
    struct cor_str value;

    if (json.n == 0)
        return nothing;
    value = cor_json_first_value(json);
    return value.n > 0 ? (struct cor_view){value, COR_JSON_FIRST} : nothing;
}

enum cor_json_type cor_view_type(struct cor_view view)
{
    return cor_json_type(view.json);
}

bool cor_view_exists(struct cor_view view)
{
    return view.json.p != NULL;
}

struct cor_view cor_view_at(struct cor_view view, const struct cor_json_path *path)
{
    struct cor_str value;

    if (cor_json_path_first(path, view.json, (enum cor_json_order)view.order, &value) < 0)
        return nothing;
    return within(view, value);
}

struct cor_view cor_view_member(struct cor_view view, struct cor_str key)
{
    struct cor_str value;

    if (cor_json_get(view.json, key, (enum cor_json_order)view.order, &value) < 0)
        return nothing;
    return within(view, value);
}

struct each {
    struct cor_view view;
    bool (*on_match)(void *arg, struct cor_view match);
    void *arg;
};

static bool on_each(struct cor_str value, void *arg)
{
    const struct each *each = arg;

    return each->on_match(each->arg, within(each->view, value));
}

void cor_view_each(struct cor_view view, const struct cor_json_path *path,
                   bool (*on_match)(void *arg, struct cor_view match), void *arg)
{
    struct each each = {view, on_match, arg};

    cor_json_path_each(path, view.json, (enum cor_json_order)view.order, on_each, &each);
}

static int expect(struct cor_view view, enum cor_json_type type)
{
    if (!view.json.p)
        return -COR_ENOTFOUND;
    return cor_view_type(view) == type ? 0 : -COR_EINVAL;
}

int cor_view_raw(struct cor_view view, struct cor_str *ret)
{
    int r = expect(view, COR_JSON_STRING);

    return r < 0 ? r : cor_json_to_raw(view.json, ret);
}

int cor_view_text(struct cor_view view, char *buf, size_t cap, struct cor_str *ret)
{
    struct cor_str raw;
    int r = cor_view_raw(view, &raw);

    return r < 0 ? r : cor_json_unescape(raw, buf, cap, ret);
}

int cor_view_int(struct cor_view view, int64_t *ret)
{
    int r = expect(view, COR_JSON_NUMBER);

    return r < 0 ? r : cor_json_to_i64(view.json, ret);
}

int cor_view_double(struct cor_view view, double *ret)
{
    char text[NUMBER_TEXT_MAX];
    const char *end;
    yyjson_val number;
    int r = expect(view, COR_JSON_NUMBER);

    if (r < 0)
        return r;
    if (view.json.n >= sizeof(text))
        return -COR_ETOOBIG;
    memcpy(text, view.json.p, view.json.n);
    text[view.json.n] = '\0';
    end = yyjson_read_number(text, &number, 0, &cor_json_alc, NULL);
    if (end != text + view.json.n)
        return end ? -COR_EINVAL : -COR_ETOOBIG;
    *ret = yyjson_get_num(&number);
    return 0;
}

int cor_view_bool(struct cor_view view, bool *ret)
{
    int r = expect(view, COR_JSON_BOOL);

    return r < 0 ? r : cor_json_to_bool(view.json, ret);
}

struct cor_str cor_view_text_or(struct cor_view view, char *buf, size_t cap, const char *otherwise)
{
    struct cor_str text;

    return cor_view_text(view, buf, cap, &text) < 0 ? cor_strz(otherwise) : text;
}

int64_t cor_view_int_or(struct cor_view view, int64_t otherwise)
{
    (void)cor_view_int(view, &otherwise);
    return otherwise;
}

double cor_view_double_or(struct cor_view view, double otherwise)
{
    (void)cor_view_double(view, &otherwise);
    return otherwise;
}

bool cor_view_bool_or(struct cor_view view, bool otherwise)
{
    (void)cor_view_bool(view, &otherwise);
    return otherwise;
}

size_t cor_view_len(struct cor_view view)
{
    struct cor_view_iter it = cor_view_iter(view);
    size_t n = 0;

    while (cor_view_next(&it))
        n++;
    return n;
}

struct cor_view_iter cor_view_iter(struct cor_view view)
{
    struct cor_json_iter it = cor_json_iter(view.json);

    return (struct cor_view_iter){
        .value = {{NULL, 0}, view.order},
        .at = it.p,
        .end = it.end,
        .is_object = cor_view_type(view) == COR_JSON_OBJECT,
    };
}

bool cor_view_next(struct cor_view_iter *it)
{
    struct cor_json_iter json = {it->at, it->end, NULL};

    if (it->is_object ? !cor_json_iter_member(&json, &it->key) : !cor_json_iter_elem(&json))
        return false;
    it->value.json = cor_json_iter_value(&json);
    it->at = json.p;
    return true;
}
