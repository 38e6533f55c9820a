/* Runs a fuzz target over every file of a corpus folder: one line of TAP per file. */
#include <dirent.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"

#define FILE_BYTES_MAX (4u << 20)

/* Each input has a block of its own size, so that a read past its end is seen by ASan. */
static bool replay(const char *path)
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
            LLVMFuzzerTestOneInput(data, (size_t)size);
        cor_free(data);
    }
    fclose(f);
    return ok;
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    const struct dirent *entry;
    unsigned n = 0, failed = 0;

    while (folder && (entry = readdir(folder))) {
        char path[4096];
        bool ok;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        ok = replay(path);
        printf("%sok %u - %s\n", ok ? "" : "not ", ++n, entry->d_name);
        fflush(stdout);
        failed += !ok;
    }
    if (folder)
        closedir(folder);
    if (n == 0)
        printf("not ok %u - a folder with at least one input\n", ++n);
    printf("1..%u\n", n);
    return folder && failed == 0 ? 0 : 1;
}
