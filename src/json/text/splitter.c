#include "json/text/splitter.h"

#include "base/err.h"
#include "json/text/json.h"
#include "json/text/json_int.h"

#define KEY_MAX 1024 /* bytes of a member's name, quotes included */

/* Documents: BETWEEN <-> VALUE. A list: BEFORE, then KEY, COLON, MEMBER and VALUE in turn, with
 * ITEM and VALUE in turn inside `items`, then AFTER. */
enum state {
    BETWEEN, /* documents */
    BEFORE,  /* the list's object */
    KEY_OR_END,
    NEXT_KEY, /* after a comma */
    KEY,      /* a string under way */
    COLON,
    MEMBER,
    AFTER_MEMBER,
    ITEM_OR_END,
    NEXT_ITEM, /* after a comma */
    AFTER_ITEM,
    AFTER,
    VALUE_DOCUMENT, /* a value under way, of one of three kinds */
    VALUE_MEMBER,
    VALUE_ITEM,
};

void cor_json_splitter_init(struct cor_json_splitter *s, enum cor_json_split kind, size_t value_max,
                            const struct cor_json_splitter_cbs *cbs, void *arg)
{
    *s = (struct cor_json_splitter){.kind = kind, .cbs = cbs, .arg = arg};
    s->state = kind == COR_JSON_SPLIT_DOCUMENTS ? BETWEEN : BEFORE;
    cor_buf_init(&s->part, value_max);
    cor_buf_init(&s->key, KEY_MAX);
}

void cor_json_splitter_deinit(struct cor_json_splitter *s)
{
    cor_buf_deinit(&s->part);
    cor_buf_deinit(&s->key);
}

/* Where the string ends in [p, end): past its quote, or NULL. */
static const char *skip_string(struct cor_json_splitter *s, const char *p, const char *end)
{
    while (p < end) {
        if (s->is_escaped) {
            s->is_escaped = false;
            p++;
            continue;
        }
        p = cor_json_find_special(p, end);
        if (p == end)
            break;
        if (*p == '"') {
            s->in_string = false;
            return p + 1;
        }
        s->is_escaped = *p++ == '\\';
    }
    return NULL;
}

static const char *skip_scalar(const char *p, const char *end)
{
    while (p < end && !cor_json_is_space(*p) && *p != ',' && *p != ']' && *p != '}')
        p++;
    return p < end ? p : NULL;
}

/* What a byte outside strings does to the depth; a quote begins a string. */
enum { PLAIN, QUOTE, OPEN, CLOSE };
static const unsigned char classes[256] = {
    ['"'] = QUOTE, ['{'] = OPEN, ['['] = OPEN, ['}'] = CLOSE, [']'] = CLOSE};

/* Where the value under way ends in [p, end), or NULL: it goes on. */
static const char *skip_value(struct cor_json_splitter *s, const char *p, const char *end)
{
    if (s->is_scalar)
        return skip_scalar(p, end);
    while (p < end) {
        unsigned char class = PLAIN;

        if (s->in_string) {
            p = skip_string(s, p, end);
            if (!p || s->depth == 0)
                return p;
        }
        while (p < end && (class = classes[(unsigned char)*p]) == PLAIN)
            p++;
        if (p == end)
            break;
        p++;
        if (class == QUOTE)
            s->in_string = true;
        else if (class == OPEN)
            s->depth++;
        else if (--s->depth == 0)
            return p;
    }
    return NULL;
}

/* Takes an item that lies in [*p, end) as a whole, and checks it. False: it goes on in the next
 * piece, or something is wrong with it; then it is looked at again, in the way of all other values.
 */
static bool take_checked(struct cor_json_splitter *s, const char **p, const char *end, int *ret)
{
    const struct cor_json_limits limits = {s->part.max, COR_JSON_DEPTH_MAX, true};
    struct cor_str item;
    size_t n;

    if (!s->checks || **p != '{' ||
        cor_json_check_first(cor_str(*p, (size_t)(end - *p)), &limits, &s->is_canonical, &n) < 0)
        return false;
    item = cor_str(*p, n);
    *p += n;
    s->state = AFTER_ITEM;
    s->is_checked = true;
    *ret = s->cbs->on_value(s->arg, item);
    s->is_checked = false;
    return true;
}

static int begin_value(struct cor_json_splitter *s, char first, enum state state)
{
    if (first == ',' || first == ']' || first == '}')
        return -COR_EINVAL;
    s->state = state;
    s->depth = 0;
    s->in_string = s->is_escaped = false;
    s->is_scalar = first != '"' && first != '{' && first != '[';
    cor_buf_reset(&s->part);
    return 0;
}

/* A member besides the items: it is not checked as a whole elsewhere. */
static int give_member(struct cor_json_splitter *s, struct cor_str value)
{
    const struct cor_json_limits limits = {s->part.max, COR_JSON_DEPTH_MAX, true};
    bool is_canonical;

    if (s->checks && (cor_json_check(cor_buf_str(&s->key), &limits, &is_canonical, NULL) < 0 ||
                      cor_json_check(value, &limits, &is_canonical, NULL) < 0))
        return -COR_EINVAL;
    s->state = AFTER_MEMBER;
    return s->cbs->on_member(s->arg, cor_str(s->key.p + 1, s->key.n - 2), value);
}

static int give_value(struct cor_json_splitter *s, struct cor_str value)
{
    switch (s->state) {
    case VALUE_DOCUMENT:
        s->state = BETWEEN;
        return s->cbs->on_value(s->arg, value);
    case VALUE_ITEM:
        s->state = AFTER_ITEM;
        return s->cbs->on_value(s->arg, value);
    default:
        return give_member(s, value);
    }
}

/* Goes on with the value under way; `*p` moves to its end, or to the end of the input. */
static int feed_value(struct cor_json_splitter *s, const char **p, const char *end)
{
    const char *begin = *p, *stop = skip_value(s, begin, end);
    struct cor_str piece = cor_str(begin, (size_t)((stop ? stop : end) - begin));
    int r;

    *p = stop ? stop : end;
    if (stop && s->part.n == 0)
        return piece.n > s->part.max ? -COR_ETOOBIG : give_value(s, piece);
    r = cor_buf_adds(&s->part, piece);
    return r < 0 || !stop ? r : give_value(s, cor_buf_str(&s->part));
}

static int feed_key(struct cor_json_splitter *s, const char **p, const char *end)
{
    const char *begin = *p, *stop = skip_string(s, begin, end);
    int r = cor_buf_add(&s->key, begin, (size_t)((stop ? stop : end) - begin));

    *p = stop ? stop : end;
    if (r == 0 && stop)
        s->state = COLON;
    return r;
}

static int begin_key(struct cor_json_splitter *s)
{
    s->state = KEY;
    s->in_string = true;
    s->is_escaped = false;
    cor_buf_reset(&s->key);
    return cor_buf_addc(&s->key, '"');
}

static int begin_member(struct cor_json_splitter *s, char first, const char **p)
{
    if (first == '[' && cor_str_eq(cor_buf_str(&s->key), COR_STR("\"items\""))) {
        s->state = ITEM_OR_END;
        s->has_items = true;
        (*p)++;
        return 0;
    }
    return begin_value(s, first, VALUE_MEMBER);
}

/* One character of structure, which is not white space. */
static int feed_structure(struct cor_json_splitter *s, const char **p, const char *end)
{
    char c = **p;
    int r;

    switch (s->state) {
    case BETWEEN:
        return begin_value(s, c, VALUE_DOCUMENT);
    case MEMBER:
        return begin_member(s, c, p);
    case ITEM_OR_END:
    case NEXT_ITEM:
        if (c != ']')
            return take_checked(s, p, end, &r) ? r : begin_value(s, c, VALUE_ITEM);
        break;
    default:
        break;
    }
    (*p)++;
    if (s->state == BEFORE && c == '{')
        s->state = KEY_OR_END;
    else if ((s->state == KEY_OR_END || s->state == NEXT_KEY) && c == '"')
        return begin_key(s);
    else if (s->state == COLON && c == ':')
        s->state = MEMBER;
    else if (s->state == AFTER_MEMBER && c == ',')
        s->state = NEXT_KEY;
    else if ((s->state == AFTER_MEMBER || s->state == KEY_OR_END) && c == '}')
        s->state = AFTER;
    else if (s->state == AFTER_ITEM && c == ',')
        s->state = NEXT_ITEM;
    else if ((s->state == AFTER_ITEM || s->state == ITEM_OR_END) && c == ']')
        s->state = AFTER_MEMBER;
    else
        return -COR_EINVAL;
    return 0;
}

int cor_json_splitter_feed(struct cor_json_splitter *s, struct cor_str bytes)
{
    const char *p = bytes.p, *end = bytes.n > 0 ? bytes.p + bytes.n : p;
    int r = 0;

    while (r == 0 && p < end) {
        if (s->state >= VALUE_DOCUMENT)
            r = feed_value(s, &p, end);
        else if (s->state == KEY)
            r = feed_key(s, &p, end);
        else if (cor_json_is_space(*p))
            p++;
        else
            r = feed_structure(s, &p, end);
    }
    return r;
}

int cor_json_splitter_end(struct cor_json_splitter *s)
{
    if (s->state == VALUE_DOCUMENT && s->is_scalar && s->part.n > 0)
        return give_value(s, cor_buf_str(&s->part));
    return s->state == BETWEEN || s->state == AFTER ? 0 : -COR_EINVAL;
}
