"""The overlays of the built-in types: reads api/*.rules for compile_types.py, which writes them into its tables.

A line of an overlay gives a default to a field of a type, clears a field, or names a hook in C. Everything is checked against the
types: a field that is missing, a value that the field cannot have, a condition on no field, a hook that C does not have. The
message names file and line, and the build stops. docs/internals/types.md describes the format."""

import json
import re

PATH_MAX = 8  # COR_RULE_PATH_MAX of src/schema/types/rules.h
INTS = {"INT32": 31, "INT64": 63}
OPS = {"default": "SET", "late": "SET", "mirror": "MIRROR", "clear": "CLEAR", "hook": "HOOK"}


class Wrong(Exception):
    pass


class Rule:
    def __init__(self, where, op, target):
        self.where, self.op, self.target = where, op, target
        self.path, self.source, self.value, self.hook, self.conditions = [], None, "", "", []
        self.is_late = False
        self.line = self.text = ""  # as it was written: the whole, and what is behind the field


class Condition:
    def __init__(self, path, test, values):
        self.path, self.test, self.values = path, test, values


def read_hooks(path):
    """The hooks that C has: the names in the list COR_DEFAULT_HOOKS of a header."""
    return re.findall(r"\bX\((\w+)\)", path.read_text())


def canonical(value):
    """JSON as the server keeps it: no space, keys in byte order, no needless escape."""
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda m: m[0].encode())
        return "{" + ",".join(canonical(k) + ":" + canonical(v) for k, v in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def member_named(where, declared, name):
    for index, (field, _) in enumerate(declared.members):
        if field.name == name:
            return index, field
    raise Wrong(f"{where}: {declared.go} has no field {name}")


def resolve(where, declared, text):
    """A path from a struct, as (index of the member, field) of each step. "." is the struct itself."""
    path = []
    if text == ".":
        return path
    for name in text.split("."):
        if declared.shape != "STRUCT":
            raise Wrong(f"{where}: {declared.go} has no fields, so no {name}")
        index, field = member_named(where, declared, name)
        path.append((index, field))
        declared = field.type
    if len(path) > PATH_MAX:
        raise Wrong(f"{where}: more than {PATH_MAX} names in {text}")
    return path


def end_of(declared, path):
    return path[-1][1].type if path else declared


def check_value(where, made, value):
    """Can this type hold the value, which JSON had?"""
    shape, good = made.shape, True
    if shape == "STRUCT":
        good = isinstance(value, dict)
        for name, below in value.items() if good else ():
            check_value(where, member_named(where, made, name)[1].type, below)
    elif shape in ("LIST", "MAP"):
        good = isinstance(value, list if shape == "LIST" else dict)
        for below in (value if shape == "LIST" else value.values()) if good else ():
            check_value(where, made.element, below)
    elif shape == "STRING":
        good = isinstance(value, str)
        if good and made.values and value not in made.values:
            raise Wrong(f"{where}: {made.go} has no value {value}")
    elif shape == "BOOL":
        good = isinstance(value, bool)
    elif shape in INTS:
        good = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << INTS[shape]
    elif shape == "INT_OR_STRING":
        good = isinstance(value, str) or isinstance(value, int) and not isinstance(value, bool)
    else:
        raise Wrong(f"{where}: a {made.go} cannot have a default here")
    if not good:
        raise Wrong(f"{where}: {canonical(value)} is not a {made.go}")


def read_value(where, made, text):
    """A value as it is written: JSON, or a bare word for a string. Returns canonical JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if value is None or made.shape == "STRING" and not isinstance(value, str):
        if not re.fullmatch(r"[^\s{}\[\]\",]+", text):
            raise Wrong(f"{where}: {text} is neither JSON nor a word")
        value = text
    check_value(where, made, value)
    return canonical(value)


def read_condition(where, declared, text):
    match = re.fullmatch(r"(\S+) is (.+)", text)
    if not match:
        raise Wrong(f"{where}: expected 'FIELD is VALUE', 'FIELD is set' or 'FIELD is unset', not '{text}'")
    path = resolve(where, declared, match[1])
    if match[2] in ("set", "unset"):
        return Condition(path, match[2].upper(), [])
    words = match[2].split(" or ")
    return Condition(path, "IS", [read_value(where, end_of(declared, path), word) for word in words])


def read_rule(where, declared, line, hooks):
    words = line.split(None, 2)
    if len(words) < 2 or words[0] not in OPS:
        raise Wrong(f"{where}: expected default, late, mirror, clear or hook, and a field")
    rule = Rule(where, OPS[words[0]], words[1])
    rule.is_late = words[0] == "late"
    if rule.is_late and "KIND" not in declared.flags:
        raise Wrong(f"{where}: only a kind has late defaults, and {declared.go} is none")
    rule.line = line
    rule.path = resolve(where, declared, words[1])
    body, _, when = (words[2] if len(words) > 2 else "").partition("when ")
    body = body.strip()
    rule.conditions = [read_condition(where, declared, part.strip()) for part in when.split(" and ")] if when else []
    made = end_of(declared, rule.path)
    if rule.op == "SET" and body.startswith("= "):
        rule.value = read_value(where, made, body[2:].strip())
    elif rule.op in ("SET", "MIRROR") and body.startswith("from "):
        rule.op = "COPY" if rule.op == "SET" else rule.op
        rule.source = resolve(where, declared, body[5:].strip())
        source = end_of(declared, rule.source)
        if source is not made and not (made.shape == "INT_OR_STRING" and source.shape in ("INT32", "STRING")):
            raise Wrong(f"{where}: {source.go} is not a {made.go}")
    elif words[0] == "hook" and body in hooks:
        rule.hook = body
    elif words[0] == "hook":
        raise Wrong(f"{where}: there is no hook {body}")
    elif rule.op != "CLEAR" or body:
        raise Wrong(f"{where}: expected '= VALUE' or 'from FIELD', then 'when ...'")
    if not rule.path and rule.op != "HOOK":
        raise Wrong(f"{where}: only a hook is for the struct itself")
    rule.text = " ".join((words[2] if len(words) > 2 else "").split())
    return rule


def read_rules(path, named, hooks):
    """The overlay of one file of types: appends to the `rules` of its types."""
    current = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.name}:{number}"
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.startswith(" "):
            if current is None:
                raise Wrong(f"{where}: a rule outside of a type")
            current.rules.append(read_rule(where, current, line.strip(), hooks))
            continue
        current = named.get(f"{path.stem}.{line.strip()}")
        if current is None or current.shape != "STRUCT":
            raise Wrong(f"{where}: there is no struct {path.stem}.{line.strip()}")
        if current.rules:
            raise Wrong(f"{where}: the rules of {current.name} begin at {current.rules[0].where}")


def is_zero(field, value):
    """Does a field that is not a pointer have this value anyway?"""
    return "POINTER" not in field.flags and value in (0, "", False)


def add_declared(declared):
    """The defaults that the declarations have themselves come behind those of the overlay, as upstream applies them."""
    for field in declared.fields:
        if field.default and not is_zero(field, json.loads(field.default)):
            declared.rules.append(read_rule(field.where, declared, f"default {field.name} = {field.default}", []))


def lift_inlined(declared, hooks):
    """The rules of an inlined struct are for the members of the struct around it, too."""
    lifted = list(declared.rules)
    for field in declared.fields:
        if field.is_inline:
            lifted += [read_rule(rule.where, declared, rule.line, hooks) for rule in lift_inlined(field.type, hooks)]
    return lifted


def below(made):
    return [field.type for field, _ in made.members] + ([made.element] if made.shape in ("LIST", "MAP") else [])


def mark_reaching(order):
    """Which types have a default in them, or below? Values of other types are never looked into."""
    for made in order:
        made.reaches = bool(made.rules)
    changed = True
    while changed:
        changed = False
        for made in order:
            if not made.reaches and any(b.reaches for b in below(made)):
                made.reaches = changed = True


def check_depth(made, on_way):
    """The walk recurses, so a type with defaults must not hold itself."""
    if made in on_way:
        raise Wrong(f"{made.where}: a type that holds itself cannot have defaults")
    if not made.checked:
        for b in below(made):
            if b.reaches:
                check_depth(b, on_way + [made])
    made.checked = True


def finish(tables, hooks):
    """All overlays were read: what each struct does, and which types need no look."""
    structs = [made for made in tables.order if made.shape == "STRUCT"]
    for declared in structs:
        add_declared(declared)
    lifted = [lift_inlined(declared, hooks) for declared in structs]
    for declared, rules in zip(structs, lifted):
        declared.rules = rules
    mark_reaching(tables.order)
    for made in tables.order:
        made.checked = False
    for made in tables.order:
        if made.reaches:
            check_depth(made, [])
    for declared in structs:
        for rule in declared.rules:
            if rule.source is not None and end_of(declared, rule.source).reaches:
                raise Wrong(f"{rule.where}: {rule.target} is copied from a value with defaults of its own")
            if rule.op == "CLEAR" and "POINTER" not in rule.path[-1][1].flags:
                raise Wrong(f"{rule.where}: {rule.target} is not a pointer")


class Out:
    """The rows of the tables of src/schema/types/rules.h."""

    def __init__(self, pool):
        self.pool, self.steps, self.rules, self.conditions, self.values = pool, [], [], [], []

    def path(self, path):
        first = len(self.steps)
        self.steps += [index for index, _ in path]
        return first

    def add(self, declared):
        """Appends the rules of a struct; returns the first."""
        first = len(self.rules)
        for rule in declared.rules:
            first_condition = len(self.conditions)
            for c in rule.conditions:
                first_value = len(self.values)
                self.values += [self.pool.add(v) for v in c.values]
                self.conditions.append(f"{{{self.path(c.path)}, {first_value}, {len(c.path)}, {len(c.values)}, "
                                       f"COR_RULE_TEST_{c.test}}}")
            source = rule.source or []
            self.rules.append(f"{{{self.path(rule.path)}, {self.path(source)}, {self.pool.add(rule.value)}, "
                              f"{self.pool.add(rule.text)}, {first_condition}, {len(rule.path)}, {len(source)}, "
                              f"{len(rule.conditions)}, COR_RULE_{rule.op}, "
                              f"COR_DEFAULT_HOOK_{rule.hook or 'none'}, {int(rule.is_late)}}}")
        return first
