#!/usr/bin/env python3
"""TAP: import_types.py and compile_types.py on small made-up declarations. Argument: the source root."""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
HEAD = "package k8s.io/api/apps/v1\ngroup apps\nversion v1\n"
META = "package k8s.io/apimachinery/pkg/apis/meta/v1\ngroup meta.k8s.io\nversion v1\n\ntype TypeMeta\n  1 kind string omitempty\n"
# (what, the file apps_v1.types below its head, part of the message or None when it is right)
COMPILED = [
    ("a type may refer to types of its own file and of others",
     "kind A\n  - inline meta_v1.TypeMeta\n  1 b B?\n\ntype B atomic\n  1 c []string omitempty list=set\n", None),
    ("a type that is declared nowhere is named", "type A\n  1 b B\n", "apps_v1.types:6: there is no type apps_v1.B"),
    ("a type of another file that is declared nowhere is named", "type A\n  1 b []meta_v1.B\n", "there is no type meta_v1.B"),
    ("a type is declared once", "type A\n\ntype A\n", "apps_v1.types:7: apps_v1.A is declared twice, first at apps_v1.types:5"),
    ("a number is used once", "type A\n  1 b string\n  1 c string\n", "apps_v1.types:7: number 1 is used at apps_v1.types:6, too"),
    ("a JSON name is used once", "type A\n  1 b string\n  2 b string\n", "the JSON name b is used at apps_v1.types:6, too"),
    ("the names of inlined members count", "type A\n  1 inline B\n  2 c string\n\ntype B\n  1 c string\n",
     "the JSON name c is used at"),
    ("a key is a field of the elements", "type A\n  1 b []B list=map:name\n\ntype B\n  1 c string\n", "v1.B has no field name"),
    ("a merge key is one, too", "type A\n  1 b []B patch=merge:name\n\ntype B\n  1 c string\n", "v1.B has no field name"),
    ("keys need a list of structs", "type A\n  1 b []string list=map:name\n", "keys need a list of structs"),
    ("a list of the kind map has keys", "type A\n  1 b []string list=map\n", "has keys, and no other"),
    ("only a list has a kind of list", "type A\n  1 b string list=set\n", "string is not a list"),
    ("an unknown word is named", "type A\n  1 b string omitmepty\n", "apps_v1.types:6: unknown word 'omitmepty'"),
    ("an unknown declaration is named", "tpye A\n", "apps_v1.types:5: unknown word 'tpye'"),
    ("a field belongs to a type", "  1 b string\n", "apps_v1.types:5: a field outside of a type"),
    ("a field has three words at least", "type A\n  1 b\n", "expected a number (or -), a JSON name and a type"),
    ("a default is JSON", "type A\n  1 b string default=TCP\n", "the default is not JSON"),
    ("a default may have spaces", 'type A\n  1 b string optional default="a b"\n', None),
    ("what is inlined is a struct", "type A\n  1 inline meta_v1.TypeMeta\n  2 inline B\n\nstring B\n", "cannot be inlined"),
    ("an alias has the shape of what it names", "alias L []string wrapped\n\ntype A\n  1 b L list=atomic\n", None),
]
GO = """/*
A licence. /* */
package v1

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Mode is how.
// +enum
type Mode string

const (
	// ModeA is one.
	ModeA Mode = "A"
	ModeB Mode = "B"
)

// +genclient

// Thing is a kind.
type Thing struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// '*/*' is no comment's end.
	// +listType=map
	// +listMapKey=name
	Parts []Part `json:"parts,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,2,rep,name=parts"` // why
	// +featureGate=New +optional
	Mode *Mode `json:"mode,omitempty" protobuf:"bytes,3,opt,name=mode"`
	/*
		A comment of its own.
	*/
	Port intstr.IntOrString `json:"Port" protobuf:"bytes,4,opt,name=Port"`
}

type Part struct {
	// +default="a b"
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	hidden int
}

// Unused is no kind, and no kind has it.
type Unused struct {
	A string `json:"a"`
}
"""
META_GO = """package v1

type TypeMeta struct {
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
}
type ObjectMeta struct {
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
}
type ListMeta struct{}
type LabelSelector struct{}
type Condition struct{}
type WatchEvent struct{}
"""
IMPORTED = """enum Mode A B

kind Thing
  - inline   meta_v1.TypeMeta
  1 metadata meta_v1.ObjectMeta omitempty optional go=ObjectMeta
  2 parts    []Part             omitempty list=map:name patch=merge:name
  3 mode     Mode?              omitempty optional gate=New
  4 Port     intOrString

type Part
  1 name string default="a b"
"""


def run(script, *arguments):
    command = [sys.executable, str(ROOT / "tools" / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def compile_case(text, expected):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "apps_v1.types").write_text(HEAD + "\n" + text)
        (folder / "meta_v1.types").write_text(META)
        code, said = run("compile_types.py", folder / "out.c", folder / "meta_v1.types", folder / "apps_v1.types")
        made = (folder / "out.c").exists()
    if expected is None:
        return code == 0 and made and not said, said
    return code == 1 and not made and expected in said and len(said.splitlines()) == 1, said


def checkout(folder):
    """A checkout in which every package is there, and one has a kind."""
    sys.path.insert(0, str(ROOT / "tools"))
    import import_types
    for package in import_types.PACKAGES:
        source = folder / "staging" / "src" / package
        source.mkdir(parents=True)
        text = {"k8s.io/api/apps/v1": GO, "k8s.io/apimachinery/pkg/apis/meta/v1": META_GO}.get(package, "package x\n")
        (source / "types.go").write_text(text)
        (source / "generated.pb.go").write_text("type Hidden struct {\n\tThis is not read\n}\n")


def import_case():
    """A checkout gives the same file as the facts read from it, and the check misses nothing of it."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        checkout(folder)
        out = folder / "api"
        out.mkdir()
        (out / "old_v1.types").write_text("type Old\n")
        code, said = run("import_types.py", folder, "1.99.0", out)
        if code != 0:
            return False, said
        text = (out / "apps_v1.types").read_text()
        if IMPORTED not in text or "Kubernetes 1.99.0" not in text or "Unused" in text or (out / "old_v1.types").exists():
            return False, text
        code, said = run("import_types.py", "--check", folder, out)
        if code != 0 or said:
            return False, said
        (out / "apps_v1.types").write_text(text.replace("  3 mode ", "  3 mood "))
        code, said = run("import_types.py", "--check", folder, out)
        return code == 1 and said == "apps_v1.Thing.Mode\n", said


def strange_case():
    """A layout that is not known stops the reading with its place."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        checkout(folder)
        source = folder / "staging/src/k8s.io/api/apps/v1/types.go"
        source.write_text("package v1\n\ntype A struct {\n\tB struct { C int }\n}\n")
        (folder / "api").mkdir()
        code, said = run("import_types.py", folder, "1.99.0", folder / "api")
        return code == 1 and "types.go:4: expected a field of a struct" in said, said


def facts_case():
    """Facts that refer to a type which is not there are refused."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        kind = {"name": "K", "kind": "struct", "fields": [{"go": "TypeMeta", "type": "TypeMeta", "inline": True},
                                                          {"go": "A", "type": "Gone", "json": "a"}]}
        facts = [{"path": "staging/src/k8s.io/api/apps/v1", "imports": {}, "types": [kind]}]
        facts.append({"path": "k8s.io/apimachinery/pkg/apis/meta/v1", "imports": {}, "types": [
            {"name": n, "kind": "struct"} for n in ("TypeMeta", "ListMeta", "LabelSelector", "Condition", "WatchEvent")]})
        (folder / "facts.json").write_text(json.dumps(facts))
        (folder / "api").mkdir()
        code, said = run("import_types.py", folder / "facts.json", "1.99.0", folder / "api")
        return code == 1 and "k8s.io/api/apps/v1." in said and "is declared nowhere" in said, said


def main():
    todo = [(what, compile_case, (text, expected)) for what, text, expected in COMPILED]
    todo.append(("declarations in Go become a file", import_case, ()))
    todo.append(("declarations in another layout are refused", strange_case, ()))
    todo.append(("facts that lack a type are refused", facts_case, ()))
    print(f"1..{len(todo)}")
    for number, (what, case, arguments) in enumerate(todo, 1):
        ok, said = case(*arguments)
        print(f"{'ok' if ok else 'not ok'} {number} - {what}")
        if not ok:
            print("# said: " + said.replace("\n", "\n# "))


main()
