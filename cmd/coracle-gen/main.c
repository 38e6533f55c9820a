/* coracle-gen: writes C for API types (docs/man/coracle-gen.1).
 *
 * Flow: the input is read into a model (src/gen/model.h), every type gets its name in C, and each
 * package that was asked for becomes two files in the output folder, or four with structs. A file
 * is written whole or not at all, and one that would not change is not touched, so that a build
 * does not compile it again. What is wrong with the input or the words ends the program with a line
 * on stderr and status 1 or 2; nothing is written before the whole input was read. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "coracle/version.h"
#include "flags.h"
#include "from_server.h"
#include "gen/clients.h"
#include "gen/conversions.h"
#include "gen/from_crd.h"
#include "gen/from_openapi.h"
#include "gen/from_tables.h"
#include "gen/structs.h"
#include "gen/views.h"
#include "gen_limits.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct gen_opts {
    const char *crd, *openapi; /* NULL, and not is_from_server: the built-in types */
    const char *out, *prefix, *include;
    struct from_server_opts server;
    const char *structs; /* kinds; NULL: views and clients alone */
    const char *convert; /* pairs of kinds; may be NULL */
    bool is_from_server, is_list, is_version;
};

static const struct flag flags[] = {
    {"crd", 0, FLAG_TEXT, offsetof(struct gen_opts, crd), "FILE[,FILE...]",
     "Read CustomResourceDefinitions, as YAML or JSON; - is the standard input", 0, 0, false},
    {"openapi", 0, FLAG_TEXT, offsetof(struct gen_opts, openapi), "FILE[,FILE...]",
     "Read OpenAPI v3 documents, as /openapi/v3/apis/apps/v1 of a server; - is the standard input",
     0, 0, false},
    {"from-server", 0, FLAG_SWITCH, offsetof(struct gen_opts, is_from_server), NULL,
     "Read the OpenAPI v3 documents of the server that the kubeconfig or --server names", 0, 0,
     false},
    {"group", 0, FLAG_TEXT, offsetof(struct gen_opts, server.group), "GROUP[/VERSION]",
     "Of --from-server: only this group, or its one version; v1 is the core group", 0, 0, false},
    {"kubeconfig", 0, FLAG_TEXT, offsetof(struct gen_opts, server.kubeconfig), "FILE",
     "Of --from-server: the configuration; default $KUBECONFIG, then ~/.kube/config", 0, 0, false},
    {"context", 0, FLAG_TEXT, offsetof(struct gen_opts, server.context), "NAME",
     "Of --from-server: the context of the kubeconfig", 0, 0, false},
    {"server", 0, FLAG_TEXT, offsetof(struct gen_opts, server.server), "URL",
     "Of --from-server: the server, with or without a kubeconfig", 0, 0, false},
    {"token", 0, FLAG_TEXT, offsetof(struct gen_opts, server.token), "TEXT",
     "Of --from-server: a bearer token", 0, 0, false},
    {"certificate-authority", 0, FLAG_TEXT, offsetof(struct gen_opts, server.ca_file), "FILE",
     "Of --from-server: who signed the server's certificate", 0, 0, false},
    {"insecure-skip-tls-verify", 0, FLAG_SWITCH,
     offsetof(struct gen_opts, server.insecure_skip_tls_verify), NULL,
     "Of --from-server: do not check the server's certificate", 0, 0, false},
    {"prefix", 0, FLAG_TEXT, offsetof(struct gen_opts, prefix), "TEXT",
     "Begin the names of symbols with this; built-in types are then not those of the library", 0, 0,
     false},
    {"include", 0, FLAG_TEXT, offsetof(struct gen_opts, include), "DIR",
     "Name this folder in the #include lines of the files", 0, 0, false},
    {"structs", 0, FLAG_TEXT, offsetof(struct gen_opts, structs), "KIND[,KIND...]",
     "Write structs of these kinds, too, and of all that they hold; all for every kind", 0, 0,
     false},
    {"convert", 0, FLAG_TEXT, offsetof(struct gen_opts, convert), "A=B[,A=B...]",
     "Write conversions between the structs of two kinds, each PACKAGE.KIND, and a test of them", 0,
     0, false},
    {"out", 'o', FLAG_TEXT, offsetof(struct gen_opts, out), "DIR",
     "Folder of the files, which is made; default .", 0, 0, false},
    {"list", 0, FLAG_SWITCH, offsetof(struct gen_opts, is_list), NULL,
     "Print the packages of the input and their kinds", 0, 0, false},
    {"version", 'V', FLAG_SWITCH, offsetof(struct gen_opts, is_version), NULL, "Print the version",
     0, 0, false},
};

static int print_help(void)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;

    cor_buf_init(&text, 1u << 16);
    if (flags_help(flags, COR_ARRAY_LEN(flags), NULL, &text) < 0)
        return EXIT_FAILED;
    printf("usage: coracle-gen [FLAG...] [PACKAGE...]\n\n"
           "Writes PACKAGE.h and PACKAGE.c, views of the types of a group and version, and\n"
           "PACKAGE_client.h, typed clients and informers of its kinds, for each package that is\n"
           "named, or for all of the input; and PACKAGE_structs.h and PACKAGE_structs.c with\n"
           "--structs. The built-in types are the input.\n\n%s",
           cor_buf_z(&text));
    return EXIT_OK;
}

static int read_whole(const char *path, struct cor_buf *out)
{
    char piece[1 << 16];
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *f = is_stdin ? stdin : fopen(path, "rb");
    size_t n;
    int r = 0;

    if (!f)
        return -COR_ENOTFOUND;
    while (r == 0 && (n = fread(piece, 1, sizeof(piece), f)) > 0)
        r = cor_buf_add(out, piece, n);
    if (ferror(f))
        r = -COR_EIO;
    if (!is_stdin)
        fclose(f);
    return r;
}

/* Writes through a file beside the right one, which is then renamed. */
static int write_whole(const char *path, struct cor_str text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf old, beside;
    FILE *f;
    bool is_written;

    cor_buf_init(&old, GEN_FILE_BYTES_MAX);
    cor_buf_init(&beside, 1u << 16);
    if (read_whole(path, &old) == 0 && cor_str_eq(cor_buf_str(&old), text))
        return 0;
    if (cor_buf_addf(&beside, "%s.new", path) < 0)
        return -COR_ENOMEM;
    f = fopen(cor_buf_z(&beside), "wb");
    is_written = f && fwrite(text.p, 1, text.n, f) == text.n;
    if (f && fclose(f) != 0)
        is_written = false;
    if (!is_written || rename(cor_buf_z(&beside), path) != 0) {
        fprintf(stderr, "coracle-gen: %s cannot be written: %s\n", path, strerror(errno));
        remove(cor_buf_z(&beside));
        return -COR_EIO;
    }
    return 0;
}

typedef int (*writer)(struct cor_gen_model *model, const struct cor_gen_package *package,
                      const struct cor_gen_views_opts *opts, struct cor_buf *header,
                      struct cor_buf *source);

/* Makes the folder, and those that it is in. 0, -COR_EIO, -COR_ENOMEM. */
static int make_folder(const char *folder)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf path;
    struct cor_str rest = cor_strz(folder);

    cor_buf_init(&path, 1u << 16);
    while (rest.n > 0) {
        struct cor_str part = cor_str_cut(&rest, '/');

        if (cor_buf_adds(&path, part) < 0 || (rest.n > 0 && cor_buf_addc(&path, '/') < 0))
            return -COR_ENOMEM;
        if (part.n > 0 && mkdir(cor_buf_z(&path), 0777) < 0 && errno != EEXIST) {
            fprintf(stderr, "coracle-gen: the folder %s cannot be made: %s\n", folder,
                    strerror(errno));
            return -COR_EIO;
        }
    }
    return 0;
}

/* Writes a file: FOLDER/STEM, and then the suffix and the end. */
static int write_file(const char *folder, struct cor_str stem, const char *suffix, const char *end,
                      const struct cor_buf *text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf path;
    int r;

    cor_buf_init(&path, 1u << 16);
    r = cor_buf_addf(&path, "%s/%.*s%s%s", folder, COR_STR_ARG(stem), suffix, end);
    return r < 0 ? r : write_whole(cor_buf_z(&path), cor_buf_str(text));
}

/* Writes a header, and a source if the writer has written one. */
static int write_pair(struct cor_gen_model *model, const struct cor_gen_package *package,
                      const struct cor_gen_views_opts *views, const char *folder,
                      const char *suffix, writer write)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf header, source;
    int r;

    cor_buf_init(&header, GEN_FILE_BYTES_MAX);
    cor_buf_init(&source, GEN_FILE_BYTES_MAX);
    r = write(model, package, views, &header, &source);
    if (r == 0)
        r = write_file(folder, package->stem, suffix, ".h", &header);
    if (r == 0 && source.n > 0)
        r = write_file(folder, package->stem, suffix, ".c", &source);
    return r;
}

static int write_package(struct cor_gen_model *model, const struct cor_gen_package *package,
                         const struct cor_gen_views_opts *views, const char *folder)
{
    int r = write_pair(model, package, views, folder, "", cor_gen_views);

    if (r == 0)
        r = write_pair(model, package, views, folder, "_client", cor_gen_clients);
    if (r == 0 && cor_gen_has_structs(package))
        r = write_pair(model, package, views, folder, "_structs", cor_gen_structs);
    return r;
}

static int write_conversion(struct cor_gen_model *model,
                            const struct cor_gen_conversion *conversion,
                            const struct cor_gen_views_opts *views, const char *folder)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf header, source, test;
    int r;

    cor_buf_init(&header, GEN_FILE_BYTES_MAX);
    cor_buf_init(&source, GEN_FILE_BYTES_MAX);
    cor_buf_init(&test, GEN_FILE_BYTES_MAX);
    r = cor_gen_conversion_write(model, conversion, views, &header, &source, &test);
    if (r == 0)
        r = write_file(folder, conversion->stem, "", ".h", &header);
    if (r == 0)
        r = write_file(folder, conversion->stem, "", ".c", &source);
    if (r == 0)
        r = write_file(folder, conversion->stem, "_test", ".c", &test);
    return r;
}

static void print_package(const struct cor_gen_package *package)
{
    printf("%.*s", COR_STR_ARG(package->stem));
    for (const struct cor_gen_type *t = package->types; t; t = t->next) {
        if (t->is_kind)
            printf(" %.*s", COR_STR_ARG(t->name));
    }
    printf("\n");
}

static bool is_builtin(const struct gen_opts *opts)
{
    return !opts->crd && !opts->openapi && !opts->is_from_server;
}

/* Is what is written libcoracle-types itself, or a part of it? */
static bool is_types(const struct gen_opts *opts)
{
    return is_builtin(opts) && opts->prefix[0] == '\0';
}

/* Wants the packages that were named, with all that they need, or every one that has something to
 * view. What libcoracle-types needs is in libcoracle-types. */
static int want(struct cor_gen_model *model, const struct gen_opts *opts, const char *const *names,
                size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct cor_gen_package *package = cor_gen_find_package(model, cor_strz(names[i]));

        if (!package) {
            fprintf(stderr, "coracle-gen: the input has no package %s; --list prints those of it\n",
                    names[i]);
            return -COR_EIO;
        }
        if (is_types(opts))
            package->is_wanted = true;
        else
            cor_gen_want(package);
    }
    for (struct cor_gen_package *p = model->packages; n == 0 && p; p = p->next)
        p->is_wanted = !p->is_external && cor_gen_has_types(p);
    return 0;
}

static int read_one(struct cor_gen_model *model, const struct gen_opts *opts, const char *file,
                    struct cor_str folder, struct cor_gen_error *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    struct cor_gen_input input = {.file = file, .prefix = opts->prefix, .folder = folder};
    int r;

    cor_buf_init(&text, GEN_FILE_BYTES_MAX);
    errno = 0;
    r = read_whole(file, &text);
    if (r < 0) {
        snprintf(reterr->message, sizeof(reterr->message), "%s: cannot be read: %s", file,
                 r == -COR_ETOOBIG ? "it is too large" : strerror(errno));
        return -COR_EINVAL;
    }
    input.text = cor_buf_str(&text);
    return opts->crd ? cor_gen_from_crd(model, &input, reterr)
                     : cor_gen_from_openapi(model, &input, reterr);
}

/* Reads what the flags name into the model. */
static int read_input(struct cor_gen_model *model, const struct gen_opts *opts,
                      struct cor_gen_error *reterr)
{
    struct cor_str files = cor_strz(opts->crd ? opts->crd : opts->openapi), folder = {"", 0};
    int r = 0;

    if (is_types(opts))
        return cor_gen_from_tables(model, COR_GEN_TYPES_PREFIX, COR_GEN_TYPES_FOLDER);
    if (opts->include[0] != '\0')
        folder = cor_gen_printf(model, "%s%s", opts->include,
                                cor_str_ends(cor_strz(opts->include), COR_STR("/")) ? "" : "/");
    if (is_builtin(opts))
        return cor_gen_from_tables(model, cor_strz(opts->prefix), folder);
    if (opts->is_from_server) {
        struct from_server_opts server = opts->server;

        server.prefix = opts->prefix;
        server.folder = folder;
        return from_server(model, &server, reterr);
    }
    while (r == 0 && files.p && files.n > 0) {
        struct cor_str file = cor_str_cut(&files, ',');
        struct cor_str name = cor_gen_printf(model, "%.*s", COR_STR_ARG(file));

        r = name.n > 0 ? read_one(model, opts, name.p, folder, reterr) : -COR_ENOMEM;
    }
    return r;
}

static int write_all(struct cor_gen_model *model, const struct gen_opts *opts,
                     const struct cor_gen_conversion *conversions, size_t nconversions)
{
    const struct cor_gen_views_opts views = {
        .source = is_builtin(opts) ? "Coracle's built-in types"
                  : opts->crd      ? "CustomResourceDefinitions"
                                   : "an OpenAPI document",
        .version = COR_VERSION,
        .is_exported = is_types(opts),
    };
    int r = opts->is_list ? 0 : make_folder(opts->out);

    for (const struct cor_gen_package *p = model->packages; r == 0 && p; p = p->next) {
        if (!p->is_wanted)
            continue;
        if (opts->is_list)
            print_package(p);
        else
            r = write_package(model, p, &views, opts->out);
    }
    for (size_t i = 0; r == 0 && i < nconversions && !opts->is_list; i++)
        r = write_conversion(model, &conversions[i], &views, opts->out);
    return r;
}

static int run(const struct gen_opts *opts, const char *const *names, size_t n)
{
    COR_CLEANUP(cor_gen_model_deinit) struct cor_gen_model model;
    struct cor_gen_error why = {.message = ""};
    struct cor_gen_conversion conversions[GEN_PACKAGES_MAX];
    struct cor_str pairs = cor_strz(opts->convert);
    size_t nconversions = 0;
    int r;

    cor_gen_model_init(&model);
    r = read_input(&model, opts, &why);
    if (r == 0)
        r = cor_gen_name(&model);
    if (r == 0 && opts->structs)
        r = cor_gen_structs_choose(&model, cor_strz(opts->structs), &why);
    while (r == 0 && pairs.n > 0) {
        struct cor_str pair = cor_str_cut(&pairs, ',');

        if (nconversions == GEN_PACKAGES_MAX)
            r = -COR_ETOOBIG;
        else
            r = cor_gen_conversion_read(&model, pair, &conversions[nconversions++], &why);
    }
    if (r == 0)
        r = want(&model, opts, names, n);
    if (r == 0)
        r = write_all(&model, opts, conversions, nconversions);
    if (r == -COR_EINVAL)
        fprintf(stderr, "coracle-gen: %s\n", why.message);
    else if (r < 0 && r != -COR_EIO)
        fprintf(stderr, "coracle-gen: %s\n", cor_err_text(r));
    return r < 0 ? EXIT_FAILED : EXIT_OK;
}

int main(int argc, char **argv)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why;
    struct gen_opts opts = {.out = ".", .prefix = "", .include = ""};
    const char *names[GEN_PACKAGES_MAX];
    size_t n = 0;
    int r;

    cor_buf_init(&why, 1u << 16);
    r = flags_parse(flags, COR_ARRAY_LEN(flags), argc - 1, argv + 1, &opts, names, GEN_PACKAGES_MAX,
                    &n, &why);
    if (r == -COR_ECANCELED)
        return print_help();
    if (r < 0 || n > GEN_PACKAGES_MAX) {
        fprintf(stderr, "coracle-gen: %s\n", r < 0 ? cor_buf_z(&why) : "too many packages");
        return EXIT_USAGE;
    }
    if (!!opts.crd + !!opts.openapi + opts.is_from_server > 1) {
        fprintf(stderr,
                "coracle-gen: one of --crd, --openapi and --from-server was expected, not more\n");
        return EXIT_USAGE;
    }
    if (opts.out[0] == '\0') {
        fprintf(stderr, "coracle-gen: --out: a folder was expected, but it is \"\"\n");
        return EXIT_USAGE;
    }
    if (opts.is_version) {
        puts("coracle-gen " COR_VERSION);
        return EXIT_OK;
    }
    return run(&opts, names, n);
}
