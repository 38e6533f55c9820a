#!/usr/bin/env python3
"""What an event costs in the cacher, as the program counts it (work.h) or valgrind, in instructions. watchers.py PROGRAM [EVENTS]

Counted are applying the change and giving it to the watchers, not the engine that the program plays.
EVENTS is how many an idle watcher is spared: 5,000, or what is asked for."""

import re
import subprocess
import sys

from counting import is_counted, skip_without_valgrind

PROGRAM = sys.argv[1]
SPARED = int(sys.argv[2]) if len(sys.argv) > 2 else 5000


VALGRIND = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
            "--toggle-collect=cor_cacher_change", "--toggle-collect=loop_on_mail"]


def cost(what, events, *args):
    """Work per event, and what the program says: deliveries, and a digest of their order."""
    command = [PROGRAM, what, str(events)] + [str(arg) for arg in args]
    counted = is_counted(PROGRAM)
    done = subprocess.run(command if counted else VALGRIND + command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    *told, work = done.stdout.split()
    return int(work if counted else re.search(r"Collected : (\d+)", done.stderr)[1]) / events, told


def an_event_costs_no_more_among_5000_watchers_than_among_50():
    few, told_few = cost("own", 200, 50)
    many, told_many = cost("own", 200, 5000)
    print(f"# {few:.0f} an event with 50 watchers, {many:.0f} with 5,000")
    assert told_few == told_many and int(told_few[0]) == 200
    assert many <= 1.5 * few


def events_for_another_node_cost_idle_watchers_nothing():
    one, told = cost("other", SPARED, 1)
    many, told_many = cost("other", SPARED // 10, 1000)
    print(f"# {one:.0f} an event beside an idle watcher ({SPARED} events), {many:.0f} beside 1,000")
    assert told[0] == told_many[0] == "0"
    assert many <= 1.05 * one


def watchers_that_do_not_read_cost_the_others_nothing():
    alone, told_alone = cost("stuck", 20, 4500, 0)
    beside, told_beside = cost("stuck", 20, 4500, 500)
    print(f"# {alone / 4500:.0f} a delivery to 4,500 watchers, {beside / 4500:.0f} with 500 more that do not read")
    assert told_alone == told_beside and int(told_alone[0]) == 20 * 4500
    assert beside <= 1.05 * alone


TESTS = [
    an_event_costs_no_more_among_5000_watchers_than_among_50,
    events_for_another_node_cost_idle_watchers_nothing,
    watchers_that_do_not_read_cost_the_others_nothing,
]

skip_without_valgrind(PROGRAM)
print(f"1..{len(TESTS)}")
for n, test in enumerate(TESTS, 1):
    try:
        test()
        print(f"ok {n} - {test.__name__}", flush=True)
    except AssertionError as error:
        print(f"not ok {n} - {test.__name__} {error}", flush=True)
