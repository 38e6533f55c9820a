"""Finds the places in a C source where a small fault can be planted, and plants one.

A fault is one edit inside a function's body. It keeps the number of lines, so that assertions keep their line numbers
and a file without an effective change compiles to the same object. The layout that clang-format gives is relied on: a
function's body begins with a line `{` and ends with a line `}`, and binary operators stand between spaces.
Assertions, log messages and declarations are left alone."""

import dataclasses
import re

# What is blanked before anything is searched: comments, strings, characters, preprocessor lines.
HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)
BODY = re.compile(r"^\{\n(.*?)^\}", re.S | re.M)
# An expression statement on lines of its own: a call, an assignment, a step.
CALL = re.compile(r"^[ \t]+((?:\(void\))?(?:[\w.\[\]]|->)+\([^;{}]*\);)", re.M)
ASSIGNMENT = re.compile(r"^[ \t]+(\*?(?:[\w\[\].]|->)+ (?:[-+*/|&]|<<|>>)?= [^;{}]*;)", re.M)
STEP = re.compile(r"^[ \t]+((?:\w|->|\.)+(?:\+\+|--);)", re.M)
LEAVE = re.compile(r"^[ \t]+((?:break|continue|return(?: [^;{}]*)?);)", re.M)
CONDITION = re.compile(r"\b(?:if|while) (?=\()")
LEFT_ALONE = re.compile(r"assert|cor_log_|log_")
RELEASE = re.compile(r"free|unref|deinit|close|clear|reset|cancel|release")
OTHER = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ", " &&": " ||",
         " ||": " &&", " + ": " - ", " - ": " + "}
# The logical ones may end a line.
OPERATOR = re.compile("|".join(re.escape(o) + ("" if o.endswith(" ") else r"(?=\s)") for o in OTHER))
# Not of `return 0;`: who asks for failures asks for less than zero.
CONSTANT = re.compile(r"(?<![\w.\"])(?<!return )(?:0|1|true|false)(?![\w.])|(?<=return )(?:true|false)\b")
CONSTANTS = {"0": "1", "1": "0", "true": "false", "false": "true"}


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    start: int
    end: int
    text: str  # instead of what stands there


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def closing(text, at):
    """The place of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError("brackets do not match")


def keep_lines(old, new):
    return new + "\n" * old.count("\n")


def line_of(text, at):
    return text[text.rfind("\n", 0, at) + 1 : (text.find("\n", at) + 1 or len(text) + 1) - 1]


def statements(code, start, end):
    for m in CALL.finditer(code, start, end):
        kind = "keep what should be released" if RELEASE.search(m.group(1).split("(")[0]) else "drop a call"
        yield kind, m
    for m in ASSIGNMENT.finditer(code, start, end):
        # `struct x y = …` does not match, since a type stands before the name.
        yield "drop an assignment", m
    for m in STEP.finditer(code, start, end):
        yield "drop a step", m


def leaves(code, start, end):
    for m in LEAVE.finditer(code, start, end):
        word, indent = m.group(1), m.start(1) - code.rfind("\n", 0, m.start(1)) - 1
        if indent > 4:
            yield Fault("do not leave", m.start(1), m.end(1), keep_lines(word, ";"))
        if re.fullmatch(r"return (?:r|err|-COR_\w+|cor_status_set\([^;]*\));", word):
            yield Fault("swallow an error", m.start(1), m.end(1), keep_lines(word, "return 0;"))
        elif swallowed := re.fullmatch(r"return (r|err) < 0 \? \1 : (.*);", word, re.S):
            yield Fault("swallow an error", m.start(1), m.end(1), keep_lines("", f"return {swallowed.group(2)};"))


def faults_of_body(code, start, end):
    for kind, m in statements(code, start, end):
        if not LEFT_ALONE.search(m.group(1)):
            yield Fault(kind, m.start(1), m.end(1), keep_lines(m.group(1), ";"))
    yield from leaves(code, start, end)
    for m in CONDITION.finditer(code, start, end):
        last = closing(code, m.end())
        yield Fault("negate a condition", m.end(), last + 1, None)
    for m in OPERATOR.finditer(code, start, end):
        yield Fault("another operator", m.start(), m.end(), OTHER[m.group()])
    for m in CONSTANT.finditer(code, start, end):
        yield Fault("another constant", m.start(), m.end(), CONSTANTS[m.group()])


def find(source):
    """All faults that can be planted in `source`, in order."""
    code = HIDDEN.sub(blank, source)
    found = []
    for body in BODY.finditer(code):
        for fault in faults_of_body(code, body.start(1), body.end(1)):
            if LEFT_ALONE.search(line_of(code, fault.start)):
                continue
            if fault.text is None:
                fault = dataclasses.replace(fault, text=f"(!{source[fault.start:fault.end]})")
            elif "swallow" in fault.kind and "?" in source[fault.start:fault.end]:
                fault = dataclasses.replace(fault, text=swallow(source[fault.start:fault.end]))
            found.append(fault)
    return sorted(set(found), key=lambda f: (f.start, f.kind))


def swallow(statement):
    """`return r < 0 ? r : more;` without its error, strings and all."""
    return "return " + re.sub(r"^return (\w+) < 0 \? \1 : ", lambda m: "\n" * m.group().count("\n"), statement, flags=re.S)


def plant(source, fault):
    return source[: fault.start] + fault.text + source[fault.end :]
