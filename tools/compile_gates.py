"""The feature gates that are off: reads api/*.gates for compile_types.py, which writes the fields that writes drop into its tables.

Everything is checked: a field that is missing or not a pointer, list or map, a gate that no field names, a hook that C does not have. The
message names file and line, and the build stops. docs/internals/strategy.md describes the format."""

from compile_rules import Wrong, below

GATES_MAX = 64  # bits of a mask in src/schema/walk/gates.c
CAN_BE_ABSENT = ("LIST", "MAP")


class Gated:
    """What is dropped: {field: (gate, hook)}."""

    def __init__(self):
        self.fields, self.gates = {}, []

    def add(self, where, field, gate, hook):
        if "POINTER" not in field.flags and field.type.shape not in CAN_BE_ABSENT:
            raise Wrong(f"{where}: {field.name} is no pointer, list or map, so that it cannot be dropped")
        if gate not in self.gates:
            self.gates.append(gate)
        if len(self.gates) > GATES_MAX:
            raise Wrong(f"{where}: more than {GATES_MAX} gates")
        self.fields[field] = (gate, hook)

    def mark(self):
        for field in self.fields:
            field.flags.append("GATED")


def field_named(where, named, text):
    stem, _, name = text.rpartition(".")
    declared = named.get(stem)
    if declared is None:
        raise Wrong(f"{where}: there is no type {stem}")
    for field in declared.fields:
        if field.name == name:
            return field
    raise Wrong(f"{where}: {stem} has no field {name}")


def fields_of_gate(named, gate):
    return [field for full in sorted(named) for field in named[full].fields if gate in field.gate.split(",")]


def read_gates(path, named, hooks, gated):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where, words = f"{path.name}:{number}", line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "off" and len(words) > 1:
            for gate in words[1:]:
                fields = fields_of_gate(named, gate)
                if not fields:
                    raise Wrong(f"{where}: no field has the gate {gate}")
                for field in fields:
                    gated.add(where, field, gate, "none")
        elif words[0] == "drop" and len(words) in (3, 4):
            hook = words[3] if len(words) == 4 else "none"
            if hook != "none" and hook not in hooks:
                raise Wrong(f"{where}: there is no hook {hook}")
            gated.add(where, field_named(where, named, words[1]), words[2], hook)
        elif words[0] == "keep" and len(words) == 2:
            if gated.fields.pop(field_named(where, named, words[1]), None) is None:
                raise Wrong(f"{where}: {words[1]} is not dropped")
        else:
            raise Wrong(f"{where}: expected 'off GATE...', 'drop FIELD GATE [HOOK]' or 'keep FIELD'")


def rows(gated, order):
    """The rows of the tables of src/schema/walk/gates.c: the fields by their numbers, and for each type whether it holds one."""
    fields = [f"{{{field.index}, {gated.gates.index(gate)}, COR_GATE_HOOK_{hook}}}"
              for field, (gate, hook) in sorted(gated.fields.items(), key=lambda item: item[0].index)]
    own = {made for made in order if any(field in gated.fields for field, _ in made.members)}
    reaching, changed = set(own), True
    while changed:
        changed = False
        for made in order:
            if made not in reaching and any(b in reaching for b in below(made)):
                reaching.add(made)
                changed = True
    return fields, [("COR_GATED_HERE" if made in own else "COR_GATED_BELOW" if made in reaching else "0") for made in order]
