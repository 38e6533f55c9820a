#!/usr/bin/env python3
"""TAP: the case files are read as their format says, a case whose answer differs does not pass, and generated invalid objects are what
they should be. Argument: the source root."""

import pathlib
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tests/cases"))

import case_file  # noqa: E402
import run_cases  # noqa: E402
import invalid  # noqa: E402  (run_cases has added its folder to the path)

KINDS = ["v1 Pod", "v1 Event", "events.k8s.io/v1 Event"]
BASE = {"spec": {"c": [{"n": "x"}], "m": {"a": "b"}}}
# (changes, the object that they make of BASE["spec"])
CHANGES = [
    ("spec.r=-1", {**BASE["spec"], "r": -1}),
    ("spec.t=NodePort spec.ip=10.0.0.9", {**BASE["spec"], "t": "NodePort", "ip": "10.0.0.9"}),
    ("-spec.m", {"c": [{"n": "x"}]}),
    ("-spec.m[a]", {"c": [{"n": "x"}], "m": {}}),
    ("C.n=\"\" spec.c[1].n=y", {"c": [{"n": ""}, {"n": "y"}], "m": {"a": "b"}}),
    ("spec.c+={\"n\":\"a = b | c\"} spec.m[a/b.c]=1", {"c": [{"n": "x"}, {"n": "a = b | c"}], "m": {"a": "b", "a/b.c": 1}}),
    ("spec.c=[{\"n\":\"n%d\"}]*2 spec.m={\"k%d\":\"\"}*2 spec.l=\"ab\"*2", {"c": [{"n": "n0"}, {"n": "n1"}], "m": {"k0": "", "k1": ""}, "l": "abab"}),
]
# (lines, what the file is refused with)
MISTAKES = [
    ("5.1.1 a=1\n", "x.cases:1: a case stands before"),
    ("contract validation\n[Pot]\n", "x.cases:2: Pot is no kind"),
    ("contract validation\n[Event]\n", "x.cases:2: Event is in v1 Event and events.k8s.io/v1 Event"),
    ("contract validation\n[Pod]\nspec.a=1\n", "x.cases:3: spec.a=1 is no case"),
    ("contract validation\n[Pod]\n5.1.1 spec.a\n", "x.cases:3: spec.a is no change"),
]
INVALID = {"code": 422, "reason": "Invalid", "message": 'Pod "one" is invalid: [a: Required value, b: Forbidden: x\nlong]',
           "details": {"name": "one", "kind": "Pod", "causes": [
               {"reason": "FieldValueRequired", "message": "Required value", "field": "a"},
               {"reason": "FieldValueForbidden", "message": "Forbidden: x\nlong", "field": "b"},
               {"reason": "FieldValueRequired", "message": "Required value", "field": "a"}]}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}}
LINES = ["422", "- a: Required value", "- b: Forbidden: x\\n", "- a: Required value"]
# (expected lines, verb of a request that is answered with INVALID, whether they are equal)
COMPARISONS = [
    (LINES, "create", True),
    ([LINES[0], LINES[2], LINES[1], LINES[3]], "create", True),
    (LINES[:3], "create", False),
    (LINES, "update", True),
    (LINES[:3], "update", True),
    (LINES[:2], "update", False),
    (["422 Invalid: else", *LINES[1:]], "update", False),
    ([*LINES, "warning a"], "create", False),
    ([], "create", False),
]


def read(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.cases"
        path.write_text(text)
        found = case_file.CaseFile(path, KINDS)
        found.write()
        return found, path.read_text()


def refusal(text):
    try:
        read(text)
    except case_file.Mistake as mistake:
        return str(mistake)
    return ""


def checks():
    for changes, wanted in CHANGES:
        found, _ = read(f"contract validation\nlet C spec.c[0]\n[Pod]\n5.1.1 {changes}\n")
        yield f"changes: {changes}", case_file.changed(BASE, found.cases[0].steps[0].changes)["spec"] == wanted
    for text, wanted in MISTAKES:
        yield f"refused: {wanted}", wanted in refusal(text)
    text = ("contract validation\n# Why.\n[Pod] spec.a=1\npending 5.1.1, types 4.2 create?dryRun=All | status status.x=1\n"
            "    | patch Pod {\"a\": null}\n  200\n  a = 1\n\n[v1 Event]\n1.1.1 get /api\n")
    found, written = read(text)
    first, second = found.cases
    yield "a file is written as it was read", written == text
    yield "citations name their contract", first.citations == [("validation", "5.1.1"), ("types", "4.2")] and first.is_pending
    yield "steps have verbs, subresources, queries and kinds", [(s.verb, s.sub, s.query, s.kind) for s in first.steps] == [
        ("create", "", "?dryRun=All", "v1 Pod"), ("update", "/status", "", "v1 Pod"), ("patch", "", "", "v1 Pod")]
    yield "bodies, paths and expectations are read", first.steps[2].body == {"a": None} and second.steps[0].path == "/api" \
        and first.expected == ["200", "a = 1"]
    step = read("contract crd\n[Pod]\nA1 as joe typed \"a/b ;c\" accept a/d create \"x: 1\\n\"\n")[0].cases[0].steps[0]
    yield "a step has headers and raw text", step.headers == {"Impersonate-User": "joe", "Content-Type": "a/b ;c", "Accept": "a/d"} \
        and step.body == "x: 1\n"
    yield "a message that follows from the causes is left out", run_cases.describe(INVALID, POD, []) == LINES
    yield "another message is written", run_cases.describe({**INVALID, "message": "else"}, POD, [])[0] == "422 Invalid: else"
    yield "another reason is written", run_cases.describe(
        {**INVALID, "details": {"name": "one", "kind": "Pod", "causes": [{"reason": "X", "message": "y", "field": "z"}]}}, POD, [])[1] == "- (X) z: y"
    yield "another kind is named", run_cases.describe(INVALID, {**POD, "kind": "Scale"}, [])[0] == 'of Pod "one"'
    yield "members are looked up", run_cases.describe({"code": 200, "object": {"a": [1]}, "warnings": ["w"]}, POD, ["? a[0]", "b = 1"]) == [
        "200", "a[0] = 1", "b absent", "warning w"]
    named = {"kind": "Status", "details": {"name": "a-x7"}, "message": 'Pod "a-x7"'}
    yield "a generated name is masked", run_cases.without_generated(named, {"metadata": {"generateName": "a-"}}) == {
        "kind": "Status", "details": {"name": "a-*"}, "message": 'Pod "a-*"'}
    yield "texts of shared validators are abbreviated", all(
        case_file.shortened(f'Invalid value: "x": {text}') == f'Invalid value: "x": <{name}>' for name, text in case_file.TEXTS.items())
    for expected, verb, is_equal in COMPARISONS:
        case, step = case_file.Case("x", "v1 Pod", []), case_file.Step()
        step.verb, case.steps, case.expected = verb, [step], expected
        lines = run_cases.describe(INVALID, POD, expected, not run_cases.keeps_set(case))
        yield f"{verb} with {expected}", (not run_cases.difference(case, lines)) == is_equal


class Shape:
    """As much of a type as invalid.py looks at."""

    def __init__(self, shape, element=None, values=()):
        self.shape, self.element, self.values = shape, element, values


def invalid_checks():
    text = Shape("STRING")
    yield "a string becomes empty, odd and long", set(invalid.bad_values(text, "a")) == {"empty", "odd", "long"}
    yield "a word of an enum is not made long", set(invalid.bad_values(Shape("STRING", values=["A"]), "A")) == {"empty", "odd"}
    yield "a list is emptied and gets an element twice", invalid.bad_values(Shape("LIST", text), ["a", "b"]) == {
        "empty": [], "repeated": ["a", "b", "a"]}
    yield "a map gets an odd key and an odd value", set(invalid.bad_values(Shape("MAP", text), {"k": "v"})) == {"empty", "odd", "value"}
    body = {"spec": {"c": [{"n": "x"}], "r": 1}}
    yield "a member is changed in a copy", invalid.with_value(body, ["spec", "c", 0, "n"], "") == {"spec": {"c": [{"n": ""}], "r": 1}} \
        and invalid.with_value(body, ["spec", "r"], invalid.NONE) == {"spec": {"c": [{"n": "x"}]}} and body["spec"]["r"] == 1
    yield "a path is written as causes have it", invalid.text_of(["spec", "c", 0, "m", "a/b"]) == "spec.c[0].m[a/b]"
    result, digest = invalid.result_of(422, INVALID, "a")
    yield "causes are a set of reasons and fields", result == "Fb,R" and len(digest) == 4
    yield "other answers are their code", invalid.result_of(201, {}, "") == ("ok", "") and invalid.result_of(400, {}, "") == ("400", "")
    tally = invalid.Tally()
    for ours, theirs in ((("R", "1"), ("R", "1")), (("R", "1"), ("R", "2")), (("ok", ""), ("R", "1"))):
        tally.add(None, ours, theirs, None)
    yield "what differs is counted, messages apart", (tally.total, tally.answers, tally.messages) == (3, 1, 1)


def main():
    failed, number = 0, 0
    for number, (what, is_right) in enumerate([*checks(), *invalid_checks()], 1):
        failed |= not is_right
        print(f"{'ok' if is_right else 'not ok'} {number} - {what.replace('#', '')}")
    print(f"1..{number}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
