#include "asker.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "process.h"

#define TEXT_MAX   (4u << 20)
#define ANSWER_MAX (4u << 20)
#define ANSWER_MS  60000
/* A server is at rest when its CPU clock has moved by less than REST_CPU_NS in REST_NS. */
#define REST_NS     300000000
#define REST_CPU_NS 1000000
#define REST_TURNS  30

static void on_body(struct cor_str piece, void *arg)
{
    if (cor_buf_adds(&((struct asker *)arg)->body, piece) < 0)
        die("an answer is too large to keep");
}

static void on_response(int status, void *arg)
{
    struct asker *a = arg;

    a->status = status;
    a->is_answered = true;
}

static bool is_answered(void *arg)
{
    return ((struct asker *)arg)->is_answered;
}

void asker_open(struct asker *a, const struct target *t)
{
    static const struct conn_cbs cbs = {.on_body = on_body, .on_response = on_response};

    *a = (struct asker){.client = client_open()};
    cor_buf_init(&a->text, TEXT_MAX);
    cor_buf_init(&a->body, ANSWER_MAX);
    a->conn = conn_open(a->client, t->port, t->is_plain, &cbs, a);
}

void asker_close(struct asker *a)
{
    conn_close(a->conn);
    client_close(a->client);
    cor_buf_deinit(&a->text);
    cor_buf_deinit(&a->body);
}

int asker_ask(struct asker *a, const char *method, const char *path, const char *body)
{
    cor_buf_reset(&a->text);
    if (cor_buf_addf(&a->text,
                     "%s %s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
                     "Authorization: Bearer " TARGET_TOKEN "\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     method, path, strlen(body), body) < 0)
        die("%s %s is too large to send", method, path);
    cor_buf_reset(&a->body);
    a->is_answered = false;
    conn_send(a->conn, cor_buf_str(&a->text));
    if (!client_run(a->client, is_answered, a, ANSWER_MS))
        die("%s %s is not answered", method, path);
    return a->status;
}

void asker_must(struct asker *a, const char *method, const char *path, const char *body)
{
    int status = asker_ask(a, method, path, body);

    if (status < 200 || status > 299)
        die("%s %s was answered with %d: %s", method, path, status, cor_buf_z(&a->body));
}

void asker_uid(const struct asker *a, char *ret_uid, size_t n)
{
    static const char member[] = "\"uid\":\"";
    const char *uid = strstr(cor_buf_z(&a->body), member), *end;

    uid = uid ? uid + strlen(member) : NULL;
    end = uid ? strchr(uid, '"') : NULL;
    if (!end || (size_t)(end - uid) >= n)
        die("an object without a uid: %s", cor_buf_z(&a->body));
    snprintf(ret_uid, n, "%.*s", (int)(end - uid), uid);
}

void asker_pause(long ns)
{
    const struct timespec gap = {.tv_nsec = ns};

    nanosleep(&gap, NULL);
}

double asker_memory_at_rest(const struct target *t)
{
    uint64_t before = target_cpu_ns(t), now;

    for (int i = 0; i < REST_TURNS; i++, before = now) {
        asker_pause(REST_NS);
        now = target_cpu_ns(t);
        if (now - before < REST_CPU_NS)
            break;
    }
    return (double)target_memory(t, "VmRSS") / 1e6;
}
