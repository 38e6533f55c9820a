/* Runs a fuzz target over every file of its corpus: one line of TAP per file of the folder.
 * replay fuzz_NAME.c FOLDER */
#include <dirent.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"

#define FILE_BYTES_MAX (4u << 20)
#define TARGETS_MAX    128

static struct {
    const char *file;
    fuzz_fn fn;
} targets[TARGETS_MAX];
static size_t ntargets;

void fuzz_register(const char *file, fuzz_fn fn)
{
    const char *slash = strrchr(file, '/');

    if (ntargets == TARGETS_MAX)
        abort();
    targets[ntargets].file = slash ? slash + 1 : file;
    targets[ntargets++].fn = fn;
}

static fuzz_fn find_target(const char *file)
{
    for (size_t i = 0; i < ntargets; i++)
        if (strcmp(targets[i].file, file) == 0)
            return targets[i].fn;
    return NULL;
}

/* Each input has a block of its own size, so that a read past its end is seen by ASan. */
static bool replay(fuzz_fn target, const char *path)
{
    uint8_t *data;
    long size;
    FILE *f = fopen(path, "rb");
    bool ok = false;

    if (!f)
        return false;
    if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && size <= FILE_BYTES_MAX) {
        rewind(f);
        data = cor_alloc((size_t)size);
        ok = data && fread(data, 1, (size_t)size, f) == (size_t)size;
        if (ok)
            target(data, (size_t)size);
        cor_free(data);
    }
    fclose(f);
    return ok;
}

int main(int argc, char **argv)
{
    fuzz_fn target = argc == 3 ? find_target(argv[1]) : NULL;
    DIR *folder = target ? opendir(argv[2]) : NULL;
    const struct dirent *entry;
    unsigned n = 0, failed = 0;

    while (folder && (entry = readdir(folder))) {
        char path[4096];
        bool ok;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", argv[2], entry->d_name);
        ok = replay(target, path);
        printf("%sok %u - %s\n", ok ? "" : "not ", ++n, entry->d_name);
        fflush(stdout);
        failed += !ok;
    }
    if (folder)
        closedir(folder);
    if (n == 0)
        printf("not ok %u - a known target and a folder with at least one input\n", ++n);
    printf("1..%u\n", n);
    return folder && failed == 0 ? 0 : 1;
}
