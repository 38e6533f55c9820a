/* A fake with a client, for each case of a program of tests. */
#ifndef TESTING_FIXTURE_H
#define TESTING_FIXTURE_H

#include <coracle/metadata.h>
#include <coracle/testing.h>
#include <coracle/types/clients.h>
#include <stdio.h>
#include <stdlib.h>

#define WAIT_MS 60000

struct fixture {
    struct cor_testing *fake;
    struct cor_runtime *runtime;
    struct cor_client *client;
    struct cor_testing_error wrong;
    struct cor_status why;
};

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("Bail out! line %d: %s: %s %s\n", __LINE__, #condition, fx.wrong.message,       \
                   cor_status_message(&fx.why));                                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static struct fixture fx;

static inline void open_fixture(void)
{
    memset(&fx, 0, sizeof(fx));
    cor_status_init(&fx.why);
    CHECK(cor_testing_new(&fx.fake, &fx.wrong) == 0);
    CHECK(cor_runtime_new(NULL, &fx.runtime) == 0);
    CHECK(cor_testing_client(fx.fake, fx.runtime, &fx.client, &fx.why) == 0);
}

static inline void close_fixture(void)
{
    cor_client_free(fx.client);
    cor_runtime_free(fx.runtime);
    cor_testing_free(fx.fake);
    cor_status_deinit(&fx.why);
}

static inline struct cor_core_v1_config_map_object config_map(const char *name, const char *color)
{
    struct cor_core_v1_config_map_object map;
    struct cor_builder *b = NULL;

    CHECK(cor_builder_new(NULL, &b) == 0);
    cor_builder_set_text(b, "metadata.name", cor_strz(name));
    cor_builder_set_text(b, "data.color", cor_strz(color));
    CHECK(cor_core_v1_config_map_object_build(b, &map, &fx.why) == 0);
    cor_builder_free(b);
    return map;
}

static inline bool is_color(struct cor_core_v1_config_map_object map, const char *color)
{
    return cor_text_is(
        cor_text_map_get(cor_core_v1_config_map_data(cor_core_v1_config_map_object_view(map)),
                         COR_STR("color")),
        color);
}

struct test_case {
    const char *name;
    void (*run)(void);
};

static inline int run_cases(const struct test_case *cases, size_t n)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("1..%zu\n", n);
    for (size_t i = 0; i < n; i++) {
        open_fixture();
        cases[i].run();
        close_fixture();
        printf("ok %zu - %s\n", i + 1, cases[i].name);
    }
    return 0;
}

#endif
