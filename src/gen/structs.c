/* Writes the structs of a package.
 *
 * A type is described by data, not by code: a table of its fields says where each lies in the
 * struct and of which kind it is, and functions that all types share read the tables (src/own/).
 * docs/internals/gen.md has the sizes that decided it.
 *
 * Flow: the header declares all structs, then those of lists and maps, which only point to them,
 * then the structs themselves, each behind those that it holds; the source has the tables
 * (struct_tables.c). A struct
 * that would hold itself is pointed to instead. The first failure sticks to the arena or to the
 * lines and is returned at the end. */
#include "gen/structs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "gen/c_text.h"
#include "gen/structs_int.h"

#define FIELDS_MAX 4096 /* of a struct */

static int refuse(struct cor_gen_error *reterr, const char *what, struct cor_str kind)
{
    snprintf(reterr->message, sizeof(reterr->message), "--structs: %s, but it is \"%.*s\"", what,
             COR_STR_ARG(kind));
    return -COR_EINVAL;
}

/* The type of a field, or of its elements when they are not containers themselves. */
static const struct cor_gen_type *value_of(const struct cor_gen_field *field)
{
    const struct cor_gen_type *type = field->type;

    return type->shape == COR_SHAPE_LIST || type->shape == COR_SHAPE_MAP ? type->element : type;
}

static void mark(struct cor_gen_type *type)
{
    if (type->is_owned)
        return;
    type->is_owned = true;
    for (const struct cor_gen_field *f = type->fields; f; f = f->next) {
        const struct cor_gen_type *value = value_of(f);

        if (value->shape == COR_SHAPE_STRUCT)
            mark((struct cor_gen_type *)value);
    }
}

static struct cor_gen_type *find_kind(struct cor_gen_model *model, struct cor_str kind,
                                      size_t *ret_n)
{
    struct cor_gen_type *found = NULL;
    struct cor_str rest = kind, stem = {"", 0};

    *ret_n = 0;
    if (cor_str_find(kind, '.') >= 0)
        stem = cor_str_cut(&rest, '.');
    for (const struct cor_gen_package *p = model->packages; p; p = p->next) {
        struct cor_gen_type *type =
            stem.n == 0 || cor_str_eq(stem, p->stem) ? cor_gen_find_type(model, p, rest) : NULL;

        if (type && type->is_kind) {
            found = type;
            ++*ret_n;
        }
    }
    return found;
}

const struct cor_gen_type *cor_gen_find_kind(struct cor_gen_model *model, struct cor_str kind)
{
    size_t n;
    const struct cor_gen_type *type = find_kind(model, kind, &n);

    return n == 1 ? type : NULL;
}

static void mark_all(struct cor_gen_model *model)
{
    for (const struct cor_gen_package *p = model->packages; p; p = p->next) {
        for (struct cor_gen_type *t = p->types; t; t = t->next) {
            if (t->shape == COR_SHAPE_STRUCT)
                t->is_owned = true;
        }
    }
}

/* Points to structs that would hold themselves. `is_open` of a type is whether it holds the one
 * that is looked at. */
static void break_loops(struct cor_gen_type *type)
{
    type->is_open = true;
    for (struct cor_gen_field *f = type->fields; f; f = f->next) {
        struct cor_gen_type *to = (struct cor_gen_type *)f->type;

        if (to->shape != COR_SHAPE_STRUCT || f->is_pointer)
            continue;
        if (to->is_open)
            f->is_pointer = true;
        else
            break_loops(to);
    }
    type->is_open = false;
}

int cor_gen_structs_choose(struct cor_gen_model *model, struct cor_str kinds,
                           struct cor_gen_error *reterr)
{
    if (cor_str_eqz(kinds, "all")) {
        mark_all(model);
        kinds.n = 0;
    }
    while (kinds.p && kinds.n > 0) {
        struct cor_str kind = cor_str_cut(&kinds, ',');
        size_t n;
        struct cor_gen_type *type = find_kind(model, kind, &n), *list;

        if (n != 1)
            return refuse(reterr,
                          n == 0 ? "a kind of the input was expected"
                                 : "a kind as PACKAGE.KIND was expected",
                          kind);
        mark(type);
        list = cor_gen_find_type(model, type->package,
                                 cor_gen_printf(model, "%.*sList", COR_STR_ARG(type->name)));
        if (list)
            mark(list);
    }
    for (const struct cor_gen_package *p = model->packages; p; p = p->next) {
        for (struct cor_gen_type *t = p->types; t; t = t->next) {
            if (t->is_owned)
                break_loops(t);
        }
    }
    return cor_gen_model_error(model);
}

bool cor_gen_has_structs(const struct cor_gen_package *package)
{
    for (const struct cor_gen_type *t = package->types; t; t = t->next) {
        if (t->is_owned && !package->is_external)
            return true;
    }
    return false;
}

/* Words that cannot name a member in C or C++, or that headers of a system define as macros. */
static bool is_reserved(struct cor_str name)
{
    static const char *const words[] = {
        "alignas",  "alignof",   "and",      "and_eq",         "asm",       "assert",   "auto",
        "bitand",   "bitor",     "bool",     "break",          "case",      "catch",    "char",
        "class",    "compl",     "const",    "constexpr",      "continue",  "decltype", "default",
        "delete",   "do",        "double",   "else",           "enum",      "errno",    "explicit",
        "export",   "extern",    "false",    "float",          "for",       "friend",   "goto",
        "if",       "inline",    "int",      "linux",          "long",      "major",    "minor",
        "mutable",  "namespace", "new",      "noexcept",       "not",       "not_eq",   "nullptr",
        "operator", "or",        "or_eq",    "private",        "protected", "public",   "register",
        "requires", "restrict",  "return",   "short",          "signed",    "sizeof",   "static",
        "stderr",   "stdin",     "stdout",   "struct",         "switch",    "template", "this",
        "throw",    "true",      "try",      "typedef",        "typeid",    "typename", "typeof",
        "union",    "unix",      "unsigned", "using",          "virtual",   "void",     "volatile",
        "while",    "xor",       "xor_eq",   "unknown_fields",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(words); i++) {
        if (cor_str_eqz(name, words[i]))
            return true;
    }
    return false;
}

static const char *kind_of(const struct cor_gen_structs_of *s, const struct cor_gen_type *value)
{
    switch (value->shape) {
    case COR_SHAPE_STRUCT:
        return "STRUCT";
    case COR_SHAPE_BOOL:
        return "BOOL";
    case COR_SHAPE_INT32:
        return "INT32";
    case COR_SHAPE_INT64:
        return "INT64";
    case COR_SHAPE_FLOAT64:
        return "DOUBLE";
    case COR_SHAPE_BYTES:
        return "BYTES";
    case COR_SHAPE_QUANTITY:
        return "QUANTITY";
    case COR_SHAPE_INT_OR_STRING:
        return "INT_OR_STR";
    case COR_SHAPE_TIME:
        return s->package->is_structural ? "TEXT" : "TIME";
    case COR_SHAPE_MICRO_TIME:
        return s->package->is_structural ? "TEXT" : "MICRO_TIME";
    case COR_SHAPE_STRING:
    case COR_SHAPE_DURATION:
        return "TEXT";
    case COR_SHAPE_LIST:
    case COR_SHAPE_MAP:
    case COR_SHAPE_RAW:
    case COR_SHAPE_FIELDS_V1:
    case COR_SHAPE_JSON:
    case COR_SHAPE_SCHEMA_OR_BOOL:
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
    case COR_SHAPES:
        break;
    }
    return "RAW";
}

/* What the structs of lists and maps of a scalar begin with. */
static const char *scalar_stem(const char *kind)
{
    static const struct {
        const char *kind, *stem;
    } stems[] = {
        {"BOOL", "cor_bool"},     {"INT32", "cor_int32"},           {"INT64", "cor_int64"},
        {"DOUBLE", "cor_double"}, {"INT_OR_STR", "cor_int_or_str"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(stems); i++) {
        if (cor_str_eqz(cor_strz(kind), stems[i].kind))
            return stems[i].stem;
    }
    return "cor_str";
}

static struct cor_str member_type(struct cor_gen_model *m, const struct cor_gen_member *member)
{
    static const struct {
        const char *kind, *type;
    } types[] = {
        {"BOOL", "struct cor_opt_bool"},         {"INT32", "struct cor_opt_int32"},
        {"INT64", "struct cor_opt_int64"},       {"DOUBLE", "struct cor_opt_double"},
        {"TIME", "struct cor_opt_time"},         {"MICRO_TIME", "struct cor_opt_micro_time"},
        {"INT_OR_STR", "struct cor_int_or_str"},
    };
    bool is_struct = member->value->shape == COR_SHAPE_STRUCT;
    const char *suffix = cor_str_eqz(cor_strz(member->form), "ONE")    ? ""
                         : cor_str_eqz(cor_strz(member->form), "LIST") ? "_list"
                                                                       : "_map";

    if (is_struct)
        return cor_gen_printf(m, "struct %.*s_own%s", COR_STR_ARG(member->value->c_name), suffix);
    if (*suffix != '\0')
        return cor_gen_printf(m, "struct %s%s", scalar_stem(member->kind), suffix);
    for (size_t i = 0; i < COR_ARRAY_LEN(types); i++) {
        if (cor_str_eqz(cor_strz(member->kind), types[i].kind))
            return cor_strz(types[i].type);
    }
    return COR_STR("struct cor_str");
}

static struct cor_gen_member member_of(const struct cor_gen_structs_of *s,
                                       const struct cor_gen_field *field)
{
    struct cor_gen_model *m = s->model;
    enum cor_shape shape = field->type->shape;
    struct cor_gen_member member = {.field = field, .value = value_of(field)};
    struct cor_str name = cor_gen_snake_of(m, field->name);

    member.form = shape == COR_SHAPE_LIST ? "LIST" : shape == COR_SHAPE_MAP ? "MAP" : "ONE";
    member.kind = kind_of(s, member.value);
    member.is_pointer = field->is_pointer && shape == COR_SHAPE_STRUCT;
    if (name.n == 0 || (name.p[0] >= '0' && name.p[0] <= '9'))
        name = cor_gen_printf(m, "_%.*s", COR_STR_ARG(name));
    if (is_reserved(name))
        name = cor_gen_printf(m, "%.*s_", COR_STR_ARG(name));
    member.name = name;
    member.type = member_type(m, &member);
    return member;
}

static int compare_names(const void *a, const void *b)
{
    return cor_str_cmp(((const struct cor_gen_member *)a)->field->name,
                       ((const struct cor_gen_member *)b)->field->name);
}

struct cor_gen_member *cor_gen_members_of(const struct cor_gen_structs_of *s,
                                          const struct cor_gen_type *type, size_t *ret_n)
{
    struct cor_gen_member *members;
    size_t n = 0, i = 0;

    for (const struct cor_gen_field *f = type->fields; f; f = f->next)
        n++;
    members = n <= FIELDS_MAX ? cor_arena_alloc(&s->model->arena, n * sizeof(*members)) : NULL;
    *ret_n = members ? n : 0;
    if (!members)
        return NULL;
    for (const struct cor_gen_field *f = type->fields; f; f = f->next)
        members[i++] = member_of(s, f);
    qsort(members, n, sizeof(*members), compare_names);
    for (i = 1; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            if (!cor_str_eq(members[i].name, members[j].name))
                continue;
            members[i].name = cor_gen_printf(s->model, "%.*s_", COR_STR_ARG(members[i].name));
            j = SIZE_MAX;
            if (cor_gen_model_error(s->model) < 0)
                return members;
        }
    }
    return members;
}

struct cor_str cor_gen_structs_header(struct cor_gen_model *m, const struct cor_gen_package *p)
{
    return cor_gen_printf(m, "%.*s_structs.h", (int)p->header.n - 2, p->header.p);
}

/* The other packages whose structs are held or pointed to, in the order of the model. */
static void put_includes(const struct cor_gen_structs_of *s, struct cor_gen_lines *l)
{
    for (const struct cor_gen_package *p = s->model->packages; p; p = p->next) {
        bool is_used = false;

        for (const struct cor_gen_type *t = s->package->types; t && p != s->package; t = t->next) {
            for (const struct cor_gen_field *f = t->is_owned ? t->fields : NULL; f; f = f->next)
                is_used |= value_of(f)->package == p && value_of(f)->shape == COR_SHAPE_STRUCT;
        }
        if (is_used)
            cor_gen_put(l, "#include \"%.*s\"\n", COR_STR_ARG(cor_gen_structs_header(s->model, p)));
    }
}

static void put_declarations(const struct cor_gen_structs_of *s, struct cor_gen_lines *l)
{
    cor_gen_put(l, "\n");
    for (const struct cor_gen_type *t = s->package->types; t; t = t->next) {
        if (!t->is_owned)
            continue;
        cor_gen_put(l, "struct %.*s_own;\n", COR_STR_ARG(t->c_name));
        if (t->is_element)
            cor_gen_put(l,
                        "struct %.*s_own_list {\n    struct %.*s_own *p;\n    size_t n, cap;\n};\n",
                        COR_STR_ARG(t->c_name), COR_STR_ARG(t->c_name));
        if (t->is_map_value)
            cor_gen_put(l,
                        "struct %.*s_own_entry;\nstruct %.*s_own_map {\n    struct %.*s_own_entry "
                        "*p;\n    size_t n, cap;\n};\n",
                        COR_STR_ARG(t->c_name), COR_STR_ARG(t->c_name), COR_STR_ARG(t->c_name));
    }
}

static void put_struct(const struct cor_gen_structs_of *s, struct cor_gen_lines *l,
                       struct cor_gen_type *type)
{
    size_t n;
    const struct cor_gen_member *members;

    if (type->is_written || !type->is_owned || type->package != s->package)
        return;
    type->is_written = true;
    members = cor_gen_members_of(s, type, &n);
    for (size_t i = 0; i < n; i++) {
        if (members[i].value->shape == COR_SHAPE_STRUCT && *members[i].form == 'O' &&
            !members[i].is_pointer)
            put_struct(s, l, (struct cor_gen_type *)members[i].value);
    }
    cor_gen_put(l, "\n");
    cor_gen_put_comment(l, cor_gen_printf(s->model, "%.*s%s %.*s", COR_STR_ARG(type->name),
                                          type->words.n > 0 ? ":" : ".", COR_STR_ARG(type->words)));
    cor_gen_put(l, "struct %.*s_own {\n", COR_STR_ARG(type->c_name));
    for (size_t i = 0; i < n; i++) {
        if (members[i].field->words.n > 0)
            cor_gen_put_inner_comment(l, 4, members[i].field->words);
        cor_gen_put(l, "    %.*s %s%.*s;\n", COR_STR_ARG(members[i].type),
                    members[i].is_pointer ? "*" : "", COR_STR_ARG(members[i].name));
    }
    cor_gen_put(l, "    struct cor_str unknown_fields;\n};\n");
    if (type->is_map_value)
        cor_gen_put(l,
                    "struct %.*s_own_entry {\n    struct cor_str key;\n    struct %.*s_own "
                    "value;\n};\n",
                    COR_STR_ARG(type->c_name), COR_STR_ARG(type->c_name));
}

/* Returns whether a member's protobuf is not supported by the functions on structs: the schemas of
 * a CustomResourceDefinition that may also be a bool or a list, and containers in containers. */
static bool has_odd_member(struct cor_gen_type *type, unsigned asked)
{
    if (type->seen == asked)
        return false;
    type->seen = asked;
    for (const struct cor_gen_field *f = type->fields; f; f = f->next) {
        struct cor_gen_type *value = (struct cor_gen_type *)value_of(f);

        if (value->shape == COR_SHAPE_SCHEMA_OR_BOOL || value->shape == COR_SHAPE_SCHEMA_OR_ARRAY ||
            value->shape == COR_SHAPE_SCHEMA_OR_STRINGS || value->shape == COR_SHAPE_MAP ||
            (value->shape == COR_SHAPE_LIST && !value->is_wrapped))
            return true;
        if (value->shape == COR_SHAPE_STRUCT && has_odd_member(value, asked))
            return true;
    }
    return false;
}

bool cor_gen_has_protobuf(const struct cor_gen_structs_of *s, const struct cor_gen_type *type)
{
    bool has_number = false;

    for (const struct cor_gen_field *f = type->fields; f; f = f->next)
        has_number |= f->number > 0;
    return type->is_kind && s->package->version.n > 0 && has_number &&
           !has_odd_member((struct cor_gen_type *)type, ++s->model->asked);
}

static void put_functions(const struct cor_gen_structs_of *s, struct cor_gen_lines *l)
{
    for (const struct cor_gen_type *t = s->package->types; t; t = t->next) {
        if (!t->is_owned)
            continue;
        cor_gen_put(l, "\nextern %sconst struct cor_own_type %.*s_own_type;\n",
                    s->opts->is_exported ? "COR_API " : "", COR_STR_ARG(t->c_name));
        cor_gen_put(l, "COR_OWN_FUNCTIONS(%.*s_own)\n", COR_STR_ARG(t->c_name));
        if (cor_gen_has_protobuf(s, t))
            cor_gen_put(l, "COR_OWN_PROTOBUF_FUNCTIONS(%.*s_own)\n", COR_STR_ARG(t->c_name));
        if (t->is_element)
            cor_gen_put(l, "COR_OWN_LIST_FUNCTIONS(%.*s_own)\n", COR_STR_ARG(t->c_name));
        if (t->is_map_value)
            cor_gen_put(l, "COR_OWN_MAP_FUNCTIONS(%.*s_own)\n", COR_STR_ARG(t->c_name));
    }
}

static void write_header(const struct cor_gen_structs_of *s, struct cor_gen_lines *l)
{
    struct cor_str guard = cor_gen_upper_of(
        s->model, cor_gen_printf(s->model, "%.*sstructs_h", COR_STR_ARG(s->package->prefix)));

    cor_gen_put_head(l, s->package, s->opts, "Structs");
    cor_gen_put(l, "coracle/types/own.h explains how they are\n * used. */\n");
    cor_gen_put(l, "#ifndef %.*s\n#define %.*s\n\n#include \"coracle/types/own.h\"\n",
                COR_STR_ARG(guard), COR_STR_ARG(guard));
    put_includes(s, l);
    cor_gen_put(l, "\n#ifdef __cplusplus\nextern \"C\" {\nCOR_STRUCT_NAMES_BEGIN\n#endif\n");
    put_declarations(s, l);
    for (struct cor_gen_type *t = s->package->types; t; t = t->next)
        put_struct(s, l, t);
    put_functions(s, l);
    cor_gen_put(l, "\n#ifdef __cplusplus\nCOR_STRUCT_NAMES_END\n}\n#endif\n\n#endif\n");
}

int cor_gen_structs(struct cor_gen_model *model, const struct cor_gen_package *package,
                    const struct cor_gen_views_opts *opts, struct cor_buf *header,
                    struct cor_buf *source)
{
    const struct cor_gen_structs_of s = {model, package, opts};
    struct cor_gen_lines h = {header, 0}, c = {source, 0};
    size_t start = header->n;

    write_header(&s, &h);
    if (h.error == 0)
        cor_gen_struct_tables(&s, &c, cor_str_from(cor_buf_str(header), start));
    if (cor_gen_model_error(model) < 0)
        return cor_gen_model_error(model);
    return h.error < 0 ? h.error : c.error;
}
