#!/usr/bin/env python3
"""TAP: check_layers.py, check_paths.py, check_pages.py, check_limits.py, check_bans.py, check_kinds.py, check_templates.py and check_citations.py on small made-up trees. Argument: the source root."""

import collections
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
# (what, file, content, expected part of the message or None when it is allowed)
LAYERS = [
    ("a layer may use one below it", "src/meta/x.c", '#include "base/buf.h"\n', None),
    ("a layer may use itself", "src/meta/names/x.c", '#include "meta/names/key.h"\n', None),
    ("a room may use itself", "src/storage/engine/x.c", '#include "storage/engine/kv.h"\n', None),
    ("a room may use one below it", "src/server/verbs/x.c", '#include "server/api/call.h"\n', None),
    ("a room may not use one above it", "src/server/api/x.c", '#include "server/verbs/list.h"\n',
     "src/server/api/x.c:1: server/api may not include server/verbs"),
    ("a room may not use one that it is kept from", "src/storage/cacher/x.c", '#include "storage/sqlite/sqlite_log.h"\n',
     "src/storage/cacher/x.c:1: storage/cacher may not include storage/sqlite"),
    ("a folder of rooms has no other files", "src/server/x.c", '#include "server/api/call.h"\n',
     "src/server/x.c:1: server has no files beside its rooms"),
    ("a room outside the table is refused", "src/server/misc/x.c", '#include "server/api/call.h"\n',
     "src/server/misc/x.c:1: server/misc is not in the table of rooms"),
    ("kit may not use storage", "src/kit/x.c", '#include "storage/store/store.h"\n',
     "src/kit/x.c:1: kit may not include storage"),
    ("base may not use storage", "src/base/x.c", '\n#include "storage/engine/kv.h"\n',
     "src/base/x.c:2: base may not include storage"),
    ("meta may not use loop", "src/meta/x.h", '#include "loop/loop.h"\n',
     "src/meta/x.h:1: meta may not include loop"),
    ("client may not use storage", "src/client/x.c", '#  include "storage/engine/engine.h"\n',
     "client may not include storage"),
    ("server may not use client", "src/server/x.c", '#include "client/rest.h"\n',
     "server may not include client"),
    ("a folder outside the table is refused", "src/misc/x.c", '#include "base/buf.h"\n',
     "src/misc/x.c:1: misc is not in the table of rooms"),
    ("sqlite3.h belongs to the engine", "src/storage/sqlite/x.c", "#include <sqlite3.h>\n", None),
    ("sqlite3.h is refused in the store", "src/storage/store/store.c", "#include <sqlite3.h>\n",
     "src/storage/store/store.c:1: <sqlite3.h> may be used only in src/storage/sqlite"),
    ("uv.h is refused in cmd", "cmd/coracle/x.c", "#include <uv.h>\n", "<uv.h> may be used only in src/loop"),
    ("openssl is refused outside net", "src/server/x.c", "#include <openssl/ssl.h>\n",
     "<openssl/ssl.h> may be used only in src/net/crypto, src/net/stream"),
    ("yyjson.h is refused in tests", "tests/unit/x.c", "#include <yyjson.h>\n",
     "<yyjson.h> may be used only in src/json/text"),
]
BANS = [
    ("strcpy is refused", "src/meta/x.c", "void f(char *d)\n{\n    strcpy(d, \"x\");\n}\n", "src/meta/x.c:3: strcpy()"),
    ("sprintf is refused, snprintf is not", "src/meta/x.c", "snprintf(a, 1, b);\nsprintf(a, b);\n", ":2: sprintf()"),
    ("malloc is refused outside base/mem.c", "src/json/x.c", "p = malloc (3);\n", ":1: malloc()"),
    ("free of a member is another function", "src/json/x.c", "fns->free(p); f.free(p); cor_free(p);\n", None),
    ("base/mem.c is where malloc lives", "src/base/mem.c", "p = malloc(3);\n", None),
    ("another client frees what it is given", "bench/client/official/x.c", "give(strdup(a));\n", None),
    ("other measurements do not", "bench/client/x.c", "give(strdup(a));\n", ":1: strdup()"),
    ("comments and strings do not count", "src/json/x.c", "/* free(p)\n atoi(x) */ puts(\"gets(x)\");\n", None),
    ("a test does not sleep", "tests/unit/x.c", "usleep(10);\n", "tests/unit/x.c:1: usleep()"),
    ("a diagram that clang-format may reflow is refused", "src/json/x.c", "/* States:\n *   A ──► B\n */\n",
     "src/json/x.c:2: a diagram or table in a comment"),
    ("a table that clang-format may reflow is refused", "src/json/x.c", "int a;\n/* Cases:\n *   none     all\n *   one\n */\n",
     "src/json/x.c:3: a diagram or table in a comment"),
    ("a protected diagram is fine", "src/json/x.c",
     "/* clang-format off */\n/* States:\n *   A ──► B   C\n */\n/* clang-format on */\n", None),
    ("the protection ends with its region", "src/json/x.c",
     "/* clang-format off */\n/* clang-format on */\n/* States:\n *   A ◄── B\n */\n", "src/json/x.c:4: a diagram"),
    ("two blanks, a comment of one line, and code draw nothing", "src/json/x.c",
     "/* Thread: any.  Owner:\n *   its maker. */\nint a;   /* A ──► B */\nchar *b = \"├──\";\n", None),
    ("a free that returns nothing is refused", "src/x/x.h", "void cor_x_free(struct cor_x *x);\n",
     "src/x/x.h:1: cor_x_free() returns nothing"),
    ("a free returns NULL, and its cleanup function nothing", "src/x/x.h",
     "struct cor_x *cor_x_free(struct cor_x *x);\nstatic inline void cor_x_freep(void *p);\n", None),
    ("a close with a callback, one that blocks and one that wakes are fine", "src/x/x.h",
     "void cor_a_close(struct cor_a *a, void (*on_closed)(void *arg),\n                 void *arg);\n"
     "struct cor_b *cor_b_close(struct cor_b *b, uint64_t drain_ms);\nvoid cor_c_close(struct cor_c *c);\n", None),
    ("a close with arguments but no callback is refused", "src/x/x.h",
     "void cor_x_close(struct cor_x *x,\n                 int why);\n", "src/x/x.h:1: cor_x_close() has arguments"),
    ("a close that can fail is refused", "src/x/x.h", "int a;\nint cor_x_close(struct cor_x *x);\n",
     "src/x/x.h:2: cor_x_close() can fail"),
    ("a close that returns another type is refused", "src/x/x.h", "struct cor_y *cor_x_close(struct cor_x *x);\n",
     "src/x/x.h:1: cor_x_close() returns something else"),
    ("a get that calls back is refused", "src/x/x.h", "int cor_x_get(struct cor_x *x,\n              cor_x_cb on_done);\n",
     "src/x/x.h:1: cor_x_get() calls back"),
    ("a get with a function pointer is refused too", "src/x/x.h",
     "void cor_x_get(struct cor_x *x, void (*on_done)(void *arg), void *arg);\n", "src/x/x.h:1: cor_x_get() calls back"),
    ("the verb GET calls back, and another get returns", "src/x/x.h",
     "int cor_x_get(struct cor_x *x, cor_x_cb on_done);\nint cor_x_list(struct cor_x *x, cor_x_cb on_done);\n"
     "COR_API int cor_y_get(struct cor_y *y, struct cor_object **ret);\n", None),
    ("a lock without a rank is refused", "src/x/x.c", "void f(void)\n{\n    pthread_mutex_lock(&m);\n}\n",
     "src/x/x.c:3: pthread_mutex_lock() is not used here: use base/lock.h"),
    ("a test may have a mutex of its own", "tests/x.c", "void f(void)\n{\n    pthread_mutex_lock(&m);\n}\n", None),
    ("what is cleaned up has a value before the block is left", "src/x.c",
     "static int f(int x)\n{\n    COR_CLEANUP(cor_buf_deinit) struct cor_buf a, b;\n\n    cor_buf_init(&a, 1);\n    if (x)\n        return 0;\n    cor_buf_init(&b, 1);\n}\n",
     "src/x.c:3: the block may be left before b has a value"),
    ("what is cleaned up may get its value late", "src/x.c",
     "{\n    COR_CLEANUP(cor_buf_deinit) struct cor_buf a;\n\n    cor_buf_init(&a, 1); /* before a return */\n    return 0;\n}\n", None),
    ("what is cleaned up may have a value at once", "src/x.c",
     "{\n    COR_CLEANUP(cor_buf_deinit) struct cor_buf a = {.max = 1};\n\n    return 0;\n}\n", None),
]
PAGE = "docs/contract/client.md"
OTHER = "docs/contract/server.md"
# (what, what stands below a section of three lines, a test, expected)
CITATIONS = [
    ("each number has a test or a reason", "> Here, 1.4.2: Go: why.\n", "/* Contract client 1.4.1, 1.4.3: so. */\n", None),
    ("a reason belongs to the line above it", "   > Here: Go: why.\n", "/* Contract client 1.4.1, 1.4.2: so. */\n", None),
    ("a range is each of its numbers", "", "/* Contract client 1.4.1 to\n * 1.4.3. */\n", None),
    ("the end of a line may stand before the number", "", "/* Contract client\n * 1.4.1 to 1.4.3. */\n", None),
    ("a whole section may be named", "", "/* Contract client 1.4. Contract client 1.4.1 to 1.4.3. */\n", None),
    ("a number without either is named", "> Here, 1.4.2 and 1.4.3: Go: why.\n", "/* 1.4.1 */\n",
     "1.4.1 has neither a test nor a reason"),
    ("a reason has words", "> Here, 1.4.1, 1.4.2:\n", "/* Contract client 1.4.2 and 1.4.3 */\n",
     "1.4.1 has neither a test nor a reason"),
    ("a reason is refused where there is a test", "> Here, 1.4.1: Go: why.\n", "/* Contract client 1.4.1 to 1.4.3 */\n",
     "1.4.1 has a reason, and a test in tests/x.c"),
    ("a number that is not there cannot be cited", "", "/* Contract client 1.4.1 to 1.4.4 */\n",
     "tests/x.c: 1.4.4 is not in the contract client"),
    ("a section that is not there cannot be cited", "", "/* Contract client 1.9; Contract client 1.4.1 to 1.4.3 */\n",
     "tests/x.c: 1.9 is not in the contract client"),
    ("a test that a reason names is there", "> Here, 1.4.1: different: so; test x: a_b, y: c.\n",
     "/* Contract client 1.4.2 to 1.4.3 */\nTEST(x, a_b)\nTEST(y, d)\n", "there is no test c"),
    ("a number that is not there needs no reason", "> Here, 1.5.1: Go: why.\n", "/* Contract client 1.4.1 to 1.4.3 */\n",
     "1.5.1 has a reason, and is not there"),
    ("a citation names its contract", "", "/* Contract client 1.4.1 to 1.4.3 */\n/* Contract 1.4.1 */\n",
     "tests/x.c: 1.4.1 is cited from no contract"),
    ("a contract that is cited is there", "", "/* Contract client 1.4.1 to 1.4.3 */\n/* Contract cleint 1.4.2 */\n",
     "tests/x.c: 1.4.2 is cited from cleint, which is no contract"),
    ("a number of another section is only a word", "- 1.9.2 or so.\n", "/* Contract client 1.4.1 to 1.4.3 */\n", None),
    ("a line that goes on is one line", "   1.4.9 is not said here\n", "/* Contract client 1.4.1 to 1.4.3 */\n",
     "1.4.9 has neither a test nor a reason"),
]
CITED = "/* Contract client 1.4.1 to 1.4.3 */\n"
LINES = "\n## 2. Rows\n\n### 2.1 Rows\n- 2.1.1 One.\n- 2.1.2 Two.\n"
# (what, the book of a second contract, a test, exit code, expected)
CONTRACTS = [
    ("a contract that is not complete may lack tests", "Status: not complete\n" + LINES, "/* Contract server 2.1.1 */\n", 0, ""),
    ("an unknown number of such a contract is refused", "Status: not complete\n" + LINES, "/* Contract server 2.1.3 */\n", 1,
     "tests/x.c: 2.1.3 is not in the contract server"),
    ("a complete section of such a contract lacks no test", "Status: not complete\nComplete sections: 1, 2.1\n" + LINES,
     "/* Contract server 2.1.1 */\n", 1, "2.1.2 has neither a test nor a reason"),
    ("and its reasons have no test", "Status: not complete\nComplete sections: 2\n" + LINES + "  > Here: missing: so.\n",
     "/* Contract server 2.1.1, 2.1.2 */\n", 1, "2.1.2 has a reason, and a test in tests/x.c"),
    ("the other sections may lack tests", "Status: not complete\nComplete sections: 1, 2.10\n" + LINES,
     "/* Contract server 2.1.1 */\n", 0, ""),
    ("the rows of a table count as lines do", "Status: complete\n" + LINES + "\n### 2.2 More\n| id | |\n|---|---|\n| 2.2.1 | x |\n",
     "/* Contract server 2.1.1, 2.1.2 */\n", 1, "2.2.1 has neither a test nor a reason"),
    ("worked cases are cited by their names", "Status: complete\n" + LINES + "\n## 3. Worked cases\n- A1 x\n- A2b y\n",
     "/* Contract server 2.1.1, 2.1.2, A1 */\n", 1, "A2b has neither a test nor a reason"),
    ("advice needs no test", "Status: complete\nNot cited: 3\n" + LINES + "\n## 3. Advice\n1. Do.\n", "/* Contract server 2.1.1, 2.1.2 */\n", 0, ""),
    ("contracts do not share numbers", "Status: complete\n" + LINES, "/* Contract server 2.1.1 and 2.1.2 */\n", 0, ""),
    ("a book says whether its contract is complete", LINES, "/* Contract server 2.1.1 and 2.1.2 */\n", 1,
     "there is no line 'Status: complete' or 'Status: not complete'"),
]
# (what, a case file, exit code, expected) with a contract whose lines are 2.1.1, 2.1.2 and the row Pod of 2.2
CASES = [
    ("a case shows what its header names", "contract server\n[v1 Pod]\n2.1.1, 2.1.2 a=1\n  201\n2.2 get\n  200\n", 0, ""),
    ("a pending case shows nothing", "contract server\n[Pod]\n2.1.1 a=1\npending 2.1.2 a=1\n2.2 get\n", 1, "2.1.2 has neither a test"),
    ("a row of a table is shown by a case of its kind", "contract server\n[Node]\n2.1.1, 2.1.2 a=1\n2.2 get\n", 1, "2.2 Pod has neither"),
    ("a case may cite another contract", "contract client\n[Pod]\nserver 2.1.1, server 2.1.2, server 2.2 a=1\n", 0, ""),
    ("a number that the contract lacks is named", "contract server\n[Pod]\n2.1.1, 2.1.2, 2.1.7, 2.2 a=1\n", 1, "x.cases: 2.1.7 is not in"),
]
LOCKS = [
    ("the table of locks has every rank", ["A", "B"], None),
    ("a lock that the table lacks is named", ["A"], "the lock B is not on docs/internals/locks.md"),
    ("a row without a lock is named", ["A", "C", "B"], "the lock C is only on docs/internals/locks.md"),
    ("the table of locks is in the order of the ranks", ["B", "A"], "are in another order"),
]

ROWS = """static const struct cor_api_subresource subs[] = {{.name = "eviction", .verbs = 1}, {.name = "status", .verbs = 1}};
    {NAMES("", "v1", "Pod", "pods", "pod"), .flags = 1},
    {NAMES("apps", "v1", "ReplicaSet", "replicasets",
           "replicaset"), .flags = 2},
"""
KINDS = [
    ("a kind is not compared by its name", "src/server/x/x.c", 'a();\nif (eq(kind, "Pod"))\n', 'src/server/x/x.c:2: "Pod" is'),
    ("nor is a resource", "src/server/x/x.h", 'STR("replicasets")\n', 'x.h:1: "replicasets" is'),
    ("nor is a list of a kind", "src/server/x/x.c", 'STR("ReplicaSetList")\n', '"ReplicaSetList" is'),
    ("nor is a subresource", "src/server/x/x.c", 'STR("eviction")\n', '"eviction" is'),
    ("a path of a resource counts", "src/server/x/x.c", 'STR("pods/binding")\n', '"pods" is'),
    ("a kind in JSON counts", "src/server/x/x.c", 'f("{\\"kind\\":\\"Pod\\"}")\n', '"Pod" is'),
    ("a kind in a template counts", "src/server/x/x.c", 'print("{kind:\'Pod\'}");\n', '"Pod" is'),
    ("words of a message and ordinary words do not count", "src/server/x/x.c", 'f("pod %s", "status", "pod", "Podded");\n', None),
    ("comments and includes do not count", "src/server/x/x.c", '#include "pods"\n/* "Pod"\n * "pods" */ f(); /* "Pod" */\n', None),
    ("the table itself is elsewhere", "src/schema/x.c", 'f("Pod");\n', None),
    ("a line says why it may name a kind", "src/server/x/x.c", 'f("Pod"); /* names a kind: so */\n', None),
    ("a run of lines says it once", "src/server/x/x.c", '/* names a kind: so */\nf("Pod");\nf("pods");\n\nf("pods");\n',
     'x.c:5: "pods" is'),
    ("without a reason it is refused", "src/server/x/x.c", 'f("Pod"); /* names a kind: */\n', '"Pod" is'),
]

# (what, files, the message or None); what is written is named below src/x/y/
PATHS = [
    ("a page names files that are there", {"docs/a.md": "`src/x/y/one.c`, `y/one.c`, `one.c`, [b](b.md#two-words), src/x/y/\n",
                                           "docs/b.md": "# One\n## Two *words*\n"}, None),
    ("a file that is not there is refused", {"docs/a.md": "a\n`y/two.c`\n"}, "docs/a.md:2: there is no y/two.c"),
    ("a file in another folder is refused", {"docs/a.md": "`x/one.c`\n"}, "docs/a.md:1: there is no x/one.c"),
    ("a folder that is not there is refused", {"docs/a.md": "in src/x/z/\n"}, "docs/a.md:1: there is no src/x/z/"),
    ("a comment is looked at, code is not", {"src/x/y/three.c": '/* See\n * y/two.c. */\nputs("y/four.c");\n'},
     "src/x/y/three.c:2: there is no y/two.c"),
    ("a script says from the root what it means", {"tools/a.py": 'open("src/x/two.c"), open("self.c")\n'}, "tools/a.py:1: there is no src/x/two.c"),
    ("capitals stand for many, and what is made need not be there", {"docs/a.md": "hooks/check_FAMILY.c apps_v1_client.h first.c\n"}, None),
    ("a table of files names files that are there", {"docs/a.md": "| room | file |\n|---|---|\n| `y` | `one`, `two` |\n"},
     "docs/a.md:3: there is no file two.*"),
    ("a name that stands for another file is refused", {"docs/a.md": "`one.c` reads,\n`two.c` writes\n", "src/x/y/big_two.c": "", "tests/two.c": ""},
     "docs/a.md:2: two.c is tests/two.c, or is big_two.c meant?"),
    ("also when it is in another room", {"docs/a.md": "`one.c` reads, `two.c` writes\n", "src/x/y/big_two.c": "", "src/x/z/two.c": ""},
     "docs/a.md:1: two.c is src/x/z/two.c, or is big_two.c meant?"),
    ("a name with its folder is clear", {"docs/a.md": "`one.c` reads, `z/two.c` writes\n", "src/x/y/big_two.c": "", "src/x/z/two.c": ""}, None),
    ("a name beside the files that are named is clear", {"docs/a.md": "`one.c` reads, `two.c` writes\n", "src/x/y/big_two.c": "", "src/x/y/two.c": ""}, None),
    ("each item of a list is by itself", {"docs/a.md": "- `one.c` reads\n- `two.c` writes\n", "src/x/y/big_two.c": "", "tests/two.c": ""}, None),
    ("a room that is not there is refused", {"docs/a.md": "`y/` and `cells/`\n"}, "docs/a.md:1: there is no folder cells/"),
    ("a link that leads nowhere is refused", {"docs/a.md": "[b](b.md) [c](https://c/d)\n"}, "docs/a.md:1: the link b.md leads nowhere"),
    ("a heading that is not there is refused", {"docs/a.md": "# One\n[a](#two)\n"}, "docs/a.md:2: the page has no heading #two"),
]

LONG = "x" * 201
# (what, files beside a meson.build of version 0.9.0, the message or None)
PAGES = [
    ("a cell of 200 characters is read at a glance", {"docs/a.md": f"| {LONG[1:]} | b |\n"}, None),
    ("a longer one is refused", {"docs/a.md": f"# A\n| b | {LONG} |\n"}, "docs/a.md:2: a cell of 201 characters, more than 200"),
    ("also in a folder, and without a bar at the end", {"docs/x/a.md": f"| b | {LONG}\n"}, "docs/x/a.md:1: a cell of 201"),
    ("a page of the root is looked at", {"README.md": f"|{LONG}|\n"}, "README.md:1: a cell of 201"),
    ("a bar that is quoted separates nothing", {"docs/a.md": f"| {'x' * 150} \\| {'x' * 150} |\n"}, "docs/a.md:1: a cell of 304"),
    ("other lines, code and the contracts may be longer",
     {"docs/a.md": f"{LONG}\n```\n| {LONG} |\n```\n", "docs/contract/a.md": f"| {LONG} |\n"}, None),
    ("a manual page has the version", {"docs/man/a.1": '.TH A 1 "2026" "Coracle 0.9.0" "m"\n'}, None),
    ("another version is refused", {"docs/man/a.1": '.TH A 1 "2026" "Coracle 0.8.0" "m"\n'},
     "docs/man/a.1: the version is 0.8.0, and in meson.build 0.9.0"),
    ("the picture has the version, too", {"docs/session.svg": "<text>coracle 0.1.0 is ready</text>"}, "docs/session.svg: the version is 0.1.0"),
    ("what has none is refused", {"docs/man/a.1": ".TH A 1\n"}, "docs/man/a.1: the version is missing"),
]

# (what, the header, the page, the message or None)
LIMITS = [
    ("a size is written in any unit", "#define COR_A (3u << 20) /* so */\n#define COR_B (1536u * 1024)\n", "3 MiB, 1.5 MB", None),
    ("a count has its commas", "#define COR_A 16384\n", "| 16,384 |", None),
    ("a time is written in any unit", "#define COR_A_MS 32000\n#define COR_B_S 3600\n#define COR_C_MS 60000\n", "32 s, 1 h, a minute", None),
    ("a number that the page lacks is refused", "#define COR_A (3u << 20)\n", "13 MiB, 3 MB5, 3 KB", "src/base/limits.h: COR_A: "),
    ("a rate is no time", "#define COR_A_PER_S 33\n", "33 s", None),
    ("a number is a number", "#define COR_A (COR_B + 1)\n", "1", "src/base/limits.h: COR_A is no plain number"),
    ("a maximum on the page is in the header", "#define COR_A (3u << 20)\n", "| what | maximum |\n|---|---|\n| a | 3 MB |\n| b | 5 MB |\n",
     "docs/internals/limits.md:4: 5 MB is not in src/base/limits.h"),
    ("or where the check says that it stands", "#define COR_A (3u << 20)\n", "| what | maximum |\n|---|---|\n| 7 | 3 MB, 128 levels |\n",
     "docs/internals/limits.md:3: 128 is not in src/base/limits.h, and not src/codec/yaml.h: COR_YAML_FLOW_DEPTH_MAX"),
    ("other columns and codes are no maxima", "#define COR_A (3u << 20)\n", "| what | maximum | then |\n|---|---|---|\n| 7 | 3 MB (413) | 9 |\n", None),
]
# (what, a source of src/meta/, the message or None) beside a limit of 3 MiB
LIMITS_IN_TEXTS = [
    ("a text does not write a limit", 'f("limit is 3145728");\n', "src/meta/x.c:1: a text writes 3145728, which is COR_A"),
    ("nor in another unit", 'f(\n    "limit is 3 MB");\n', "src/meta/x.c:2: a text writes 3 MB, which is COR_A"),
    ("a comment may", '/* "3145728" is 3 MB */ f("%u");\n', None),
    ("another number may", 'f("13145728, 3145728.5, 31457280, 3 KB");\n', None),
]


def run(script, tree, names):
    command = [sys.executable, "-S", str(ROOT / "tools" / script), *names]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def verdict(script, args, files, expected, wanted=None):
    with tempfile.TemporaryDirectory() as tree:
        for path, content in files.items():
            file = pathlib.Path(tree) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        code, text = run(script, tree, args)
    if wanted is not None:
        return code == wanted and expected in text and len(text.splitlines()) == (1 if expected else 0), text
    if expected is None:
        return code == 0 and not text, text
    return code == 1 and expected in text and len(text.splitlines()) == 1, text


def tables_of_layers():
    module = importlib.util.spec_from_file_location("check_layers", ROOT / "tools/check_layers.py")
    layers = importlib.util.module_from_spec(module)
    module.loader.exec_module(layers)
    return layers


def planted_includes(layers):
    """(what, file, include, what is said below file:1, or None) for every row of the tables of check_layers.py: each room is
    refused what stands above it, and what it is kept from; a library is refused outside of its homes."""
    number = 0

    def plant(what, room, include, said):
        nonlocal number
        number += 1
        path = re.sub("/+", "/", f"{room}/planted_{number}.c")
        return what, path, f'"{include}"' if include.endswith("x.h") else f"<{include}>", said

    for folder, rooms in layers.ROOMS.items():
        above = f"{folder}/" if folder else ""
        for at, room in enumerate(rooms):
            # The last room of a folder is refused what stands above the folder, and the last layer what it is kept from.
            if at + 1 < len(rooms):
                user, used = above + room, above + rooms[at + 1]
            elif folder:
                user = folder.split("/")[0]
                used = layers.ROOMS[""][layers.ROOMS[""].index(user) + 1]
            else:
                user, used = room, sorted(layers.DENIED[room])[0]
            yield plant(f"{above}{room} is refused what stands above it", f"src/{above}{room}", f"{used}/x.h",
                        f"{user} may not include {used}")
            if "" in layers.ROOMS.get(above + room, [""]):
                yield plant(f"{above}{room} may use itself", f"src/{above}{room}", f"{above}{room}/x.h".replace("//", "/"), None)
    for room, denied in layers.DENIED.items():
        for name in sorted(denied):
            above = f"{room.rpartition('/')[0]}/" if "/" in room else ""
            yield plant(f"{room} is kept from {name}", f"src/{room}", f"{above}{name}/x.h", f"{room} may not include {above}{name}")
    for prefix, homes in layers.THIRD_PARTY.items():
        header = prefix + "x-lib.h" if prefix.endswith("/") else prefix
        yield plant(f"{prefix} is seen by its home", homes[0], header, None)
        yield plant(f"{prefix} is refused elsewhere", "src/base", header, f"<{header}> may be used only in {', '.join(homes)}")


def planted_verdicts():
    """(what, is it as it should be, what was said): all includes are planted in one tree."""
    plants = list(planted_includes(tables_of_layers()))
    files = {path: f"#include {include}\n" for _, path, include, _ in plants}
    said = collections.defaultdict(list)
    for line in verdict("check_layers.py", ["--root", "."], files, "")[1].splitlines():
        path, _, words = line.partition(":1: ")
        said[path].append(words)
    for what, path, _, expected in plants:
        yield what, said[path] == ([expected] if expected else []), "\n".join(said[path])


# (what, a call in src/x.c, part of the message or None)
TEMPLATES = [
    ("a template has a value for each letter", 'cor_json_print(&w, "{a:%s,b?:%d}", f(x, y), z);', None),
    ("and may end inside of what it has begun", 'cor_json_print(&w, "{a:1,items:[");\ncor_json_print(&w, "],b:\'x y\'}");', None),
    ("and is made of macros, too", '#define KEY "a.b/c" /* why */\ncor_json_print(&w, "{" KEY ":%j}", x);', None),
    ("a value too few is refused", 'cor_json_print(&w, "{a:%s,b:%d}", x);', "src/x.c:1: cor_json_print: it has 2 values, and the call 1"),
    ("a value too many is refused", 'cor_json_print(&w, "{a:1}", x);', "it has 0 values, and the call 1"),
    ("a letter that there is not is refused", 'cor_json_print(&w, "{a:%u}", x);', "is nothing that a template has"),
    ("a blank is refused", 'cor_json_print(&w, "{a: 1}");', "is nothing that a template has"),
    ("a text without quotes is refused", 'cor_json_print(&w, "{a:b}");', "'b' is no constant"),
    ("a key without a value is refused", 'cor_json_print(&w, "{a:,b:1}");', "',' stands behind 'a:'"),
    ("a value without a key is refused", 'cor_json_print(&w, "{%s}", x);', "'%s' has no key in an object"),
    ("a key in an array is refused", 'cor_json_print(&w, "[a:1]");', "'a:' is a key in an array"),
    ("an end of the other kind is refused", 'cor_json_print(&w, "{a:[1}]");', "'}' ends the other kind"),
    ("a constant that may be left out is refused", 'cor_json_print(&w, "{a?:1}");', "'1' stands behind 'a?:'"),
    ("a comma at the end is refused", 'cor_json_print(&w, "{a:1,");', "it ends too early"),
    ("a template that is no literal is refused", 'cor_json_print(&w, text, x);', "its template is no literal"),
]


def closed_headers():
    """(what, files, the message or None)"""
    header, stages = {"src/server/write/write.h": ""}, "src/server/write/stages.h"
    later = {"src/server/write/stage_later.h": ""}
    yield ("a stage does not see the whole write", {**header, "src/server/write/stage_x.c": '#include "server/write/write.h"\n'},
           "src/server/write/stage_x.c: sees server/write/write.h, which is for src/server/write/write*.c, ")
    yield ("nor through another header", {**header, stages: '#include "server/write/write.h"\n',
                                          "src/server/write/stage_x.c": '#include "server/write/stages.h"\n'},
           "src/server/write/stage_x.c: sees server/write/write.h, through server/write/stages.h, which is for ")
    yield "a verb does", {**header, "src/server/verbs/x.c": '#include "server/write/write.h"\n'}, None
    yield ("a stage that ends at once does not go on later", {**later, "src/server/write/stage_x.c": '#include "server/write/stage_later.h"\n'},
           "src/server/write/stage_x.c: sees server/write/stage_later.h, which is for src/server/write/write_run.c, ")
    yield ("a stage that may finish later does", {**later, "src/server/write/stage_admit.c": '#include "server/write/stage_later.h"\n'}, None)


def untidy_trees():
    """(what, files, part of the message or None)"""
    many = {f"src/meta/names/m{i}.c": "" for i in range(26)}
    yield "a room of too many modules is refused", many, "src/meta/names: 26 modules, more than 25"
    yield "a module is a .c with its header", {**dict(list(many.items())[:25]), "src/meta/names/m0.h": ""}, None
    yield ("a name that two modules have is refused", {"src/meta/names/x.c": "", "src/net/host/x.h": ""},
           "src/net/host/x: src/meta/names has a module of that name")


def cases():
    for what, files, expected in [*untidy_trees(), *closed_headers()]:
        yield what, "check_layers.py", ["--root", "."], files, expected
    for what, path, content, expected in LAYERS:
        yield what, "check_layers.py", ["--root", "."], {path: content}, expected
    for what, files, expected in PATHS:
        yield what, "check_paths.py", ["--root", "."], {"src/x/y/one.c": "", **files}, expected
    for what, files, expected in PAGES:
        yield what, "check_pages.py", ["--root", "."], {"meson.build": "project('coracle', 'c',\n  version: '0.9.0',\n", **files}, expected
    for what, header, page, expected in LIMITS:
        files = {"src/base/limits.h": header, "docs/internals/limits.md": page}
        yield what, "check_limits.py", ["--root", "."], files, expected
    for what, text, expected in LIMITS_IN_TEXTS:
        files = {"src/base/limits.h": "#define COR_A (3u << 20)\n", "docs/internals/limits.md": "3 MB\n", "src/meta/x.c": text}
        yield what, "check_limits.py", ["--root", "."], files, expected
    for what, path, content, expected in BANS:
        yield what, "check_bans.py", [path], {path: content}, expected
    yield ("without a repository all sources are looked at", "check_bans.py", [], {"src/x.c": "strcpy(a, b);\n", "build/x.c": "strcpy(a, b);\n"},
           "src/x.c:1: ")
    for what, path, content, expected in KINDS:
        yield what, "check_kinds.py", ["--root", "."], {"src/schema/kinds/resource_row.c": ROWS, path: content}, expected
    for what, content, expected in TEMPLATES:
        yield what, "check_templates.py", ["--root", "."], {"src/x.c": content}, expected
    ranks = "#define COR_LOCK_RANKS(ROW) \\\n    ROW(A, \"a\") \\\n    ROW(B, \"b\")\n"
    for what, rows, expected in LOCKS:
        page = "# Locks\n" + "".join(f"| `{row}` | – | x |\n" for row in rows)
        yield what, "check_bans.py", ["src/base/lock.h"], {"src/base/lock.h": ranks, "docs/internals/locks.md": page}, expected
    args = ["--root", ".", "--write"]
    head = "# Book\n\nStatus: complete\n\n## 1.4 Queues\n1. One.\n2. Two.\n3. Three.\n"
    for what, lines, test, expected in CITATIONS:
        yield what, "check_citations.py", args, {PAGE: head + lines, "tests/x.c": test}, expected
    for what, book, test, code, expected in CONTRACTS:
        yield what, "check_citations.py", args, {PAGE: head, OTHER: book, "tests/x.c": CITED + test}, expected, code
    for what, text, code, expected in CASES:
        files = {PAGE: head, OTHER: "Status: complete\nRows of 2.2: Pod\n" + LINES + "\n### 2.2 Kinds\n", "tests/x.c": CITED, "tests/cases/x.cases": text}
        yield what, "check_citations.py", args, files, expected, code
    small = "# Book\n\nStatus: complete\n\n## 1.4 Queues\n1. One.\n"
    yield "an example of a citation is none", "check_citations.py", args, {PAGE: small, "tests/tools/x.py": "# Contract client 1.4.1\n"}, "1.4.1 has neither"
    yield ("what is cited outside of the tests is there, too", "check_citations.py", args,
           {PAGE: head, "tests/x.c": CITED, "src/x/x.c": "/* Contract client 1.4.7 */\n"}, "src/x/x.c: 1.4.7 is not in the contract client")
    yield ("and shows nothing", "check_citations.py", args, {PAGE: small, "src/x/x.c": "/* Contract client 1.4.1 */\n"}, "1.4.1 has neither")
    yield ("the table of what is shown is that of the tests", "check_citations.py", ["--root", "."], {PAGE: head, "tests/x.c": CITED},
           "docs/contract/COVERAGE.md is not what the tests show")


def main():
    todo = [(what, *verdict(*case)) for what, *case in cases()] + list(planted_verdicts())
    print(f"1..{len(todo)}")
    failed = 0
    for number, (what, ok, text) in enumerate(todo, 1):
        print(f"{'ok' if ok else 'not ok'} {number} - {what}")
        if not ok:
            failed += 1
            print(f"# said: {text!r}")
    return 1 if failed else 0


sys.exit(main())
