"""A program that tries generated files: each struct makes its round trip, and each kind is read through its views beside its
struct. program(folder) is its text; folder has what coracle-gen has written with --structs all. It prints "N structs, N views" or what
is wrong."""

import pathlib
import re

TEXT = """#include <stdio.h>

#include <coracle/err.h>
%(includes)s
static size_t wrong, seen;

static void check_view(bool is_same, const char *what)
{
    seen++;
    if (!is_same) {
        wrong++;
        printf("%%s is not the same in view and struct\\n", what);
    }
}

static bool is_text(struct cor_text got, struct cor_str want)
{
    return want.p ? cor_str_eq(got.raw, want) : !cor_text_exists(got);
}

%(prototypes)s

%(checks)s

static int make_trip(const struct cor_own_type *type)
{
    struct cor_pool *pool;
    void *made, *again, *copy;
    struct cor_str json, same;
    int r = cor_pool_new(0, &pool);

    if (r < 0)
        return r;
    made = cor_pool_alloc(pool, type->size);
    again = cor_pool_alloc(pool, type->size);
    copy = cor_pool_alloc(pool, type->size);
    r = cor_own_sample(type, pool, made);
    if (r == 0)
        r = cor_own_encode(type, pool, made, &json);
    if (r == 0)
        r = cor_own_decode(type, pool, json, NULL, again, NULL);
    if (r == 0)
        r = cor_own_copy(type, pool, again, copy);
    if (r == 0)
        r = cor_own_encode(type, pool, copy, &same);
    if (r == 0 && (!cor_own_equal(type, made, copy) || !cor_str_eq(json, same)))
        r = -COR_EINVAL;
    if (r == 0)
        r = cor_own_fill(type, pool, copy);
    cor_pool_free(pool);
    return r;
}

%(kinds)s

int main(void)
{
    static const struct cor_own_type *const types[] = {%(types)s};
    static const char *const names[] = {%(names)s};
    size_t n = sizeof(types) / sizeof(*types);

    for (size_t i = 0; i < n; i++) {
        int r = make_trip(types[i]);

        if (r < 0)
            printf("%%s: %%d\\n", names[i], r);
        wrong += r < 0;
    }
    %(calls)s
    if (wrong == 0)
        printf("%%zu structs, %%zu views\\n", n, seen);
    return wrong > 0;
}
"""
KIND = """static void check_kind_%(c)s(void)
{
    struct %(c)s_own *own;
    struct %(object)s object = {NULL};
    struct cor_status why;
    struct cor_pool *pool;
    int r;

    cor_status_init(&why);
    r = cor_pool_new(0, &pool);
    if (r < 0)
        return;
    own = (struct %(c)s_own *)cor_pool_alloc(pool, sizeof(*own));
    r = cor_own_sample(&%(c)s_own_type, pool, own);
    if (r == 0)
        r = %(object)s_of_own(pool, own, &object, &why);
    check_view(r == 0, "%(c)s");
    if (r == 0)
        check_%(c)s(%(object)s_view(object), own);
    %(object)s_unref(&object);
    cor_pool_free(pool);
    cor_status_deinit(&why);
}
"""
NUMBERS = {"struct cor_opt_bool": "bool", "struct cor_opt_int32": "int32_t", "struct cor_opt_int64": "int64_t",
           "struct cor_opt_double": "double"}


def accessors(text):
    """{the view's struct: {name: what it returns}}"""
    found = {}
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for ret, name, of in re.findall(r"^(struct \w+|bool|int32_t|int64_t|double)\s+(\w+)\(\s*struct (\w+) v\);", text, flags=re.M):
        found.setdefault(of, {})[name] = ret
    return found


def structs(text):
    """{name without _own: {member: its type}}"""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return {name: {member: kind + star for kind, star, member in re.findall(r"^    (struct \w+) (\*?)(\w+);", body, flags=re.M)}
            for name, body in re.findall(r"^struct (\w+)_own \{\n(.*?)^\};", text, flags=re.M | re.S)}


def accessor_of(functions, name, member):
    """The accessor of a member, unless several might be: names that are taken get underscores."""
    like = [f for f in functions if f.rstrip("_") == f"{name}_{member}".rstrip("_")]
    return like[0] if len(like) == 1 else None


def check(get, ret, kind, member, known):
    """The statements that compare an accessor with a member; None: the two cannot be compared simply."""
    own = f"own->{member}"
    if kind == "struct cor_str" and ret == "struct cor_text":
        return f'check_view(is_text({get}(v), {own}), "{get}");'
    if kind in NUMBERS and ret == NUMBERS[kind]:
        return f'check_view({get}(v) == {own}.value, "{get}");'
    part = re.fullmatch(r"struct (\w+)_own(\*?)", kind)
    if part and part[1] in known and ret == f"struct {part[1]}":
        if part[2]:
            return f"if ({own})\n        check_{part[1]}({get}(v), {own});"
        return f"check_{part[1]}({get}(v), &{own});"
    part = re.fullmatch(r"struct (\w+)_own_list", kind)
    if part and part[1] in known and ret == f"struct {part[1]}_array":
        return (f"{{\n        {ret} all = {get}(v);\n        struct {part[1]} one;\n        size_t i = 0;\n\n"
                f"        for (; {part[1]}_array_next(&all, &one); i++)\n            check_{part[1]}(one, &{own}.p[i]);\n"
                f'        check_view(i == {own}.n, "{get}");\n    }}')
    part = re.fullmatch(r"struct (\w+)_own_map", kind)
    if part and part[1] in known and ret == f"struct {part[1]}_map":
        return (f'check_view(cor_value_len({get}(v).at) == {own}.n, "{get}");\n    for (size_t i = 0; i < {own}.n; i++)\n'
                f"        check_{part[1]}({part[1]}_map_get({get}(v), {own}.p[i].key), &{own}.p[i].value);")
    if kind == "struct cor_str_list" and ret == "struct cor_text_array":
        return (f"{{\n        struct cor_text_array all = {get}(v);\n        struct cor_text one;\n        size_t i = 0;\n\n"
                f"        for (; cor_text_array_next(&all, &one); i++)\n            check_view(is_text(one, {own}.p[i]), \"{get}\");\n"
                f'        check_view(i == {own}.n, "{get}");\n    }}')
    return None


def program(folder):
    files = {file.name: file.read_text() for file in sorted(pathlib.Path(folder).glob("*.h"))}
    known, functions, types, clients = {}, {}, [], ""
    for name, text in files.items():
        if name.endswith("_structs.h"):
            known.update(structs(text))
            types += re.findall(r"^extern const struct cor_own_type (\w+);", text, flags=re.M)
        elif name.endswith("_client.h"):
            clients += text
        else:
            functions.update(accessors(text))
    prototypes, checks, kinds = [], [], []
    for name, members in known.items():
        lines = []
        for member, kind in members.items():
            if member == "self_link":
                continue  # which objects of the library do not keep
            get = accessor_of(functions.get(name, {}), name, member)
            lines.append(get and check(get, functions[name][get], kind, member, known))
        prototypes.append(f"static void check_{name}(struct {name} v, const struct {name}_own *own);")
        checks.append(f"static void check_{name}(struct {name} v, const struct {name}_own *own)\n{{\n    (void)v;\n    (void)own;\n"
                      + "".join(f"    {line}\n" for line in lines if line) + "}\n")
        made = re.search(rf"^static inline int (\w+)_of_own\(\s*struct cor_pool \*pool, const struct {name}_own \*own,", clients, flags=re.M)
        if made:
            kinds.append((name, KIND % {"c": name, "object": made[1]}))
    # A part that no kind holds is not read; nothing calls its check.
    return TEXT % {"includes": "".join(f'#include "{name}"\n' for name in files), "prototypes": "\n".join(
        f"__attribute__((unused)) {line}" for line in prototypes), "checks": "\n".join(checks), "kinds": "\n".join(text for _, text in kinds),
                   "types": ", ".join(f"&{name}" for name in types),
                   "names": ", ".join(f'"{name}"' for name in types), "calls": "\n    ".join(f"check_kind_{name}();" for name, _ in kinds)}
