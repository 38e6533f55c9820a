/* Objects of every kind with every field set, in the forms that upstream gives them: the folder
 * that COR_GOLDEN names has group.version.Kind.json and .pb beside each other. Without it nothing
 * is compared here; test_protobuf.c has objects of its own. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "schema/protobuf/protobuf.h"
#include "schema/walk/normalize.h"
#include "test.h"
#include "json/text/json.h"

#define FILE_MAX (1u << 20)

static const struct cor_json_limits limits = {FILE_MAX, COR_JSON_DEPTH_MAX};

static void read_file(const char *folder, const char *name, const char *end, struct cor_buf *out)
{
    char path[512];
    FILE *f;
    int c;

    snprintf(path, sizeof(path), "%s/%s%s", folder, name, end);
    f = fopen(path, "rb");
    if (!f)
        fail_msg("%s cannot be read", path);
    cor_buf_init(out, FILE_MAX);
    while ((c = fgetc(f)) != EOF)
        assert_int_equal(cor_buf_addc(out, (char)c), 0);
    fclose(f);
}

static void compare(const char *folder, const char *name)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0}, pb = {0}, want = {.max = FILE_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf made = {.max = FILE_MAX}, got = {.max = FILE_MAX};
    /* A WatchEvent is no kind: its envelope is empty, and its name is the file's. */
    const struct cor_gvk named = {COR_STR(""), COR_STR("v1"), cor_strz(strrchr(name, '.') + 1)};
    struct cor_pb_error why = {.message = ""};
    struct cor_protobuf object;
    const struct cor_type *type;

    read_file(folder, name, ".json", &json);
    read_file(folder, name, ".pb", &pb);
    if (cor_protobuf_open(cor_buf_str(&pb), &object, &why) < 0)
        fail_msg("%s: %s", name, why.message);
    type = cor_protobuf_type(&object, &named);
    if (!type)
        fail_msg("%s has no type", name);
    if (cor_protobuf_to_json(&object, type, &made, &why) < 0)
        fail_msg("%s: %s", name, why.message);
    assert_int_equal(cor_json_canonicalize(cor_buf_str(&json), &limits, &want, NULL, NULL), 0);
    assert_int_equal(cor_json_canonicalize(cor_buf_str(&made), &limits, &got, NULL, NULL), 0);
    if (strcmp(cor_buf_z(&got), cor_buf_z(&want)) != 0) {
        size_t i = 0;

        while (cor_buf_z(&got)[i] == cor_buf_z(&want)[i])
            i++;
        i -= i > 60 ? 60 : i;
        fail_msg("%s differs: got  …%.200s\nwant …%.200s", name, cor_buf_z(&got) + i,
                 cor_buf_z(&want) + i);
    }
    /* Upstream writes its objects in normal form. */
    cor_buf_truncate(&made, 0);
    if (cor_normalize(type, cor_buf_str(&want), &made) != 0)
        fail_msg("%s is not normal:\n%s\n%s", name, cor_buf_z(&want), cor_buf_z(&made));
    if (cor_protobuf_from_json(object.api_version, object.kind, type, cor_buf_str(&want), &made,
                               &why) < 0)
        fail_msg("%s: %s", name, why.message);
    for (size_t i = 0; i < pb.n || i < made.n; i++) {
        if (i >= pb.n || i >= made.n || made.p[i] != pb.p[i])
            fail_msg("%s differs in protobuf at byte %zu of %zu (%zu were made)", name, i, pb.n,
                     made.n);
    }
}

TEST(golden, objects_are_the_same_in_protobuf_and_json)
{
    const char *folder = getenv("COR_GOLDEN");
    DIR *dir = folder ? opendir(folder) : NULL;
    const struct dirent *entry;
    size_t n = 0;

    if (!dir) {
        printf("# there are no golden objects: COR_GOLDEN is %s\n", folder ? folder : "not set");
        return;
    }
    while ((entry = readdir(dir))) {
        size_t length = strlen(entry->d_name);
        char name[256];

        if (length < 4 || strcmp(entry->d_name + length - 3, ".pb") != 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)length - 3, entry->d_name);
        compare(folder, name);
        n++;
    }
    closedir(dir);
    printf("# %zu golden objects\n", n);
    assert_true(n > 0);
}
