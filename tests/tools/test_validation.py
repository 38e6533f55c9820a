#!/usr/bin/env python3
"""TAP: compile_validation.py on small made-up types and rules. Argument: the source root."""

import contextlib
import io
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "tools"))
import compile_types as compiler  # noqa: E402
TYPES = """package k8s.io/api/apps/v1
group apps
version v1

enum Mode A B

kind Thing
  1 spec Spec

type Spec
  1 mode   Mode omitempty
  2 count  int32? omitempty
  3 more   More? omitempty
  4 labels map[string]string omitempty
  5 list   []More omitempty
  6 names  []string omitempty
  7 number int32

type More
  1 on   bool? omitempty
  2 name string omitempty
"""
HOOKS = "#define COR_THING_HOOKS(X) X(known)\n#define COR_THING_WHENS(X) X(holds)\n"
FORMATS = '#define COR_FORMATS(X) X(LABEL, "label", TEXT, label) X(PORT, "port", INT, port)\n'
RIGHT = """# A comment.
package apps_v1

Thing on create, update          # with a comment behind
  at spec
    mode    required else enum A B stop
    count   nonnegative if_changed
    count   compare >= number "is {number} in {path}, {{"
    labels  keys format label
    labels[a.b/c] required "say \\"it\\""
    list    unique by name,on
    names   values format label old_bad
    if mode is not A and count > 3 and on create and names length >= 2 and mode length != old.mode and mode == old.mode
      more one_of on name none "n" second "s"
    else if list is empty or
      stop
    else
      . invalid at "wrong.path" value none
    each list as "lists"
      name format label optional at "."
      if up.number is 5 and names hook holds "arg"
        name duplicate
    each labels
      @key format label
      . forbidden "no" value up.mode
  spec keep_only mode count "fixed"
  spec use Spec/named
  spec.more use More

Thing warn on create
  spec.mode warn "{path}: {value}"
  spec.mode deprecated "has a { in it"
  spec.labels[a] deprecated "old"

Thing warn of old on update
  spec.mode deprecated "old"

set Spec/named
  hook known "arg"
  number immutable
  if old.number is changed
    number range 1 5

set More
  name length 5
""".replace("list is empty or\n", "list is empty\n").replace("names hook holds", "up.names hook holds")
BODY = "package apps_v1\nThing on create\n"
SET = "package apps_v1\nset Spec\n"
# (what, the rules, part of the message)
WRONG = [
    ("a field that is missing is named", BODY + "  spec.cuont required\n", "x.rules:3: v1.Spec has no field cuont"),
    ("a list is entered by each", BODY + "  spec.list.name required\n", "[]v1.More has no fields, so no name"),
    ("a statement is known", SET + "  mode requird\n", "x.rules:3: there is no statement requird"),
    ("a statement fits its field", SET + "  mode nonnegative\n", "mode is a v1.Mode, and nonnegative is not for one"),
    ("an enum has the value", SET + "  mode enum A C\n", "v1.Mode has no value C"),
    ("a condition's value is one of the enum's", SET + "  if mode is C\n    stop\n", "v1.Mode has no value C"),
    ("a condition's value has the type", SET + "  if number is x\n    stop\n", "a int32 is never x"),
    ("a format is known", SET + "  mode format lable\n", "there is no format lable"),
    ("a format fits its field", SET + "  mode format port\n", "the format port is not for a v1.Mode"),
    ("a hook is known", SET + "  hook unknown\n", "x.rules:3: there is no hook unknown"),
    ("a hook of a condition is known", SET + "  if hook known\n    stop\n", "there is no hook known for conditions"),
    ("a set is there", BODY + "  spec use Spec\n", "there is no set Spec"),
    ("a set fits its field", BODY + "  spec use More\nset More\n  name required\n", "spec is a v1.Spec, not a v1.More"),
    ("a set does not use itself", SET + "  if mode is A\n    use Spec\n", "this set uses itself"),
    ("a set is written once", SET + "  mode required\nset Spec\n  mode required\n", "the set Spec is at x.rules:2, too"),
    ("a program is written once", BODY + "  spec required\nThing on update,create\n  spec required\n", "this program is at x.rules:2, too"),
    ("warnings come after validation", BODY + '  spec required\nThing warn on create,update\n  . warn "x"\n',
     "x.rules:4: warnings on update need a program without 'warn' for it"),
    ("warnings may be of the old object", BODY + '  spec required\nThing warn of new on create\n  . warn "x"\n',
     "expected 'of old', not 'of new'"),
    ("an operation is known", "package apps_v1\nThing on craete\n  spec required\n", "there is no operation craete"),
    ("a program is for a kind", "package apps_v1\nSpec on create\n  mode required\n", "expected 'KIND on OPERATION'"),
    ("a package comes first", "Thing on create\n  spec required\n", "expected 'package NAME' before it"),
    ("a package is there", "package apps_v2\n", "there is no package apps_v2"),
    ("a type is there", "package apps_v1\nset Sepc\n", "there is no type apps_v1.Sepc"),
    ("a text has an end", SET + '  mode invalid "x\n', "x.rules:3: a text has no end"),
    ("a detail is a text", SET + "  mode forbidden nothing\n", "expected the detail in quotes, not 'nothing'"),
    ("a placeholder is a field", SET + '  mode invalid "{cuont}"\n', "v1.Spec has no field cuont"),
    ("a key is no value", SET + "  each labels\n    @key immutable\n", "@key cannot be asked about 'immutable'"),
    ("a key has no old one", SET + "  each labels\n    @key format label old_bad\n", "@key cannot be asked about 'old_bad'"),
    ("a key does not change", SET + "  each labels\n    if @key is changed\n      stop\n", "@key cannot be asked about 'changed'"),
    ("a key is of the new object", SET + "  each labels\n    old.@key required\n", "the old object has no @key of its own"),
    ("a key of uniqueness is short", SET + f"  list unique by {','.join(['name'] * 9)}\n", "a key has at most 8 fields"),
    ("nothing follows a statement", SET + "  mode required twice\n", "'twice' is not expected here"),
    ("nothing is below a statement", SET + "  mode required\n    count required\n", "x.rules:4: nothing can be below 'mode required'"),
    ("an else has an if", SET + "  else\n    stop\n", "an else without an if"),
    ("an if has lines", SET + "  if mode is A\n  mode required\n", "nothing is below the condition"),
    ("the indentation is regular", SET + "   mode required\n", "the indentation is 3 spaces"),
    ("a key belongs to a map", SET + "  each list\n    @key required\n", "@key is for the entries of a map"),
    ("a set does not look out of itself", SET + "  up.mode required\n", "there is nothing above this block"),
    ("numbers are compared with numbers", SET + '  number compare < mode "x"\n', "mode is not a number"),
    ("a condition compares numbers with numbers", SET + "  if number < labels\n    stop\n", "labels is not a number"),
    ("strings have no order", SET + "  at more\n    if name < up.mode\n      stop\n", "strings are compared by == and !=, not by <"),
    ("strings are compared with strings", SET + "  if mode == number\n    stop\n", "number is not a string"),
    ("a length is compared", SET + "  if names length 5\n    stop\n", "5 is not a comparison"),
    ("a number has no length", SET + "  if number length > 5\n    stop\n", "number is not a text, list or map"),
    ("a length is compared with a length", SET + "  if names length > number\n    stop\n", "number is not a text, list or map"),
    ("a string is compared with no number", SET + "  if mode == 5\n    stop\n", "v1.Spec has no field 5"),
]


def compile_case(rules):
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, text in (("apps_v1.types", TYPES), ("validation/x.rules", rules), ("hooks/x.h", HOOKS), ("format.h", FORMATS)):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        with contextlib.redirect_stderr(said):
            code = compiler.main([str(folder / "out.c"), *(str(p) for p in sorted(folder.rglob("*.*")))])
        made = (folder / "out.c").read_text() if (folder / "out.c").exists() else ""
    return code, made, said.getvalue()


def main():
    print(f"1..{len(WRONG) + 1}")
    code, made, said = compile_case(RIGHT)
    wanted = ["COR_HOOK_known", "COR_WHEN_holds", "COR_FORMAT_LABEL", "COR_VALIDATE_OP_ONE_OF", 'say \\"it\\"']
    ok = code == 0 and not said and all(w in made for w in wanted)
    print(f"{'ok' if ok else 'not ok'} 1 - rules that are right are compiled\n# {said}")
    for number, (what, rules, expected) in enumerate(WRONG, 2):
        code, made, said = compile_case(rules)
        ok = code == 1 and not made and expected in said and len(said.splitlines()) == 1
        print(f"{'ok' if ok else 'not ok'} {number} - {what}")
        if not ok:
            print("# said: " + said.replace("\n", "\n# "))


main()
