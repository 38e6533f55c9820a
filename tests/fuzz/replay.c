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

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    struct dirent **entries = NULL;
    int n = argc == 2 ? scandir(argv[1], &entries, is_input, alphasort) : -1;
    bool all = n > 0;

    printf("1..%d\n", n > 0 ? n : 1);
    if (n <= 0)
        printf("not ok 1 - a folder with at least one input\n");
    for (int i = 0; i < n; i++) {
        char path[4096];
        bool ok;

        snprintf(path, sizeof(path), "%s/%s", argv[1], entries[i]->d_name);
        ok = replay(path);
        printf("%sok %d - %s\n", ok ? "" : "not ", i + 1, entries[i]->d_name);
        fflush(stdout);
        all = all && ok;
        free(entries[i]);
    }
    free(entries);
    return all ? 0 : 1;
}
