#!/usr/bin/env python3
"""TAP: import_types.py, compile_types.py and compile_rules.py on small made-up declarations. Argument: the source root."""

import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "tools"))
import compile_types as compiler  # noqa: E402
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
OVERLAID = """enum Mode A B

kind Thing
  - inline meta_v1.TypeMeta
  1 spec   Spec

type Spec
  1 mode   Mode omitempty
  2 count  int32? omitempty
  3 more   More? omitempty
  4 labels map[string]string omitempty
  5 list   []More omitempty
  6 port   intOrString
  7 number int32
  8 when   time
  9 inline Inner

type More
  1 on bool? omitempty
  2 labels map[string]string omitempty

type Inner
  1 named string omitempty default="x"

type Loop
  1 loop Loop?
  2 name string
"""
# (what, the file apps_v1.rules, part of the message or None when it is right)
RULES = [
    ("defaults have conditions and sources",
     "# A comment.\nThing\n  default spec.mode = A when spec.count is set and spec.mode is A or B\n  hook spec known when spec.more is unset\n"
     "Spec\n  default labels = {\"b\":\"1\", \"a\":\"2\"}\n  default port from number\n  clear more when mode is B\n  mirror labels from more.labels\n  default port = 25%\n"
     "More\n  default on = true\n", None),
    ("a field that is missing is named", "Thing\n  default spec.mood = A\n", "apps_v1.rules:2: v1.Spec has no field mood"),
    ("a field below a scalar is missing", "Thing\n  default spec.mode.x = A\n", "v1.Mode has no fields, so no x"),
    ("a path does not enter lists", "Thing\n  default spec.list.on = true\n", "[]v1.More has no fields, so no on"),
    ("a type that is missing is named", "Thong\n  default a = 1\n", "apps_v1.rules:1: there is no struct apps_v1.Thong"),
    ("an enum has no rules", "Mode\n  default a = 1\n", "there is no struct apps_v1.Mode"),
    ("a value has the field's type", "Spec\n  default count = one\n", 'apps_v1.rules:2: "one" is not a int32'),
    ("a number has the field's size", "Spec\n  default count = 2147483648\n", "2147483648 is not a int32"),
    ("a boolean is no number", "More\n  default on = 1\n", "1 is not a bool"),
    ("a number is no boolean", "Spec\n  default count = true\n", "true is not a int32"),
    ("a value of an enum is one of its values", "Spec\n  default mode = C\n", "apps_v1.rules:2: v1.Mode has no value C"),
    ("values below are checked, too", "Spec\n  default list = [{\"off\":true}]\n", "v1.More has no field off"),
    ("a time has no default", "Spec\n  default when = x\n", "a v1.Time cannot have a default here"),
    ("a condition's field is there", "Spec\n  default count = 1 when mood is A\n", "v1.Spec has no field mood"),
    ("a condition's value is checked", "Spec\n  default count = 1 when mode is C\n", "v1.Mode has no value C"),
    ("a condition has a form", "Spec\n  default count = 1 when mode\n", "expected 'FIELD is VALUE'"),
    ("a source has the field's type", "Spec\n  default labels from mode\n", "v1.Mode is not a map[string]string"),
    ("a source has no defaults of its own", "Spec\n  default labels from more.labels\n  default list from list\nMore\n  default on = true\n",
     "apps_v1.rules:3: list is copied from a value with defaults of its own"),
    ("a hook is known to C", "Spec\n  hook . unknown\n", "apps_v1.rules:2: there is no hook unknown"),
    ("only a pointer is cleared", "Spec\n  clear labels\n", "apps_v1.rules:2: labels is not a pointer"),
    ("a default has a value", "Spec\n  default count\n", "expected '= VALUE' or 'from FIELD'"),
    ("a default is for a field", "Spec\n  default . = 1\n", "1 is not a v1.Spec"),
    ("a rule belongs to a type", "  default a = 1\n", "apps_v1.rules:1: a rule outside of a type"),
    ("an unknown rule is refused", "Spec\n  defualt count = 1\n", "expected default, late, mirror, clear or hook"),
    ("a mirror has a source", "Spec\n  mirror count = 1\n", "expected '= VALUE' or 'from FIELD'"),
    ("only a kind has late defaults", "Spec\n  late count = 1\n", "only a kind has late defaults, and v1.Spec is none"),
    ("the rules of a type are in one place", "Spec\n  default count = 1\nMore\n  default on = true\nSpec\n  default number = 1\n",
     "apps_v1.rules:5: the rules of Spec begin at apps_v1.rules:2"),
    ("a type that holds itself has no defaults", "Loop\n  default name = x\n", "a type that holds itself cannot have defaults"),
]
# (what, the overlay's name, its text, part of the message or None when it is right)
WORDS = [
    ("words are about types and fields", "apps_v1.words", "Spec What is wanted.\n  mode How it works,\n    \"or not\".\nThing A thing.\n", None),
    ("words are about a type that is there", "apps_v1.words", "Nothing A text.\n", "apps_v1.words:1: there is no struct apps_v1.Nothing"),
    ("words are about a field that is there", "apps_v1.words", "Spec A text.\n  nothing A text.\n", "apps_v1.words:2: there is no field nothing"),
    ("words have a text", "apps_v1.words", "Spec\n", "apps_v1.words:1: Spec has no text"),
    ("words are given once", "apps_v1.words", "Spec A text.\nSpec Another.\n", "apps_v1.words:2: Spec has a text already"),
    ("words may be those of another type", "apps_v1.words", "More A text.\n  on How it works, \"or not\".\nInner like More\nThing A thing.\n", None),
    ("patterns give words to what has none", "common.words", "*hing A thing.\n*\n  mode How it works, \"or not\".\n", None),
    ("a field's words come after a type", "apps_v1.words", "  mode A text.\n", "apps_v1.words:1: a field outside of a type"),
    ("a text begins before it continues", "apps_v1.words", "    more\n", "apps_v1.words:1: there is no text to continue"),
    ("facts are about types and fields", "openapi.facts", "apps_v1.Spec.mode plain\napps_v1.Thing kinds v1 a/v1\n"
     "apps_v1.Spec extension x-a {\"b\":1}\n", None),
    ("a fact is about something that is there", "openapi.facts", "apps_v1.Spec.nothing plain\n",
     "openapi.facts:1: there is no apps_v1.Spec.nothing"),
    ("an unknown fact is refused", "openapi.facts", "apps_v1.Spec.mode plane\n", "openapi.facts:1: expected required, plain"),
    ("a fact has a text when its word needs one", "openapi.facts", "apps_v1.Thing kinds\n", "the last two with a text"),
    ("an extension is JSON", "openapi.facts", "apps_v1.Spec extension x-a b\n", "the extension is not JSON"),
]
# (what, the file all.gates, part of the message or None when it is right)
GATES = [
    ("gates drop the fields that name them, and others", "# A comment.\noff New Old\ndrop apps_v1.Spec.count New known\nkeep apps_v1.More.labels\n", None),
    ("a gate without fields is named", "off None\n", "all.gates:1: no field has the gate None"),
    ("a gated field that is missing is named", "drop apps_v1.Spec.nothing New\n", "apps_v1.Spec has no field nothing"),
    ("a gated type that is missing is named", "drop apps_v1.Nothing.count New\n", "there is no type apps_v1.Nothing"),
    ("a hook of a gate is known to C", "drop apps_v1.Spec.count New other\n", "there is no hook other"),
    ("a field by value is not dropped", "drop apps_v1.Spec.number New\n", "number is no pointer, list or map"),
    ("only what is dropped is kept", "keep apps_v1.Spec.count\n", "apps_v1.Spec.count is not dropped"),
    ("an unknown word of gates is refused", "on New\n", "expected 'off GATE...'"),
]
# (what, the file all.conversions, part of the message or None when it is right)
CONVERSIONS = [
    ("two kinds are converted", "# A comment.\nconvert apps_v1.Old = apps_v1.New\n  renamed spec.number = spec.count\n  by-hand spec.mode\n"
     "  by-hand = spec.mode spec.list\n  settles\n", None),
    ("a difference is declared", "convert apps_v1.Old = apps_v1.New\n  renamed spec.number = spec.count\n  by-hand = spec.list spec.mode\n",
     "all.conversions:1: apps_v1.Old has spec.mode, which the other one has not: declare it renamed or by-hand"),
    ("a difference of the second kind is declared", "convert apps_v1.Old = apps_v1.New\n  renamed spec.number = spec.count\n  by-hand spec.mode\n"
     "  by-hand = spec.mode\n", "all.conversions:1: apps_v1.New has spec.list"),
    ("what does not differ is not declared", "convert apps_v1.Old = apps_v1.New\n  renamed spec.number = spec.count\n  by-hand spec.mode spec.same\n"
     "  by-hand = spec.list spec.mode\n", "all.conversions:1: spec.same of apps_v1.Old does not differ"),
    ("a renamed member exists", "convert apps_v1.Old = apps_v1.New\n  renamed spec.none = spec.count\n", "apps_v1.Old has no member spec.none"),
    ("renamed members are in one struct", "convert apps_v1.Old = apps_v1.New\n  renamed spec.number = kind\n", "are not in the same struct"),
    ("renamed members are of one shape", "convert apps_v1.Old = apps_v1.New\n  renamed spec.number = spec.list\n", "are of different shapes"),
    ("the kinds exist", "convert apps_v1.Old = apps_v1.Newer\n", "all.conversions:1: there is no kind apps_v1.Newer"),
    ("a conversion begins with its kinds", "settles\n", 'all.conversions:1: "convert KIND = KIND" was expected'),
    ("an unknown word of conversions is refused", "convert apps_v1.Old = apps_v1.New\n  moved a = b\n", 'all.conversions:2: "renamed A = B"'),
]
CONVERTED = """kind Old
  - inline meta_v1.TypeMeta
  1 spec OldSpec

type OldSpec
  1 same   string
  2 number int32
  3 mode   string

kind New
  - inline meta_v1.TypeMeta
  1 spec NewSpec

type NewSpec
  1 same  string
  2 count int32
  3 mode  bool
  4 list  []string
"""
# (what, the file all.strategies below its package, part of the message or None when it is right)
STRATEGIES = [
    ("a strategy resets, sets, keeps, counts and calls hooks",
     "# A comment.\nThing\n  generation 1 of spec metadata.labels as sent\n  names plain\n  on create\n    reset spec\n    hook metadata.labels known\n"
     "  on update\n    keep spec metadata metadata.labels\n    set spec = {\"number\":1}\n", None),
    ("a kind that is missing is named", "Thong\n", "all.strategies:2: there is no kind apps_v1.Thong"),
    ("only a kind has a strategy", "Spec\n", "there is no kind apps_v1.Spec"),
    ("a kind has one strategy", "Thing\nThing\n", "all.strategies:3: the strategy of Thing is at all.strategies:2"),
    ("a member that is missing is named", "Thing\n  on update\n    keep status\n", "v1.Thing has no field status"),
    ("a member of the metadata that is missing is named", "Thing\n  on update\n    keep metadata.name\n", "v1.ObjectMeta has no field name"),
    ("a path ends in the object or its metadata", "Thing\n  on update\n    keep spec.mode\n", "spec.mode is neither a member of the object"),
    ("a member that counts is there", "Thing\n  generation 1 of status\n", "v1.Thing has no field status"),
    ("a generation begins at 0 or 1", "Thing\n  generation 2 of spec\n", "expected 'generation 0|1 of FIELD... [as sent|exactly]'"),
    ("an endpoint is known", "Thing\n  on delete\n", "there is no endpoint delete"),
    ("a step is for an endpoint", "Thing\n  keep spec\n", "keep stands outside of an 'on'"),
    ("a create has nothing to keep", "Thing\n  on create\n    keep spec\n", "has nothing to keep"),
    ("a hook is known to C", "Thing\n  on create\n    hook spec other\n", "C has no hook other"),
    ("an endpoint has few hooks", "Thing\n  on create\n" + "    hook spec known\n" * 5, "all.strategies:8: more than 4 hooks on create"),
    ("a value is checked", "Thing\n  on create\n    set spec = {\"count\":\"x\"}\n", "is not a int32"),
    ("a set has a form", "Thing\n  on create\n    set spec\n", "expected 'set FIELD = VALUE'"),
    ("an unknown step is refused", "Thing\n  on create\n    forget spec\n", "expected keep, mask, reset, set or hook, not forget"),
    ("a line belongs to a kind", "  on create\n", "a line outside of a kind"),
]
# (what, the file all.columns below its package and the columns of others, part of the message or None when it is right)
COLUMNS = [
    ("columns have paths, templates, hooks and words of their own",
     "# A comment.\nThing\n  Name = name\n  Mode:integer * = text spec.mode or <none>\n    How it\n    works.\n"
     "  Both = print {spec.number}/{spec.mode} when spec.more or <unset>\n    Both.\n  - = age\n  Known = hook known\n    A hook.\n", None),
    ("a kind with columns is there", "Thong\n", "all.columns:5: there is no kind apps_v1.Thong"),
    ("a kind has its columns once", "Thing\nThing\n", "all.columns:6: the columns of Thing are at all.columns:5"),
    ("a column belongs to a kind", "  Name = name\n", "all.columns:5: a line outside of a kind"),
    ("a column has a form", "Thing\n  Name name\n", "all.columns:6: expected 'COLUMN[:TYPE][ *] = CELL'"),
    ("a type of columns is known", "Thing\n  Name:text = name\n", "there is no type text"),
    ("a cell is known", "Thing\n  Name = what spec.mode\n", "there is no cell what"),
    ("a cell's member is there", "Thing\n  Mode = text spec.mood\n", "v1.Spec has no field mood"),
    ("a cell can show its member", "Thing\n  Mode = number spec.mode\n", "spec.mode is a string, which a cell 'number' cannot show"),
    ("a path of a cell is one", "Thing\n  Mode = text spec/mode\n", "spec/mode is not a path"),
    ("a cell has one path", "Thing\n  Mode = text spec.mode spec.number\n", "expected a path behind text"),
    ("a name has no path", "Thing\n  Name = name spec.mode\n", "expected nothing behind name"),
    ("a hook of cells is known to C", "Thing\n  Mode = hook other\n", "C has no hook other"),
    ("a hook of conditions is known to C", "Thing\n  conditions hook other\n", "C has no hook other"),
    ("a column has a description", "Thing\n  Mode = text spec.mode\n", "all.columns:6: Mode has no description, and neither has its field"),
    ("a description has a column", "Thing\n    Words.\n", "all.columns:6: there is no column to describe"),
    ("rows are sorted by a number", "Thing\n  order by spec.mode\n", "spec.mode is a string, which a cell 'number' cannot show"),
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
	ModeC = Mode("C")
	ModeD = Mode(metav1.Fourth)
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

const Fourth Name = "D"

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
IMPORTED = """enum Mode A B C D

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


def compile_types(*arguments):
    """In this process: a start of Python for each case would take longer than the case."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        code = compiler.main([str(a) for a in arguments])
    return code, said.getvalue()


def compile_case(text, expected):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "apps_v1.types").write_text(HEAD + "\n" + text)
        (folder / "meta_v1.types").write_text(META)
        code, said = compile_types(folder / "out.c", folder / "meta_v1.types", folder / "apps_v1.types")
        made = (folder / "out.c").exists()
    if expected is None:
        return code == 0 and made and not said, said
    return code == 1 and not made and expected in said and len(said.splitlines()) == 1, said


def rules_case(text, expected):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "apps_v1.types").write_text(HEAD + "\n" + OVERLAID)
        (folder / "meta_v1.types").write_text(META)
        (folder / "apps_v1.rules").write_text(text)
        (folder / "hooks.h").write_text("#define HOOKS(X) X(known)\n")
        code, said = compile_types(folder / "out.c", *sorted(folder.iterdir()))
        made = (folder / "out.c").read_text() if (folder / "out.c").exists() else ""
    if expected is None:
        # The default of an inlined declaration counts, and values are canonical.
        wanted = ['{\\"a\\":\\"2\\",\\"b\\":\\"1\\"}', '\\"25%\\"', "COR_DEFAULT_HOOK_known", '\\"x\\"']
        return code == 0 and not said and all(w in made for w in wanted), said + made
    return code == 1 and not made and expected in said and len(said.splitlines()) == 1, said


def words_case(name, text, expected):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "apps_v1.types").write_text(HEAD + "\n" + OVERLAID)
        (folder / "meta_v1.types").write_text(META)
        (folder / name).write_text(text)
        code, said = compile_types(folder / "out.c", *sorted(folder.iterdir()))
        made = (folder / "out.c").read_text() if (folder / "out.c").exists() else ""
    if expected is None:
        wanted = ["How it works, \\\"or not\\\".", "A thing."] if name.endswith("words") else [
            "COR_FACT_OF_FIELD, COR_FACT_PLAIN", '{\\"b\\":1}', "COR_FACT_OF_TYPE, COR_FACT_KINDS"]
        return code == 0 and not said and all(w in made for w in wanted), said + made
    return code == 1 and not made and expected in said and len(said.splitlines()) == 1, said


def gates_case(text, expected):
    gated = OVERLAID.replace("  1 on bool? omitempty\n  2 labels map[string]string omitempty",
                             "  1 on bool? omitempty gate=New\n  2 labels map[string]string omitempty gate=Old")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "apps_v1.types").write_text(HEAD + "\n" + gated)
        (folder / "meta_v1.types").write_text(META)
        (folder / "all.gates").write_text(text)
        (folder / "gates.h").write_text("#define HOOKS(X) X(none) X(known)\n")
        code, said = compile_types(folder / "out.c", *sorted(folder.iterdir()))
        made = (folder / "out.c").read_text() if (folder / "out.c").exists() else ""
    if expected is None:
        wanted = ["COR_GATE_HOOK_known", "COR_GATE_HOOK_none", "COR_GATED_HERE", "COR_GATED_BELOW", "cor_gated_fields_n = 2;"]
        return code == 0 and not said and all(w in made for w in wanted), said + made
    return code == 1 and not made and expected in said and len(said.splitlines()) == 1, said


def conversions_case(text, expected):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "apps_v1.types").write_text(HEAD + "\n" + CONVERTED)
        (folder / "meta_v1.types").write_text(META)
        (folder / "all.conversions").write_text(text)
        code, said = compile_types(folder / "out.c", *sorted(folder.iterdir()))
        made = (folder / "out.c").read_text() if (folder / "out.c").exists() else ""
    if expected is None:
        wanted = ['{COR_STR("spec"), COR_STR("number"), COR_STR("count")}', "cor_declared_apps_v1_old", "true};"]
        return code == 0 and not said and all(w in made for w in wanted), said + made
    return code == 1 and not made and expected in said and len(said.splitlines()) == 1, said


def strategies_case(text, expected):
    thing = OVERLAID.replace("  1 spec   Spec\n", "  1 metadata meta_v1.ObjectMeta\n  2 spec   Spec\n")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "apps_v1.types").write_text(HEAD + "\n" + thing)
        (folder / "meta_v1.types").write_text(META + "\ntype ObjectMeta\n  11 labels map[string]string omitempty\n"
                                              "  12 annotations map[string]string omitempty\n  13 ownerReferences []string omitempty\n"
                                              "  14 finalizers []string omitempty\n")
        (folder / "all.strategies").write_text("package apps_v1\n" + text)
        (folder / "strategy_hooks.h").write_text("#define HOOKS(X) X(known)\n")
        code, said = compile_types(folder / "out.c", *sorted(folder.iterdir()))
        made = (folder / "out.c").read_text() if (folder / "out.c").exists() else ""
    if expected is None:
        # A reset is what Go writes of a zero value.
        wanted = ['{\\"number\\":0,\\"port\\":0,\\"when\\":null}', "COR_STRATEGY_HOOK_known, 1", '{\\"number\\":1}']
        return code == 0 and not said and all(w in made for w in wanted) and made.count("COR_STRATEGY_KEEP") == 6, said + made
    return code == 1 and not made and expected in said and len(said.splitlines()) == 1, said


def columns_case(text, expected):
    thing = OVERLAID.replace("  1 spec   Spec\n", "  1 metadata meta_v1.ObjectMeta\n  2 spec   Spec\n")
    others = "others\n  Name = name\n  Age = age\n"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "apps_v1.types").write_text(HEAD + "\n" + thing)
        (folder / "meta_v1.types").write_text(META + "\ntype ObjectMeta\n  1 name string omitempty\n  8 creationTimestamp time omitempty\n")
        (folder / "meta_v1.words").write_text("ObjectMeta A text.\n  name A name.\n  creationTimestamp A time.\n")
        (folder / "all.columns").write_text(others + "package apps_v1\n" + text)
        (folder / "cell_hooks.h").write_text("#define HOOKS(X) X(known)\n")
        code, said = compile_types(folder / "out.c", *sorted(folder.iterdir()))
        made = (folder / "out.c").read_text() if (folder / "out.c").exists() else ""
    if expected is None:
        wanted = ["How it works.", "COR_COLUMN_INTEGER, COR_COLUMN_WIDE | COR_COLUMN_OTHERWISE, COR_CELL_TEXT", "COR_COLUMN_WHEN",
                  "COR_CELL_HOOK_known", "COR_COLUMN_UNNAMED", "cor_column_tables_n = 2;"]
        return code == 0 and not said and all(w in made for w in wanted), said + made
    return code == 1 and not made and expected in said and len(said.splitlines()) == 1, said


def checkout(folder):
    """A checkout in which every package is there, and one has a kind."""
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
    todo += [(what, rules_case, (text, expected)) for what, text, expected in RULES]
    todo += [(what, words_case, (name, text, expected)) for what, name, text, expected in WORDS]
    todo += [(what, gates_case, (text, expected)) for what, text, expected in GATES]
    todo += [(what, conversions_case, (text, expected)) for what, text, expected in CONVERSIONS]
    todo += [(what, strategies_case, (text, expected)) for what, text, expected in STRATEGIES]
    todo += [(what, columns_case, (text, expected)) for what, text, expected in COLUMNS]
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
