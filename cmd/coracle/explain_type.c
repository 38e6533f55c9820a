/* `coracle explain-type RESOURCE[.FIELD]...`: what the tables know of a type
 * (docs/internals/types.md).
 *
 * The first word of the path names a resource or a kind; --api-version chooses among its versions,
 * else the first one that discovery lists is taken. Each further word is a field's name in JSON.
 * Lists and maps are passed through, as kubectl explain does, so pods.spec.containers.image is a
 * path. Then the field's own line is printed, and the fields of its type.
 *
 * A word that is not there ends the command with status 1 and a message that names the nearest one.
 * Thread: main. */
#include <stdio.h>

#include "base/cleanup.h"
#include "command.h"
#include "explain_type.h"
#include "schema/kinds/resource_row.h"
#include "schema/types/rules.h"
#include "schema/types/types.h"
#include "schema/validate/validate.h"

#define WORDS_MAX      256
#define WORD_MAX       128
#define STEPS_MAX      64 /* fields of a path */
#define CONDITIONS_MAX 8  /* of a rule that are printed */

struct explain_opts {
    const char *api_version;
};

/* The way to a field: each struct that it passes, and the member that it takes there. */
struct explain_path {
    struct {
        const struct cor_type *type;
        size_t member;
    } steps[STEPS_MAX];
    size_t n;
};

static const char *const shape_words[] = {
    [COR_SHAPE_STRUCT] = "struct",
    [COR_SHAPE_LIST] = "list",
    [COR_SHAPE_MAP] = "map",
    [COR_SHAPE_STRING] = "string",
    [COR_SHAPE_BOOL] = "boolean",
    [COR_SHAPE_INT32] = "integer (32 bits)",
    [COR_SHAPE_INT64] = "integer (64 bits)",
    [COR_SHAPE_FLOAT64] = "number",
    [COR_SHAPE_BYTES] = "bytes (base64)",
    [COR_SHAPE_TIME] = "time",
    [COR_SHAPE_MICRO_TIME] = "time with microseconds",
    [COR_SHAPE_DURATION] = "duration",
    [COR_SHAPE_QUANTITY] = "quantity",
    [COR_SHAPE_INT_OR_STRING] = "integer or string",
    [COR_SHAPE_RAW] = "any JSON, kept as it came",
    [COR_SHAPE_FIELDS_V1] = "set of fields",
    [COR_SHAPE_JSON] = "any JSON",
    [COR_SHAPE_SCHEMA_OR_BOOL] = "schema or boolean",
    [COR_SHAPE_SCHEMA_OR_ARRAY] = "schema or list of schemas",
    [COR_SHAPE_SCHEMA_OR_STRINGS] = "schema or list of strings",
};

static void print_nearest(struct cor_str word, const char *const *words, size_t nwords)
{
    char text[WORD_MAX];
    const char *near;

    snprintf(text, sizeof(text), "%.*s", COR_STR_ARG(word));
    near = flags_nearest(text, words, nwords);
    fprintf(stderr, "%s%s%s\n", near ? "; did you mean \"" : "", near ? near : "",
            near ? "\"?" : "");
}

static bool is_called(const struct cor_resource_row *row, struct cor_str word)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(row->short_names) && row->short_names[i]; i++) {
        if (cor_str_eqz(word, row->short_names[i]))
            return true;
    }
    return cor_str_eq(word, row->plural) || cor_str_eq(word, row->singular) ||
           cor_str_eq(word, row->kind);
}

/* Ends a message with the versions that have a resource of this name. False: none has. */
static bool print_versions(const struct cor_resource_row *rows, size_t n, struct cor_str word)
{
    const char *before = "; there is one in ";

    for (size_t i = 0; i < n; i++) {
        if (is_called(&rows[i], word)) {
            fprintf(stderr, "%s%.*s", before, COR_STR_ARG(rows[i].api_version));
            before = " and in ";
        }
    }
    if (before[0] == ' ')
        fputc('\n', stderr);
    return before[0] == ' ';
}

/* NULL after a message when nothing is called that. */
static const struct cor_resource_row *find_resource(struct cor_str word, const char *api_version)
{
    size_t n;
    const struct cor_resource_row *rows = cor_api_builtins(&n);
    const char *plurals[WORDS_MAX];

    for (size_t i = 0; i < n; i++) {
        if (is_called(&rows[i], word) &&
            (!api_version || cor_str_eqz(rows[i].api_version, api_version)))
            return &rows[i];
    }
    fprintf(stderr, "coracle: there is no resource \"%.*s\"%s%s", COR_STR_ARG(word),
            api_version ? " in " : "", api_version ? api_version : "");
    if (print_versions(rows, n, word))
        return NULL;
    for (size_t i = 0; i < n && i < WORDS_MAX; i++)
        plurals[i] = rows[i].plural.p;
    print_nearest(word, plurals, n < WORDS_MAX ? n : WORDS_MAX);
    return NULL;
}

/* What a field holds behind its lists and maps. */
static const struct cor_type *innermost(const struct cor_type *type)
{
    const struct cor_type *element;

    while ((element = cor_type_element(type)))
        type = element;
    return type;
}

static bool find_field(const struct cor_type *type, struct cor_str word,
                       struct cor_member *ret_member)
{
    const char *names[WORDS_MAX];
    size_t n = cor_type_nmembers(type);

    if (cor_type_find_member(type, word, ret_member))
        return true;
    for (size_t i = 0; i < n && i < WORDS_MAX; i++) {
        struct cor_member member;

        cor_type_member(type, i, &member);
        names[i] = cor_type_field_name(member.field).p;
    }
    fprintf(stderr, "coracle: %.*s has no field \"%.*s\"", COR_STR_ARG(cor_type_go_name(type)),
            COR_STR_ARG(word));
    print_nearest(word, names, n < WORDS_MAX ? n : WORDS_MAX);
    return false;
}

static void print_values(const struct cor_type *type)
{
    if (!cor_type_is(type, COR_TYPE_ENUM))
        return;
    fputs("values    ", stdout);
    for (size_t i = 0; i < cor_type_nvalues(type); i++)
        printf("%s%.*s", i > 0 ? ", " : "  ", COR_STR_ARG(cor_type_value(type, i)));
    putchar('\n');
}

static void print_apply(const struct cor_type_field *field)
{
    static const char *const lists[] = {"", "atomic list", "set", "list by"};
    const struct cor_type *type = cor_type_field_type(field);
    enum cor_list_kind list = cor_type_field_list_kind(field);
    bool is_atomic =
        cor_type_field_map_kind(field) == COR_MAP_KIND_ATOMIC ||
        (cor_type_field_map_kind(field) == COR_MAP_KIND_NONE && cor_type_is(type, COR_TYPE_ATOMIC));

    if (list == COR_LIST_KIND_NONE && !is_atomic)
        return;
    printf("apply       %s", is_atomic ? "atomic" : lists[list]);
    for (size_t i = 0; i < cor_type_field_nkeys(field); i++)
        printf("%s %.*s", i > 0 ? "," : "", COR_STR_ARG(cor_type_field_key(field, i)));
    putchar('\n');
}

static void print_patch(const struct cor_type_field *field)
{
    unsigned patch = cor_type_field_patch(field);
    struct cor_str key = cor_type_field_patch_key(field);

    if (patch == 0)
        return;
    printf("patch      %s%s%s", patch & COR_PATCH_FLAG_MERGE ? " merge" : "",
           patch & COR_PATCH_FLAG_RETAIN_KEYS ? " retainKeys" : "",
           patch & COR_PATCH_FLAG_REPLACE ? " replace" : "");
    if (key.n > 0)
        printf(" by %.*s", COR_STR_ARG(key));
    putchar('\n');
}

/* Does a rule of the struct at step `from` lead to step `to`, or, if that is path->n, to the path's
 * end? */
static bool leads_to(const struct cor_rule *rule, const struct explain_path *path, size_t from,
                     size_t to)
{
    if (cor_rule_depth(rule) != to - from)
        return false;
    for (size_t i = from; i < to; i++) {
        if (cor_rule_step(rule, i - from) != path->steps[i].member)
            return false;
    }
    return true;
}

static void print_rule(const struct cor_rule *rule)
{
    static const char *const words[] = {
        [COR_RULE_SET] = "default", [COR_RULE_COPY] = "default", [COR_RULE_MIRROR] = "mirror",
        [COR_RULE_CLEAR] = "clear", [COR_RULE_HOOK] = "hook",
    };
    struct cor_str text = cor_rule_text(rule);

    if (cor_str_starts(text, COR_STR("= ")))
        text = cor_str_from(text, 2);
    printf("%-11s %.*s%s\n", words[cor_rule_op(rule)], COR_STR_ARG(text),
           cor_rule_is_late(rule) ? ", when the object has been prepared" : "");
}

/* What any struct on the way says about the field, in the order in which the rules apply. A hook
 * gets a struct as a whole, so the hooks of the struct that has the field may set it too. */
static void print_rules(const struct explain_path *path)
{
    for (size_t from = 0; from < path->n; from++) {
        for (size_t i = 0; i < cor_type_nrules(path->steps[from].type); i++) {
            const struct cor_rule *rule = cor_type_rule(path->steps[from].type, i);
            struct cor_str owner = cor_type_go_name(path->steps[path->n - 1].type);

            if (leads_to(rule, path, from, path->n))
                print_rule(rule);
            else if (cor_rule_op(rule) == COR_RULE_HOOK && leads_to(rule, path, from, path->n - 1))
                printf("hook        %.*s, which gets all of %.*s\n",
                       COR_STR_ARG(cor_rule_text(rule)), COR_STR_ARG(owner));
        }
    }
}

/* A line of the rules of validation, with the conditions under which it stands, the innermost last.
 */
static void print_validation(size_t line)
{
    struct cor_str text = cor_validate_line(line);
    size_t conditions[CONDITIONS_MAX], n = 0;
    size_t i = cor_validate_condition(line);

    for (; i != COR_VALIDATE_NO_LINE && n < CONDITIONS_MAX; i = cor_validate_condition(i))
        conditions[n++] = i;
    printf("rule        %.*s", COR_STR_ARG(text));
    while (n > 0) {
        text = cor_validate_line(conditions[--n]);
        printf(" [%.*s]", COR_STR_ARG(text));
    }
    putchar('\n');
}

/* What validation asks of the field, seen from any struct on the way. */
static void print_validations(const struct explain_path *path)
{
    size_t members[STEPS_MAX];

    for (size_t from = 0; from < path->n; from++) {
        const struct cor_type *type = path->steps[from].type;
        size_t n = path->n - from, line = 0;

        for (size_t i = 0; i < n; i++)
            members[i] = path->steps[from + i].member;
        while ((line = cor_validate_find_line(type, members, n, line)) != COR_VALIDATE_NO_LINE)
            print_validation(line++);
    }
}

/* The hooks that get the struct as a whole. */
static void print_hooks(const struct cor_type *type)
{
    for (size_t i = 0; i < cor_type_nrules(type); i++) {
        if (cor_rule_depth(cor_type_rule(type, i)) == 0)
            print_rule(cor_type_rule(type, i));
    }
}

static void print_words(struct cor_str words)
{
    if (words.n > 0)
        printf("words       %.*s\n", COR_STR_ARG(words));
}

static void print_field(const struct cor_member *member, const struct explain_path *path)
{
    const struct cor_type_field *field = member->field;
    const struct cor_type *type = cor_type_field_type(field);

    print_words(cor_type_field_words(field));
    printf("type        %s, %.*s in Go\n", shape_words[cor_type_shape(type)],
           COR_STR_ARG(cor_type_go_name(type)));
    print_values(innermost(type));
    printf("presence    %s%s%s\n",
           cor_type_field_is(field, COR_FIELD_POINTER) ? "absent or a value" : "always a value",
           cor_type_field_is(field, COR_FIELD_OMITEMPTY)  ? ", left out when empty"
           : cor_type_field_is(field, COR_FIELD_OMITZERO) ? ", left out when zero"
                                                          : "",
           cor_type_field_is(field, COR_FIELD_OPTIONAL) ? ", optional" : "");
    if (cor_type_field_number(field) > 0)
        printf("protobuf    %u, %.*s in Go\n", (unsigned)cor_type_field_number(field),
               COR_STR_ARG(cor_type_field_go_name(field)));
    if (member->via[0])
        printf("inlined     from %.*s\n", COR_STR_ARG(cor_type_field_go_name(member->via[0])));
    print_rules(path);
    print_validations(path);
    if (cor_type_field_gate(field).n > 0)
        printf("gate        %.*s\n", COR_STR_ARG(cor_type_field_gate(field)));
    print_apply(field);
    print_patch(field);
}

static void print_fields(const struct cor_type *type)
{
    for (size_t i = 0; i < cor_type_nmembers(type); i++) {
        struct cor_member member;
        const struct cor_type *of;

        cor_type_member(type, i, &member);
        of = cor_type_field_type(member.field);
        printf("%s  %-30.*s %.*s%s\n", i == 0 ? "\n" : "",
               COR_STR_ARG(cor_type_field_name(member.field)), COR_STR_ARG(cor_type_go_name(of)),
               cor_type_field_is(member.field, COR_FIELD_OPTIONAL) ? ", optional" : "");
    }
}

static int run_explain_type(const void *arg, const char *const *args, size_t nargs)
{
    const struct explain_opts *opts = arg;
    struct cor_str rest = cor_strz(args[0]), word = cor_str_cut(&rest, '.');
    const struct cor_resource_row *row = find_resource(word, opts->api_version);
    const struct cor_type *type;
    struct cor_member member;
    struct explain_path path = {.n = 0};

    (void)nargs;
    if (!row)
        return EXIT_FAILED;
    type = cor_type_of_kind(row->group, row->version, row->kind);
    if (!type) {
        fprintf(stderr, "coracle: the tables do not describe %.*s of %.*s\n",
                COR_STR_ARG(row->kind), COR_STR_ARG(row->api_version));
        return EXIT_FAILED;
    }
    while (rest.p) {
        word = cor_str_cut(&rest, '.');
        if (!find_field(type, word, &member))
            return EXIT_FAILED;
        if (path.n == STEPS_MAX) {
            fprintf(stderr, "coracle: a path has at most %d fields\n", STEPS_MAX);
            return EXIT_FAILED;
        }
        path.steps[path.n].type = type;
        path.steps[path.n++].member = cor_type_member_index(type, word);
        type = innermost(cor_type_field_type(member.field));
    }
    printf("%s\nkind        %.*s of %.*s\n", args[0], COR_STR_ARG(row->kind),
           COR_STR_ARG(row->api_version));
    if (path.n > 0)
        print_field(&member, &path);
    else
        print_words(cor_type_words(type));
    print_hooks(type);
    print_fields(type);
    return EXIT_OK;
}

static const struct flag explain_flags[] = {
    {.name = "api-version",
     .kind = FLAG_TEXT,
     .at = offsetof(struct explain_opts, api_version),
     .value = "VERSION",
     .help = "the version to explain, such as autoscaling/v1; by default the preferred one"},
};
static const struct explain_opts explain_defaults = {0};

const struct command explain_type = {
    .name = "explain-type",
    .args = "RESOURCE[.FIELD]...",
    .summary = "Print what the server knows of a built-in type",
    .details = "The path is a resource and the names of fields in JSON, with dots between: "
               "deployments.spec.strategy. Lists and maps are passed through.",
    .flags = explain_flags,
    .nflags = COR_ARRAY_LEN(explain_flags),
    .args_min = 1,
    .args_max = 1,
    .opts_default = &explain_defaults,
    .opts_size = sizeof(explain_defaults),
    .run = run_explain_type,
};
