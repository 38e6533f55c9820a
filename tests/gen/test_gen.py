#!/usr/bin/env python3
"""TAP: coracle-gen as a program: what it writes for fixed inputs, and what it says about wrong ones. Arguments: source root,
coracle-gen. The outputs are kept in tests/gen/kept; after a change on purpose run with --keep behind the arguments."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT, GEN = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
HERE = ROOT / "tests/gen"
KEPT = HERE / "kept"
CRD = "kind: CustomResourceDefinition\nspec:\n  group: example.com\n  names: {kind: Site, plural: sites}\n"
SCHEMA = "  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties: {spec: %s}\n"
OPENAPI = '{"openapi":"3.0.0","components":{"schemas":%s}}'
NAME = "a name of letters, digits, -, . and _ was expected"

# What is wrong: the flag, the input, and the message behind "coracle-gen: FILE: ".
MISTAKES = [
    ("--crd", "", "a CustomResourceDefinition was expected, but the file is empty"),
    ("--crd", "a: b: c\n", "yaml: mapping values are not allowed in this context"),
    ("--crd", "{\"kind\":}", "line 1, column 9: invalid character '}' looking for beginning of value"),
    ("--crd", "[]", "kind: a text was expected, but there is nothing"),
    ("--crd", "kind: Pod\n", 'kind: CustomResourceDefinition was expected, but it is "Pod"'),
    ("--crd", "kind: CustomResourceDefinition\n", "spec: an object was expected, but there is nothing"),
    ("--crd", "kind: CustomResourceDefinition\nspec: {group: 1}\n", "spec.group: a text was expected, but there is a number"),
    ("--crd", "kind: CustomResourceDefinition\nspec: {group: a.b, names: {kind: ''}}\n",
     "spec.names.kind: a text was expected, but it is empty"),
    ("--crd", CRD, "spec.versions: a list was expected, but there is nothing"),
    ("--crd", CRD + "  versions:\n  - name: v1\n", "spec.versions[0].schema: an object was expected, but there is nothing"),
    ("--crd", CRD + SCHEMA % "{type: strin}",
     "spec.versions[0].schema.openAPIV3Schema.properties.spec.type: array, boolean, integer, number, object or string was "
     'expected, but it is "strin"'),
    ("--crd", CRD + SCHEMA % "{type: array}",
     "spec.versions[0].schema.openAPIV3Schema.properties.spec.items: an object was expected, but there is nothing"),
    ("--crd", CRD + SCHEMA % "[]",
     "spec.versions[0].schema.openAPIV3Schema.properties.spec: a schema was expected, but there is a list"),
    ("--crd", CRD + SCHEMA % "{$ref: '#/a'}",
     'spec.versions[0].schema.openAPIV3Schema.properties.spec: a schema without $ref was expected, but it refers to "#/a"'),
    ("--crd", (CRD + SCHEMA % "{type: string}" + "---\n") * 2,
     "spec.versions[0].schema.openAPIV3Schema: a kind that the group does not have yet was expected, not Site"),
    ("--crd", CRD + SCHEMA % "{type: string}" + "---\n" + CRD.replace("example.com", "example.org") + SCHEMA % "{type: string}",
     "spec.versions[0].schema.openAPIV3Schema: another first label than that of the group example.com was expected"),
    ("--crd", CRD + SCHEMA % ("{type: array, items: " * 300 + "{type: string}" + "}" * 300), None),
    ("--openapi", OPENAPI % ('{"a.v1.S":{"properties":{"b":' + '{"type":"array","items":' * 300 + "{}" + "}" * 303),
     "..." + (".items" * 100)[-300:] + ": at most 200 nested schemas were expected"),
    ("--openapi", "{}", "openapi: a text was expected, but there is nothing"),
    ("--openapi", '{"openapi":"3.0.0","components":{}}', "components.schemas: an object was expected, but there is nothing"),
    ("--openapi", OPENAPI % '{"Site":{"properties":{}}}',
     "components.schemas.Site: a name as GROUP.VERSION.TYPE was expected"),
    ("--openapi", OPENAPI % '{"a.v1.S":{"properties":{"b":{"$ref":"#/components/schemas/a.v1.T"}}}}',
     "components.schemas.a.v1.S.properties.b: a schema of the document was expected, but there is no a.v1.T"),
    ("--openapi", OPENAPI % '{"a.v1.S":{"properties":{"b":{"$ref":"x.json"}}}}',
     'components.schemas.a.v1.S.properties.b: a reference that begins with #/components/schemas/ was expected, but it is "x.json"'),
    ("--openapi", OPENAPI % '{"a.v1.S":{"properties":{}},"b.a.v1.S":{"properties":{}}}',
     "components.schemas.b.a.v1.S: a name that differs from others in its last three words was expected"),
    # Names that would end a text or a comment of the files that are written.
    ("--crd", CRD.replace("example.com", "'a\"b'") + SCHEMA % "{type: string}", "spec.group: " + NAME),
    ("--crd", CRD.replace("kind: Site", "kind: S*/") + SCHEMA % "{type: string}", "spec.names.kind: " + NAME),
    ("--crd", CRD.replace("plural: sites", "plural: 's\"'") + SCHEMA % "{type: string}", "spec.names.plural: " + NAME),
    ("--crd", CRD + (SCHEMA % "{type: string}").replace("name: v1", "name: 'v1*/'"), "spec.versions[0].name: " + NAME),
    ("--crd", CRD.replace("plural: sites", "plural: sites, listKind: 'L*/'") + SCHEMA % "{type: string}", "spec.names.listKind: " + NAME),
    ("--crd", CRD.replace("plural: sites", "plural: sites, listKind: Site") + SCHEMA % "{type: string}",
     "spec.versions[0].schema.openAPIV3Schema: a listKind that the group does not have yet was expected, not Site"),
    ("--crd", CRD.replace("kind: Site", "kind: Way") + SCHEMA % "{type: string}" + "---\n" +
     CRD.replace("plural: sites", "plural: sites, listKind: WayList") + SCHEMA % "{type: string}",
     "spec.versions[0].schema.openAPIV3Schema: a listKind that the group does not have yet was expected, not WayList"),
    ("--crd", CRD.replace("example.com", "1a.com") + SCHEMA % "{type: string}",
     "spec.versions[0].schema.openAPIV3Schema: a group that begins with a letter was expected, or a --prefix that does"),
    ("--openapi", OPENAPI % '{"a.v1.S*/":{"properties":{}}}', "components.schemas.a.v1.S*/: a name as GROUP.VERSION.TYPE was expected"),
    ("--openapi", OPENAPI % ('{"a.v1.S":{"properties":{},"x-kubernetes-group-version-kind":'
                             '[{"group":"a*/","version":"v1","kind":"S"}]}}'),
     "components.schemas.a.v1.S.x-kubernetes-group-version-kind: " + NAME),
]


def gen(*args, text=None):
    done = subprocess.run([str(GEN), *map(str, args)], input=text, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def make(folder):
    for flags in (["--crd", f"{HERE / 'website.yaml'},{HERE / 'styles.yaml'}"], ["--openapi", HERE / "openapi.json", "--prefix", "fleet_"]):
        code, _, said = gen(*flags, "--structs", "all", *(["--convert", "fleet_v1alpha1.Boat=fleet_v1.Boat:spec.home=spec.port"] if "--crd" in flags else []),
                            "--out", folder)
        assert code == 0 and said == "", said
    return {path.name: path.read_text() for path in pathlib.Path(folder).iterdir()}


def writes_what_is_kept():
    """Contract controllers 5.1.2, 9.4: the output is a function of the input, and a change of it a diff."""
    with tempfile.TemporaryDirectory() as folder:
        made = make(folder)
    if "--keep" in sys.argv:
        for name, text in made.items():
            (KEPT / f"{name}.txt").write_text(text)
    kept = {path.stem: path.read_text() for path in KEPT.iterdir()}
    assert sorted(made) == sorted(kept), sorted(made)
    for name, text in made.items():
        assert text == kept[name], f"{name} is not what is kept; if it may change, run test_gen.py with --keep"


def makes_its_folder():
    with tempfile.TemporaryDirectory() as folder:
        deep = pathlib.Path(folder, "a", "b")
        code, _, said = gen("--crd", HERE / "website.yaml", "-o", deep)
        assert code == 0 and list(deep.glob("*.h")), said


def leaves_files_alone_that_do_not_change():
    with tempfile.TemporaryDirectory() as folder:
        make(folder)
        before = {path: path.stat().st_ino for path in pathlib.Path(folder).iterdir()}
        make(folder)
        assert before == {path: path.stat().st_ino for path in pathlib.Path(folder).iterdir()}


def reads_the_standard_input_and_lists():
    code, said, _ = gen("--crd", "-", "--list", text=(HERE / "website.yaml").read_text())
    assert (code, said) == (0, "example_v1 Website WebsiteList\n"), said
    _, said, _ = gen("--list")
    assert "\napps_v1 ControllerRevision" in said and "\ntypes" not in said, said


def lets_no_text_of_the_input_become_code():
    names = "'x*/ y': {type: string, enum: ['*/ z', '\"', a]}, '*/': {type: object, description: '*/ d', properties: {'/*\"': {type: array, items: " \
            "{type: string, enum: [b]}}}}, '\\': {type: object, additionalProperties: {type: object, properties: {'*/': {type: string, enum: [c]}}}}"
    with tempfile.TemporaryDirectory() as folder:
        code, _, said = gen("--crd", "-", "--structs", "all", "--out", folder, text=CRD + SCHEMA % ("{type: object, properties: {%s}}" % names))
        assert code == 0, said
        for path in pathlib.Path(folder).iterdir():
            rest = re.sub(r'"(?:\\.|[^"\\])*"|/\*.*?\*/', "", path.read_text(), flags=re.DOTALL)
            assert not re.search(r'\*/|/\*|"', rest), f"{path.name}: {rest}"


def names_structs_apart():
    """Members whose names end as those of structs that are made of a type, and values whose constants would be one."""
    names = ["own", "ownList", "own_map", "array", "map", "object", "items", "informer", "x" * 300]
    inner = "{type: object, properties: {%s}}" % ", ".join(f"{name}: {{type: object, properties: {{a: {{type: string}}}}}}" for name in names)
    texts = "{type: object, properties: {mode: {type: string, enum: [set-a, set.a, b]}, modeSet: {type: string, enum: [a]}}}"
    spec = "{type: array, items: %s}, list: %s, object: %s, own: %s, texts: %s" % (inner, inner, inner, inner, texts)
    with tempfile.TemporaryDirectory() as folder:
        code, _, said = gen("--crd", "-", "--structs", "all", "--out", folder, text=CRD + SCHEMA % spec)
        assert code == 0, said
        text = "".join(path.read_text() for path in sorted(pathlib.Path(folder).glob("*.h")))
        made = re.findall(r"^(?:struct|#define) (\w+) [{\"]", text, flags=re.MULTILINE)
        assert len(made) == len(set(made)), sorted(name for name in set(made) if made.count(name) > 1)


def compares_types_that_hold_themselves():
    """The ways through a type with twelve lists of itself are too many to go."""
    schemas = {}
    for version, only in (("v1", "x"), ("v2", "y")):
        ref = {"$ref": f"#/components/schemas/a.{version}.S"}
        members = {f"f{i}": {"type": "array", "items": ref} for i in range(12)}
        schemas[f"a.{version}.S"] = {"properties": {**members, only: {"type": "string"}}}
        schemas[f"a.{version}.K"] = {"properties": {"spec": ref}, "x-kubernetes-group-version-kind": [{"group": "a", "version": version, "kind": "K"}]}
    with tempfile.TemporaryDirectory() as folder:
        code, _, said = gen("--openapi", "-", "--structs", "all", "--convert", "a_v1.K=a_v2.K", "--out", folder, text=OPENAPI % json.dumps(schemas))
        assert code == 0, said
        header = (pathlib.Path(folder) / "a_v1_k_conversion.h").read_text()
    assert " *   spec.x: not in the other one\n" in header and header.count("not in the other one") == 2, header


def names_the_file_the_path_and_what_was_expected():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "input"
        for flag, text, want in MISTAKES:
            file.write_text(text)
            code, _, said = gen(flag, file, "--out", folder)
            assert code == 1, f"{text} was accepted"
            assert said.startswith(f"coracle-gen: {file}: "), said
            got = said[len(f"coracle-gen: {file}: "):].rstrip("\n")
            assert want is None or got == want, f"{text!r}: {got}"
            assert [path.name for path in pathlib.Path(folder).iterdir()] == ["input"], "something was written"


def refuses_names_that_are_too_long():
    """The name of a member becomes a part of symbols."""
    with tempfile.TemporaryDirectory() as folder:
        code, _, said = gen("--openapi", "-", "--out", folder, text=OPENAPI % ('{"a.v1.S":{"properties":{"%s":{"type":"string"}}}}' % ("x" * 2000)))
    assert (code, said) == (1, "coracle-gen: too large\n"), said


def refuses_wrong_words():
    for args, code, words in ((["--convert", "core_v1.Event=Pods"], 1,
                               '--convert: two kinds as PACKAGE.KIND=PACKAGE.KIND were expected, but it is "core_v1.Event=Pods"'),
                              (["--convert", "core_v1.Event=events_v2.Event"], 1,
                               "--convert: the input has no kind events_v2.Event; --list prints those of it"),
                              (["--convert", "core_v1.Events=events_v1.Event"], 1,
                               "--convert: the input has no kind core_v1.Events; --list prints those of it"),
                              (["--convert", "core_v1.Event=events_v1.Event:count=metadata.name"], 1,
                               '--convert: two members of one struct were expected, but it is "count=metadata.name": convert it in'),
                              (["--convert", "core_v1.Event=events_v1.Event:count=counted"], 1,
                               '--convert: a member of the first kind and one of the second were expected, but it is "count=counted"'),
                              (["--convert", "core_v1.Event=events_v1.Event:count=note"], 1,
                               '--convert: two members of the same shape were expected, but it is "count=note"'),
                              (["--structs", "Pods"], 1, '--structs: a kind of the input was expected, but it is "Pods"'),
                              (["--structs", "Pod,Event"], 1, '--structs: a kind as PACKAGE.KIND was expected, but it is "Event"'),
                              (["nothing_v1"], 1, "the input has no package nothing_v1"),
                              (["--crd", "a", "--openapi", "b"], 2, "one of --crd, --openapi and --from-server"),
                              (["--crd", "/nonexistent"], 1, "/nonexistent: cannot be read: No such file or directory"),
                              (["--crd", HERE / "website.yaml", "--out", "/proc/nonexistent"], 1, "the folder /proc/nonexistent cannot be made"),
                              (["--crd", HERE / "website.yaml", "--out", ""], 2, '--out: a folder was expected, but it is ""'),
                              (["--outt", "x"], 2, "--out")):
        got, _, said = gen(*args)
        assert got == code and words in said, f"{args}: {got} {said}"


CASES = [writes_what_is_kept, makes_its_folder, leaves_files_alone_that_do_not_change, reads_the_standard_input_and_lists,
         lets_no_text_of_the_input_become_code, names_structs_apart, compares_types_that_hold_themselves, names_the_file_the_path_and_what_was_expected, refuses_names_that_are_too_long, refuses_wrong_words]


def main():
    print(f"1..{len(CASES)}")
    failed = 0
    for number, case in enumerate(CASES, 1):
        what = case.__name__.replace("_", " ")
        try:
            case()
            print(f"ok {number} - {what}")
        except AssertionError as error:
            failed += 1
            print(f"not ok {number} - {what}")
            print("# " + str(error).replace("\n", "\n# "))
    return 1 if failed else 0


sys.exit(main())
