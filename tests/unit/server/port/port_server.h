/* A server without a network: what tests of the port need of api_fixture.h and alloc_fixture.h. It
 * includes neither, since their names are also those of coracle/request.h. */
#ifndef COR_TEST_PORT_SERVER_H
#define COR_TEST_PORT_SERVER_H

#include <stdbool.h>

struct cor_api_loop;
struct cor_clock_manual;
struct cor_loop;
struct pserver;

/* With the allocators of Services, or with watch caches if `is_cached`. The default namespaces are
 * there. */
struct pserver *pserver_open(bool is_cached);
void pserver_close(struct pserver *s);

struct cor_loop *pserver_loop(struct pserver *s);
struct cor_api_loop *pserver_api(struct pserver *s);
struct cor_clock_manual *pserver_clock(struct pserver *s); /* not that of the loop */

/* As fx_do() and fx_at(). */
const char *pserver_do(struct pserver *s, int status, const char *method, const char *target,
                       const char *body);
const char *pserver_at(const char *json, const char *path);

/* Holds back the next read, or write, of a key that contains `key`, until pserver_let_go(), which
 * also ends a hold that no request has met. */
void pserver_hold(struct pserver *s, bool is_write, const char *key);
void pserver_wait_held(struct pserver *s);
void pserver_let_go(struct pserver *s);

/* Stores a value that is no object. */
void pserver_put_garbage(struct pserver *s, const char *key);

#endif
