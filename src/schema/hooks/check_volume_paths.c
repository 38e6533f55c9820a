/* clang-format off */
/* The warnings about files of a volume of which one is in place of another: both have the same
 * path, or the path of one is a folder of the other (contract types 5.2.5).
 *
 * The files are collected in upstream's order. Each is compared with all before it, and each pair
 * that is in each other's way is a warning. When there are many files, most of them are not
 * compared: in the order of their paths, a folder comes right before what is in it,
 *
 *     a/b   a/b/c   a/b/c/d   a/c          [a/b, a/b/c, a/b/c/d] are in each other's way
 *
 * so that one walk over the sorted files finds those which are in the way of an earlier one.
 * Failures: no memory, which the errors keep. Thread: any. */
/* clang-format on */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/hooks/hooks.h"

#define FILES_FEW 16 /* so many files are compared with one another */

/* What a file is from: `ConfigMap "name"` or a kind alone. */
struct origin {
    const char *kind; /* "": not shown */
    struct cor_str name;
    bool has_name;
};

struct file {
    struct cor_str path;  /* without slashes at its end */
    struct origin origin; /* a source of a projected volume */
    size_t index;
    bool is_missing; /* no file: the place of a source that has nothing */
    bool meets;      /* an earlier file is in its way */
};

struct files {
    struct cor_check *check;
    struct file *v;
    size_t n, cap;
};

static void add_file(struct files *files, struct cor_str path, struct origin origin)
{
    int r = COR_ARRAY_RESERVE(&files->v, files->n, &files->cap, COR_ARRAY_NO_MAX);

    cor_check_note(files->check, r);
    if (r < 0)
        return;
    while (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    files->v[files->n] = (struct file){.path = path, .origin = origin, .index = files->n};
    files->n++;
}

static void add_items(struct files *files, const struct cor_place *source, struct origin origin)
{
    struct cor_check *check = files->check;
    struct cor_place list, item;

    cor_place_field(check, source, "items", &list);
    COR_EACH(check, &list, item)
        add_file(files, cor_field_text(check, &item, "path"), origin);
}

static struct origin unnamed(const char *kind)
{
    return (struct origin){.kind = kind};
}

static struct origin named(struct cor_check *check, const char *kind, const struct cor_place *of,
                           const char *field)
{
    return (struct origin){kind, cor_field_text(check, of, field), true};
}

/* The files of one source of a projected volume. */
static void add_projection(struct files *files, const struct cor_place *source)
{
    struct cor_check *check = files->check;
    struct cor_place from, name;

    if (cor_place_field(check, source, "configMap", &from)) {
        add_items(files, &from, named(check, "ConfigMap", &from, "name"));
    } else if (cor_place_field(check, source, "secret", &from)) {
        add_items(files, &from, named(check, "Secret", &from, "name"));
    } else if (cor_place_field(check, source, "downwardAPI", &from)) {
        add_items(files, &from, unnamed("DownwardAPI"));
    } else if (cor_place_field(check, source, "serviceAccountToken", &from)) {
        add_file(files, cor_field_text(check, &from, "path"), unnamed("ServiceAccountToken"));
    } else if (cor_place_field(check, source, "clusterTrustBundle", &from)) {
        bool has_name = cor_place_field(check, &from, "name", &name);

        add_file(files, cor_field_text(check, &from, "path"),
                 named(check, "ClusterTrustBundle", &from, has_name ? "name" : "signerName"));
    } else if (cor_place_field(check, source, "podCertificate", &from)) {
        add_file(files, cor_field_text(check, &from, "certificateChainPath"),
                 unnamed("PodCertificate chain"));
        add_file(files, cor_field_text(check, &from, "keyPath"), unnamed("PodCertificate key"));
        add_file(files, cor_field_text(check, &from, "credentialBundlePath"),
                 unnamed("PodCertificate credential bundle"));
    } else {
        add_file(files, COR_STR(""), unnamed(""));
        if (files->n > 0)
            files->v[files->n - 1].is_missing = true;
    }
}

/* Is `folder` the path itself or one of its folders? */
static bool is_in(struct cor_str folder, struct cor_str path)
{
    return path.n >= folder.n && memcmp(path.p, folder.p, folder.n) == 0 &&
           (path.n == folder.n || path.p[folder.n] == '/');
}

/* The order of the paths, each with a slash behind it. */
static int compare_files(const void *left, const void *right)
{
    const struct file *a = left, *b = right;
    size_t n = a->path.n < b->path.n ? a->path.n : b->path.n;
    int order = n > 0 ? memcmp(a->path.p, b->path.p, n) : 0;
    unsigned char next_a, next_b;

    if (order != 0)
        return order;
    if (a->path.n == b->path.n)
        return a->index < b->index ? -1 : 1;
    next_a = a->path.n > n ? (unsigned char)a->path.p[n] : '/';
    next_b = b->path.n > n ? (unsigned char)b->path.p[n] : '/';
    if (next_a != next_b)
        return next_a < next_b ? -1 : 1;
    return a->path.n < b->path.n ? -1 : 1;
}

static int compare_indexes(const void *left, const void *right)
{
    const struct file *a = left, *b = right;

    return a->index < b->index ? -1 : a->index > b->index;
}

/* A folder that the walk is in. */
struct folder {
    size_t file;
    size_t first_above; /* the least index of the folders around it */
    size_t first_below; /* of what is in it */
};

/* Notes which files conflict with an earlier one. Sorted by paths before and by indexes after. */
static int mark_files(struct files *files)
{
    struct folder *stack = cor_alloc(files->n * sizeof(*stack));
    size_t depth = 0;

    if (!stack)
        return -COR_ENOMEM;
    qsort(files->v, files->n, sizeof(*files->v), compare_files);
    for (size_t i = 0; i <= files->n; i++) {
        struct file *file = i < files->n ? &files->v[i] : NULL;

        while (depth > 0 && (!file || !is_in(files->v[stack[depth - 1].file].path, file->path))) {
            struct folder *left = &stack[--depth];
            struct file *of = &files->v[left->file];
            size_t first = left->first_below < of->index ? left->first_below : of->index;

            of->meets = left->first_above < of->index || left->first_below < of->index;
            if (depth > 0 && stack[depth - 1].first_below > first)
                stack[depth - 1].first_below = first;
        }
        if (file && file->path.n > 0) {
            size_t above = SIZE_MAX;

            if (depth > 0) {
                const struct folder *around = &stack[depth - 1];
                size_t index = files->v[around->file].index;

                above = around->first_above < index ? around->first_above : index;
            }
            stack[depth++] = (struct folder){i, above, SIZE_MAX};
        }
    }
    qsort(files->v, files->n, sizeof(*files->v), compare_indexes);
    cor_free(stack);
    return 0;
}

static const char *show_origin(struct cor_check *check, const struct origin *origin)
{
    return origin->has_name ? cor_check_printf(check, "%s %s", origin->kind,
                                               cor_check_quote(check, origin->name))
                            : origin->kind;
}

/* `"a/b" (Secret "s")` */
static const char *show_file(struct cor_check *check, const struct file *file)
{
    const char *path = cor_check_quote(check, file->path);

    return file->origin.kind[0]
               ? cor_check_printf(check, "%s (%s)", path, show_origin(check, &file->origin))
               : path;
}

/* Compares a file with all before it. */
static void compare_file(struct files *files, const struct file *file, const char *volume,
                         const struct origin *origin)
{
    struct cor_check *check = files->check;

    for (const struct file *other = files->v; other < file && !cor_check_is_warned(check);
         other++) {
        if (other->path.n == 0 ||
            (!is_in(file->path, other->path) && !is_in(other->path, file->path)))
            continue;
        cor_check_warn(
            check, cor_strz(cor_check_printf(check, "volume %s (%s): overlapping paths: %s with %s",
                                             volume, show_origin(check, origin),
                                             show_file(check, file), show_file(check, other))));
    }
}

static void warn_of_files(struct files *files, struct cor_str volume_name,
                          const struct origin *origin)
{
    struct cor_check *check = files->check;
    const char *volume;

    if (files->n == 0 || (files->n == 1 && !files->v[0].is_missing))
        return;
    volume = cor_check_quote(check, volume_name);
    if (files->n > FILES_FEW)
        cor_check_note(check, mark_files(files));
    for (size_t i = 0; i < files->n && !cor_check_is_warned(check); i++) {
        const struct file *file = &files->v[i];

        if (file->is_missing)
            cor_check_warn(check,
                           cor_strz(cor_check_printf(
                               check, "volume %s (Projected) has no sources provided", volume)));
        else if (file->path.n > 0 && (files->n <= FILES_FEW || file->meets))
            compare_file(files, file, volume, origin);
    }
}

COR_HOOK(warn_paths)
{
    struct files files = {.check = check};
    struct origin origin = unnamed("");
    struct cor_place source, list, item;

    if (cor_place_field(check, place, "configMap", &source)) {
        origin = named(check, "ConfigMap", &source, "name");
        add_items(&files, &source, unnamed(""));
    } else if (cor_place_field(check, place, "secret", &source)) {
        origin = named(check, "Secret", &source, "secretName");
        add_items(&files, &source, unnamed(""));
    } else if (cor_place_field(check, place, "downwardAPI", &source)) {
        origin = unnamed("DownwardAPI");
        add_items(&files, &source, unnamed(""));
    } else if (cor_place_field(check, place, "projected", &source)) {
        origin = unnamed("Projected");
        cor_place_field(check, &source, "sources", &list);
        COR_EACH(check, &list, item)
            add_projection(&files, &item);
    }
    warn_of_files(&files, cor_field_text(check, place, "name"), &origin);
    cor_free(files.v);
}
