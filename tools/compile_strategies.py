"""The strategies of the built-in kinds: reads api/*.strategies for compile_types.py, which writes them into its tables.

A block names a kind and lists what a write does to its object: which members are reset, set, or kept from the present object, which
hooks in C run, which fields a writer does not own, and what counts for the generation. Everything is checked against the types: a kind or member that is missing,
a value that a member cannot have, a hook that C does not have. The message names file and line, and the build stops.
docs/internals/strategy.md describes the format."""

import re

from compile_rules import Wrong, canonical, member_named, read_value

# The endpoints that a write goes to, as enum cor_strategy_on has them.
ENDPOINTS = ["create", "update", "status", "finalize", "approval", "ephemeralcontainers", "resize"]
HOOKS_MAX = 4  # COR_STRATEGY_HOOKS_MAX of src/schema/types/strategy.h
SENDER = "requester"  # the hook that asks who sent the object
META_KEPT = ["annotations", "finalizers", "labels", "ownerReferences"]  # of "keep metadata"


class Step:
    def __init__(self, on, does, name, is_meta, value="", hook=""):
        self.on, self.does, self.name, self.is_meta, self.value, self.hook = on, does, name, is_meta, value, hook


class Strategy:
    def __init__(self, made, where):
        self.made, self.where = made, where
        self.generation, self.counted, self.as_sent, self.exactly, self.steps = 0, [], False, False, []
        self.plain_names, self.uid_names = False, False
        self.kept = {}  # the words of "keep" on each endpoint

    def add_masks(self):
        """An endpoint without a mask of its own masks what it keeps."""
        for on, names in self.kept.items():
            if not any(step.on == on and step.does == "MASK" for step in self.steps):
                self.steps.append(Step(on, "MASK", "", False, canonical(mask_of(self.where, self.made, names))))


def zero(made):
    """The zero value of a type as Go writes it, as a value of Python."""
    if made.shape == "STRUCT":
        return {field.name: None if "POINTER" in field.flags else zero(field.type)
                for field, _ in made.members if "WRITTEN" in field.flags}
    return {"STRING": "", "BOOL": False, "INT32": 0, "INT64": 0, "FLOAT64": 0, "INT_OR_STRING": 0, "QUANTITY": "0",
            "DURATION": "0s"}.get(made.shape)


def read_field(where, made, text):
    """A member of the object, or of its metadata: its name, whether it is of the metadata, and its type."""
    first, _, second = text.partition(".")
    field = member_named(where, made, first)[1]
    if not second:
        return first, False, field.type
    if first != "metadata":
        raise Wrong(f"{where}: {text} is neither a member of the object nor of its metadata")
    return second, True, member_named(where, field.type, second)[1].type


def mask_of(where, made, names):
    """The FieldsV1 of fields that nobody owns who writes to the endpoint."""
    tree = {}
    for text in sorted(names):
        first, _, second = text.partition(".")
        below = member_named(where, made, first)[1].type
        if second:
            member_named(where, below, second)
        if first in tree and not tree[first]:
            continue
        tree.setdefault(first, [])
        if second:
            tree[first].append(second)
    return {f"f:{first}": {f"f:{second}": {} for second in below} for first, below in tree.items()}


def read_step(where, made, on, line, hooks):
    """The steps of a line: one for each field of a "keep"."""
    word, _, rest = line.partition(" ")
    rest = rest.strip()
    if on is None:
        raise Wrong(f"{where}: {word} stands outside of an 'on'")
    if word == "keep":
        if on == "create":
            raise Wrong(f"{where}: an object that is created has nothing to keep")
        for text in rest.split():
            if text == "metadata":
                for name in META_KEPT:
                    yield Step(on, "KEEP", name, True)
                continue
            name, is_meta, _ = read_field(where, made, text)
            yield Step(on, "KEEP", name, is_meta)
    elif word == "mask":
        yield Step(on, "MASK", "", False, canonical(mask_of(where, made, rest.split())))
    elif word == "reset":
        name, is_meta, below = read_field(where, made, rest)
        yield Step(on, "SET", name, is_meta, canonical(zero(below)))
    elif word == "set":
        match = re.fullmatch(r"(\S+) = (.+)", rest)
        if not match:
            raise Wrong(f"{where}: expected 'set FIELD = VALUE'")
        name, is_meta, below = read_field(where, made, match[1])
        yield Step(on, "SET", name, is_meta, read_value(where, below, match[2]))
    elif word == "hook":
        words = rest.split()
        if len(words) != 2 or words[1] not in hooks:
            raise Wrong(f"{where}: expected 'hook FIELD NAME', and C has no hook {words[-1] if words else ''}")
        name, is_meta, _ = read_field(where, made, words[0])
        yield Step(on, "HOOK", name, is_meta, hook=words[1])
    else:
        raise Wrong(f"{where}: expected keep, mask, reset, set or hook, not {word}")


def read_generation(where, strategy, line):
    match = re.fullmatch(r"generation ([01])(?: of (.+?))?( as sent| exactly)?", line)
    if not match:
        raise Wrong(f"{where}: expected 'generation 0|1 of FIELD... [as sent|exactly]'")
    strategy.generation, strategy.as_sent, strategy.exactly = int(match[1]), match[3] == " as sent", match[3] == " exactly"
    strategy.counted = [read_field(where, strategy.made, text)[:2] for text in (match[2] or "").split()]


def read_strategies(path, named, hooks):
    """The strategies of a file, sorted by the number of their type."""
    found, stem, current, on = {}, None, None, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where, text = f"{path.name}:{number}", line.strip()
        if not text or text.startswith("#"):
            continue
        if line.startswith("package "):
            stem, current = text[len("package "):], None
        elif not line.startswith(" "):
            made = named.get(f"{stem}.{text}")
            if made is None or "KIND" not in made.flags:
                raise Wrong(f"{where}: there is no kind {stem}.{text}")
            if made.index in found:
                raise Wrong(f"{where}: the strategy of {text} is at {found[made.index].where}")
            current, on = Strategy(made, where), None
            found[made.index] = current
        elif current is None:
            raise Wrong(f"{where}: a line outside of a kind")
        elif text.startswith("generation "):
            read_generation(where, current, text)
        elif text == "names plain":
            current.plain_names = True
        elif text == "names uid":
            current.uid_names = True
        elif text.startswith("on "):
            on = text[len("on "):]
            if on not in ENDPOINTS:
                raise Wrong(f"{where}: there is no endpoint {on}")
        else:
            current.steps += read_step(where, current.made, on, text, hooks)
            if text.startswith("keep "):
                current.kept.setdefault(on, []).extend(text.split()[1:])
            if sum(step.on == on and step.does == "HOOK" for step in current.steps) > HOOKS_MAX:
                raise Wrong(f"{where}: more than {HOOKS_MAX} hooks on {on}")
    for strategy in found.values():
        strategy.add_masks()
    return [found[index] for index in sorted(found)]


def rows(strategies, pool):
    """The rows of the tables of src/schema/types/strategy.c: strategies, steps, counted members."""
    tables, steps, counted = [], [], []
    for strategy in strategies:
        needs_sender = any(step.hook == SENDER for step in strategy.steps)
        tables.append(f"{{{strategy.made.index}, {len(steps)}, {len(counted)}, {len(strategy.steps)}, {len(strategy.counted)}, "
                      f"{strategy.generation}, {int(strategy.as_sent)}, {int(strategy.exactly)}, {int(needs_sender)}, "
                      f"{int(strategy.plain_names)}, {int(strategy.uid_names)}}}")
        steps += [f"{{{pool.add(s.name)}, {pool.add(s.value)}, COR_ON_{s.on.upper()}, COR_STRATEGY_{s.does}, "
                  f"COR_STRATEGY_HOOK_{s.hook or 'none'}, {int(s.is_meta)}}}" for s in strategy.steps]
        counted += [f"{{{pool.add(name)}, {int(is_meta)}}}" for name, is_meta in strategy.counted]
    return tables, steps, counted
