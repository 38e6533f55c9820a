/* clang-format off */
/* A circuit breaker: decides whether a server that has stopped answering is asked at all. Time
 * comes in by value; nothing here waits.
 *
 *   CLOSED ──(failures in a row)──► OPEN ──(its time is up, next question)──► TRIAL ──► CLOSED or OPEN
 *                                                TRIAL ──(no answer in time, next question)──► TRIAL
 *
 * An open circuit refuses questions: for `open_ms` the first time, for twice as long after each trial
 * that fails, and for `open_max_ms` at most. A trial that is not answered within `open_max_ms` is
 * followed by another one, because it may be a question that takes long.
 * Owner: whoever embeds it.  Thread: one at a time. */
/* clang-format on */
#ifndef COR_BASE_CIRCUIT_H
#define COR_BASE_CIRCUIT_H

#include <stdbool.h>
#include <stdint.h>

struct cor_circuit_opts {
    unsigned failures; /* in a row, after which it opens */
    uint64_t open_ms, open_max_ms;
};

enum cor_circuit_state { COR_CIRCUIT_CLOSED, COR_CIRCUIT_OPEN, COR_CIRCUIT_TRIAL };

struct cor_circuit {
    const struct cor_circuit_opts *opts; /* must stay valid */
    enum cor_circuit_state state;
    unsigned nfailures; /* in a row */
    uint64_t open_ms, until_ms;
};

/* One question. Embedded by whoever asks, and zeroed before cor_circuit_enter(). */
struct cor_circuit_pass {
    bool is_trial; /* its outcome decides the state of the circuit */
};

void cor_circuit_init(struct cor_circuit *c, const struct cor_circuit_opts *opts);

/* May the question be asked? */
bool cor_circuit_enter(struct cor_circuit *c, struct cor_circuit_pass *pass, uint64_t now_ms);

/* What came of a question. The first of these calls counts; after it the pass is an ordinary one.
 * answered: the server works, and the circuit closes. True: it was not closed. */
bool cor_circuit_answered(struct cor_circuit *c, struct cor_circuit_pass *pass);
/* failed: there was no answer. True: the circuit was closed, and is open now. */
bool cor_circuit_failed(struct cor_circuit *c, struct cor_circuit_pass *pass, uint64_t now_ms);
/* left: nothing is known. After a trial the next question is one. */
void cor_circuit_left(struct cor_circuit *c, struct cor_circuit_pass *pass);

#endif
