"""The validation rules of the built-in kinds: reads api/validation/*.rules for compile_types.py, which writes them into its tables.

A rule file has programs (what a kind must meet on create, on update, on a write of a subresource) and sets of rules for a type.
Everything is checked against the types: a field that is missing, a statement for a value of another shape, an enum's value, a
format or a hook that C does not have. The message names file and line, and the build stops. docs/internals/validate.md describes
the language."""

import json
import re

from compile_rules import Wrong, canonical, member_named

PATH_MAX = 8  # COR_VALIDATE_PATH_MAX of src/schema/validate/validate_int.h
KEY_FIELDS_MAX = 8  # COR_VALIDATE_KEY_FIELDS_MAX: of `unique by`
KEPT_MAX = 64  # COR_VALIDATE_KEPT_MAX: members of a struct that keep_only may name
# What can be said about @key, which is a text but no value of the object.
KEY_VERBS = {"required", "enum", "length", "format", "missing", "refused", "invalid", "unsupported", "duplicate", "not_found", "too_long",
             "internal", "warn"}
KEY_TESTS = {"IS", "EMPTY", "SET", "PRESENT", "HOOK"}
STEP_KEY = 1 << 31  # a step into a map: the rest is the key's place in the pool
STEP_OWN_KEY = (1 << 32) - 1  # @key
OPERATIONS = ["create", "update", "status", "finalize", "approval", "ephemeralcontainers", "resize", "scale"]
INTS = {"INT32", "INT64"}
LONG = {"LIST", "MAP"}
TEXTS = {"STRING", "QUANTITY", "TIME", "MICRO_TIME", "DURATION", "BYTES"}
ORDERS = {"<": "LT", "<=": "LE", ">": "GT", ">=": "GE", "==": "EQ", "!=": "NE"}
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|#.*|[^\s"]+')
MODIFIERS = {"optional", "stop", "at", "value", "if_changed", "old_bad", "else"}


class Node:
    """A line with the lines that are indented below it."""

    def __init__(self, where, text):
        self.where, self.text, self.below = where, text, []


class Words:
    """The words of a line, which are taken from the front. A quoted text is a word that begins with a quote."""

    def __init__(self, where, text):
        self.where = where
        self.words = [w for w in TOKEN.findall(text) if not w.startswith("#")]
        if TOKEN.sub("", text).strip():
            raise Wrong(f"{where}: a text has no end")

    def peek(self):
        return self.words[0] if self.words else ""

    def take(self, what):
        if not self.words:
            raise Wrong(f"{self.where}: expected {what} at the end of the line")
        return self.words.pop(0)

    def skip(self, word):
        if self.peek() != word:
            return False
        self.words.pop(0)
        return True

    def text(self, what):
        """A quoted text, which must be there."""
        if not self.peek().startswith('"'):
            raise Wrong(f"{self.where}: expected {what} in quotes, not '{self.peek()}'")
        return self.unquote(self.words.pop(0))

    def optional_text(self):
        return self.unquote(self.words.pop(0)) if self.peek().startswith('"') else ""

    def unquote(self, word):
        try:
            return json.loads(word)
        except ValueError as wrong:
            raise Wrong(f"{self.where}: {word} is not a text: {wrong}") from None

    def number(self, what):
        word = self.take(what)
        if not re.fullmatch(r"-?\d+", word):
            raise Wrong(f"{self.where}: expected {what}, not '{word}'")
        return int(word)

    def values(self):
        """Words up to a modifier or a text behind them."""
        found = []
        while self.words and self.peek() not in MODIFIERS:
            word = self.words.pop(0)
            found.append(self.unquote(word) if word.startswith('"') else word)
        return found


class Path:
    def __init__(self, text, made, is_pointer, steps, climbs, is_old):
        self.text, self.made, self.is_pointer = text, made, is_pointer
        self.steps, self.climbs, self.is_old = steps, climbs, is_old


class Block:
    """What fields are relative to: a program's object, a set's struct, what `at` or `each` enters."""

    def __init__(self, made, above=None, climbs=0, is_map=False):
        self.made, self.above, self.climbs, self.is_map = made, above, climbs, is_map


class Row:
    def __init__(self, where, op, path=None):
        self.where, self.op, self.path = where, op, path
        self.code = "0"
        self.text, self.at, self.value, self.arg = "", "", None, ""
        self.numbers, self.values, self.other, self.conditions = [], [], None, []
        self.flags, self.end, self.chain, self.set = [], 0, 0, None
        self.line = ""
        self.block = None  # the type of the block that the row is in


class Condition:
    def __init__(self, test, path=None):
        self.test, self.path = test, path
        self.is_not, self.values, self.number, self.other, self.hook, self.arg, self.mask = False, [], 0, None, "", "", 0
        self.compared = "NUMBERS"


def read_tree(path):
    """The lines of a file as a tree by their indentation."""
    roots, stack = [], []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.name}:{number}"
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if "\t" in line:
            raise Wrong(f"{where}: a tab; the indentation is two spaces")
        depth = len(line) - len(line.lstrip(" "))
        if depth % 2 or depth // 2 > len(stack):
            raise Wrong(f"{where}: the indentation is {depth} spaces, not {2 * len(stack)} or less by twos")
        node = Node(where, text)
        del stack[depth // 2:]
        (stack[-1].below if stack else roots).append(node)
        stack.append(node)
    return roots


def read_list(header, name):
    """The first arguments of the X() of a list in a C header."""
    match = re.search(rf"#define {name}\(X\)((?:.*\\\n)*.*)", header)
    return re.findall(r"\bX\((\w+)\)", match[1]) if match else []


class Compiler:
    def __init__(self, tables, formats_text, hooks_texts):
        self.tables = tables
        self.rows, self.programs, self.sets, self.uses = [], {}, {}, []
        self.package = None
        self.formats = {name: (symbol, shape) for symbol, name, shape in
                        re.findall(r'\bX\((\w+),\s*"([^"]+)",\s*(\w+),', formats_text)}
        self.hooks, self.tests = set(), set()
        for text in hooks_texts:
            for family in re.findall(r"#define COR_(\w+)_HOOKS\(X\)", text):
                self.hooks |= set(read_list(text, f"COR_{family}_HOOKS"))
                self.tests |= set(read_list(text, f"COR_{family}_WHENS"))

    # --- Types and paths

    def type_named(self, where, text):
        full = text if "." in text else f"{self.package}.{text}"
        found = self.tables.named.get(full)
        if found is None or found.shape == "ALIAS":
            found = next((t for t in self.tables.order if t.package and f"{t.package.stem}.{t.name}" == full), None)
        if found is None:
            raise Wrong(f"{where}: there is no type {full}")
        return found

    def path(self, where, block, text):
        is_old, climbs, made, rest = False, 0, block.made, text
        if rest.startswith("old."):
            is_old, rest = True, rest[4:]
        elif rest == "old":
            is_old, rest = True, "."
        is_map = block.is_map
        while rest == "up" or rest.startswith("up."):
            if block.above is None:
                raise Wrong(f"{where}: there is nothing above this block, so no {text}")
            climbs, block, rest = climbs + block.climbs, block.above, rest[3:] or "."
            made, is_map = block.made, block.is_map
        steps, is_pointer = [], False
        if rest == "@key":
            if not is_map:
                raise Wrong(f"{where}: @key is for the entries of a map")
            if is_old:
                raise Wrong(f"{where}: the old object has no @key of its own")
            return Path(text, self.tables.made["string"], False, [STEP_OWN_KEY], climbs, is_old)
        parts = [] if rest == "." else re.findall(r"\[[^]]*\]|[^.\[\]]+", rest)
        if "".join(parts) != rest.replace(".", "") if "[" not in rest and rest != "." else False:
            raise Wrong(f"{where}: {text} is not a path")
        for part in parts:
            if part.startswith("["):
                if made.shape != "MAP":
                    raise Wrong(f"{where}: {made.go} is not a map, so it has no {part}")
                steps.append(("key", part[1:-1]))
                made, is_pointer = made.element, False
                continue
            if made.shape != "STRUCT":
                raise Wrong(f"{where}: {made.go} has no fields, so no {part}")
            index, field = member_named(where, made, part)
            steps.append(index)
            made, is_pointer = field.type, "POINTER" in field.flags
        if len(steps) > PATH_MAX:
            raise Wrong(f"{where}: more than {PATH_MAX} names in {text}")
        return Path(text, made, is_pointer, steps, climbs, is_old)

    def literal(self, where, made, word):
        """A value as JSON writes it; a bare word is a string."""
        if word.startswith('"'):
            value = json.loads(word)
        elif made.shape in INTS and re.fullmatch(r"-?\d+", word) or made.shape == "INT_OR_STRING" and word.isdigit():
            value = int(word)
        elif made.shape == "BOOL" and word in ("true", "false"):
            value = word == "true"
        else:
            value = word
        wants = {"BOOL": bool, "INT32": int, "INT64": int}.get(made.shape, str if made.shape in TEXTS else object)
        if not isinstance(value, wants) or made.shape in ("STRUCT", "LIST", "MAP"):
            raise Wrong(f"{where}: a {made.go} is never {word}")
        if made.shape == "STRING" and made.values and value and value not in made.values:
            raise Wrong(f"{where}: {made.go} has no value {word}")
        return canonical(value)

    # --- Conditions

    def operations(self, where, text):
        names = [name.strip() for name in text.split(",")]
        for name in names:
            if name not in OPERATIONS:
                raise Wrong(f"{where}: there is no operation {name}; they are {', '.join(OPERATIONS)}")
        return [OPERATIONS.index(name) for name in names]

    def condition(self, words, block):
        condition = self.any_condition(words, block)
        if condition.path and condition.path.steps == [STEP_OWN_KEY] and condition.test not in KEY_TESTS:
            raise Wrong(f"{words.where}: @key cannot be asked about '{condition.test.lower()}'")
        return condition

    def any_condition(self, words, block):
        where = words.where
        if words.skip("on"):
            condition = Condition("ON")
            condition.mask = sum(1 << op for op in self.operations(where, words.take("an operation")))
            return condition
        if words.peek() == "hook":
            path = self.path(where, block, ".")
        else:
            path = self.path(where, block, words.take("a field"))
        verb = words.take("'is', 'has', 'hook', 'length' or a comparison")
        condition = Condition("IS", path)
        if verb == "hook":
            condition.test, condition.hook = "HOOK", words.take("a hook")
            condition.is_not = condition.hook == "not"
            if condition.is_not:
                condition.hook = words.take("a hook")
            if condition.hook not in self.tests:
                raise Wrong(f"{where}: there is no hook {condition.hook} for conditions")
            condition.arg = words.optional_text()
            return condition
        if verb == "length" or verb in ORDERS:
            return self.comparison(words, block, condition, verb)
        if verb not in ("is", "has"):
            raise Wrong(f"{where}: expected 'is', 'has', 'hook', 'length' or a comparison, not '{verb}'")
        condition.is_not = words.skip("not")
        if verb == "has":
            if path.made.shape != "LIST" or path.made.element.shape != "STRING":
                raise Wrong(f"{where}: {path.text} is not a list of strings")
            condition.test, made = "HAS", path.made.element
        else:
            made = path.made
            state = {"set": "SET", "unset": "SET", "empty": "EMPTY", "changed": "CHANGED", "unchanged": "CHANGED",
                     "present": "PRESENT", "absent": "PRESENT"}
            if words.peek() in state:
                word = words.take("a state")
                condition.test = state[word]
                if word in ("unset", "unchanged", "absent"):
                    condition.is_not = not condition.is_not
                return condition
        condition.values = [self.literal(where, made, words.take("a value"))]
        while words.skip("or"):
            condition.values.append(self.literal(where, made, words.take("a value")))
        return condition

    def comparison(self, words, block, condition, verb):
        """Of two numbers, of two lengths, or whether two strings are equal."""
        where, path, shapes, what = words.where, condition.path, INTS, "a number"
        if verb == "length":
            condition.compared, shapes, what = "LENGTHS", TEXTS | LONG, "a text, list or map"
            verb = words.take("a comparison")
            if verb not in ORDERS:
                raise Wrong(f"{where}: {verb} is not a comparison")
        elif path.made.shape == "STRING":
            condition.compared, shapes, what = "STRINGS", {"STRING"}, "a string"
            if verb not in ("==", "!="):
                raise Wrong(f"{where}: strings are compared by == and !=, not by {verb}")
        if path.made.shape not in shapes:
            raise Wrong(f"{where}: {path.text} is not {what}")
        condition.test = ORDERS[verb]
        word = words.take("a number or a field")
        if re.fullmatch(r"-?\d+", word) and condition.compared != "STRINGS":
            condition.number = int(word)
        else:
            condition.other = self.path(where, block, word)
            if condition.other.made.shape not in shapes:
                raise Wrong(f"{where}: {word} is not {what}")
        return condition

    def conditions(self, words, block):
        found = [self.condition(words, block)]
        while words.skip("and"):
            found.append(self.condition(words, block))
        if words.words:
            raise Wrong(f"{words.where}: '{words.peek()}' is not expected here")
        return found

    # --- Statements

    def shape(self, row, shapes, what):
        if row.path.made.shape not in shapes:
            raise Wrong(f"{row.where}: {row.path.text} is a {row.path.made.go}, and {what} is not for one")

    def statement(self, words, block, path):
        """One statement with its modifiers: a row. `else` is left to the caller."""
        where, verb = words.where, words.take("a statement")
        row = Row(where, verb.upper(), path)
        made = path.made
        if path.steps == [STEP_OWN_KEY] and verb not in KEY_VERBS:
            raise Wrong(f"{where}: @key cannot be asked about '{verb}'")
        if verb in ("required", "missing"):
            row.text = words.optional_text()
        elif verb in ("forbidden", "refused", "invalid"):
            row.text = words.text("the detail") if verb != "invalid" else words.optional_text()
        elif verb in ("enum", "unsupported"):
            row.values = words.values()
            if verb == "enum":
                self.shape(row, {"STRING"}, verb)
            for value in row.values:
                if verb == "enum" and made.values and value and value not in made.values:
                    raise Wrong(f"{where}: {made.go} has no value {value}")
        elif verb in ("nonnegative", "positive", "min", "max", "range"):
            self.shape(row, INTS, verb)
            row.op = "RANGE"
            low, high = -(1 << 63), (1 << 63) - 1
            if verb in ("min", "range"):
                low = words.number("the least number")
            if verb in ("max", "range"):
                high = words.number("the greatest number")
            low = {"nonnegative": 0, "positive": 1}.get(verb, low)
            row.numbers = [low, high]
            row.text = words.optional_text() or {
                "nonnegative": "must be greater than or equal to 0", "positive": "must be greater than zero",
                "min": f"must be greater than or equal to {low}", "max": f"must be less than or equal to {high}",
                "range": f"must be between {low} and {high}, inclusive"}[verb]
        elif verb == "compare":
            self.shape(row, INTS, verb)
            order = words.take("a comparison")
            if order not in ORDERS:
                raise Wrong(f"{where}: {order} is not a comparison")
            row.code = f"COR_VALIDATE_TEST_{ORDERS[order]}"
            row.other = self.path(where, block, words.take("a field"))
            if row.other.made.shape not in INTS:
                raise Wrong(f"{where}: {row.other.text} is not a number")
            row.text = words.text("the detail")
        elif verb in ("length", "items", "too_long", "too_many"):
            if verb in ("length", "items"):
                self.shape(row, TEXTS | LONG if verb == "length" else LONG, verb)
            row.numbers = [words.number("the maximum")]
        elif verb in ("format", "keys", "values"):
            of = path.made
            if verb != "format":
                self.shape(row, {"MAP"} if verb == "keys" else LONG, verb)
                if not words.skip("format"):
                    raise Wrong(f"{where}: expected '{verb} format NAME'")
                row.op = f"{verb.upper()}_FORMAT"
                of = of.key if verb == "keys" else of.element
            name = words.take("a format")
            if name not in self.formats:
                raise Wrong(f"{where}: there is no format {name}")
            symbol, wants = self.formats[name]
            fits = {"TEXT": TEXTS, "INT": INTS, "INT_OR_TEXT": INTS | TEXTS | {"INT_OR_STRING"}}[wants]
            if of.shape not in fits:
                raise Wrong(f"{where}: the format {name} is not for a {of.go}")
            row.code = f"COR_FORMAT_{symbol}"
        elif verb == "unique":
            self.shape(row, {"LIST"}, verb)
            if words.skip("by"):
                if path.made.element.shape != "STRUCT":
                    raise Wrong(f"{where}: the elements of {path.text} have no fields")
                for name in words.take("the fields of the key").split(","):
                    index, field = member_named(where, path.made.element, name)
                    if field.type.shape in ("STRUCT", "LIST", "MAP"):
                        raise Wrong(f"{where}: {name} is not a plain value")
                    row.numbers.append(index)
                if len(row.numbers) > KEY_FIELDS_MAX:
                    raise Wrong(f"{where}: a key has at most {KEY_FIELDS_MAX} fields")
                row.arg = "element" if words.skip("shows") and words.take("'element'") else ""
        elif verb == "immutable":
            row.text = words.optional_text() or "field is immutable"
        elif verb == "keep_only":
            self.shape(row, {"STRUCT"}, verb)
            names = words.values()
            row.text = names.pop() if names else ""
            row.numbers = [member_named(where, made, name)[0] for name in names]
            if max(row.numbers, default=0) >= KEPT_MAX:
                raise Wrong(f"{where}: keep_only knows the first {KEPT_MAX} members of a struct")
        elif verb == "one_of":
            self.shape(row, {"STRUCT"}, verb)
            while words.words and words.peek() not in ("none", "second"):
                row.numbers.append(member_named(where, made, words.take("a field"))[0])
            row.text = words.text("the detail when no field is set") if words.skip("none") else ""
            row.arg = words.text("the detail when a second field is set") if words.skip("second") else ""
        elif verb == "hook":
            row.arg_name = words.take("a hook")
            if row.arg_name not in self.hooks:
                raise Wrong(f"{where}: there is no hook {row.arg_name}")
            row.code = f"COR_HOOK_{row.arg_name}"
            row.arg = words.optional_text()
        elif verb == "use":
            row.set = (words.take("a set"), path)
            self.uses.append((row, self.package))
        elif verb in ("duplicate", "not_found", "internal"):
            row.text = words.optional_text()
        elif verb == "warn":
            row.text = words.text("the warning")
        elif verb == "deprecated":
            row.text = "{path}: " + words.text("the warning").replace("{", "{{")
            row.code = str(int(bool(path.steps) and isinstance(path.steps[-1], tuple)))
        else:
            raise Wrong(f"{where}: there is no statement {verb}")
        self.modifiers(row, words, block)
        self.placeholders(row, block)
        return row

    def modifiers(self, row, words, block):
        while words.words and words.peek() != "else":
            word = words.take("a modifier")
            if word in ("optional", "stop", "if_changed", "old_bad"):
                if word in ("if_changed", "old_bad") and row.path.steps == [STEP_OWN_KEY]:
                    raise Wrong(f"{row.where}: @key cannot be asked about '{word}'")
                row.flags.append(word.upper())
            elif word == "at":
                row.at = words.text("a path")
                row.flags.append("AT")
            elif word == "value":
                if words.skip("none"):
                    row.flags.append("VALUE_NONE")
                elif words.peek().startswith('"'):
                    row.value = words.text("a value")
                    row.flags.append("VALUE_TEXT")
                elif words.skip("json"):
                    row.value = words.text("a value")
                    row.flags.append("VALUE_JSON")
                else:
                    if row.other:
                        raise Wrong(f"{row.where}: 'compare' shows its own value")
                    row.other = self.path(row.where, block, words.take("a value"))
                    row.flags.append("VALUE_FIELD")
            else:
                raise Wrong(f"{row.where}: '{word}' is not expected here")

    def placeholders(self, row, block):
        """{FIELD} in a detail is the text of that field; {{ is a brace."""
        found = re.findall(r"\{([^{}]*)\}", row.text.replace("{{", ""))
        for name in found:
            if name not in ("path", "value", "@key"):
                self.path(row.where, block, name)
        if "{" in row.text:
            row.flags.append("FILL")

    # --- Blocks

    def add(self, row, block):
        row.block = block.made
        self.rows.append(row)

    def lines(self, nodes, block):
        i = 0
        while i < len(nodes):
            words = Words(nodes[i].where, nodes[i].text)
            if words.peek() == "if":
                i = self.branches(nodes, i, block)
                continue
            if words.peek() == "else":
                raise Wrong(f"{nodes[i].where}: an else without an if")
            self.line(nodes[i], words, block)
            i += 1

    def branches(self, nodes, i, block):
        """An if with its else branches; returns the line behind them."""
        chain, first = [], True
        while i < len(nodes):
            words = Words(nodes[i].where, nodes[i].text)
            is_else = words.skip("else")
            if is_else == first:
                break
            row = Row(nodes[i].where, "IF", Path(".", block.made, False, [], 0, False))
            row.line = nodes[i].text
            if words.skip("if"):
                row.conditions = self.conditions(words, block)
            elif words.words:
                raise Wrong(f"{nodes[i].where}: expected 'else' or 'else if'")
            self.add(row, block)
            if not nodes[i].below:
                raise Wrong(f"{nodes[i].where}: nothing is below the condition")
            self.lines(nodes[i].below, block)
            row.end = len(self.rows)
            chain.append(row)
            first = False
            i += 1
            if is_else and not row.conditions:
                break
        for row in chain:
            row.chain = len(self.rows)
        return i

    def line(self, node, words, block):
        where = node.where
        word = words.peek()
        if word in ("at", "each") and node.below:
            return self.enter(node, words, block)
        if node.below:
            raise Wrong(f"{node.below[0].where}: nothing can be below '{node.text}'")
        if word == "stop":
            words.take("stop")
            row = Row(where, "STOP", self.path(where, block, "."))
        else:
            path = self.path(where, block, "." if word in ("use", "hook") else words.take("a field"))
            row = self.statement(words, block, path)
            while words.skip("else"):
                row.flags.append("ELSE")
                row.line = node.text
                self.add(row, block)
                row = self.statement(words, block, path)
        if words.words:
            raise Wrong(f"{where}: '{words.peek()}' is not expected here")
        row.line = node.text
        self.add(row, block)
        return None

    def enter(self, node, words, block):
        word = words.take("at or each")
        path = self.path(node.where, block, words.take("a field"))
        if path.is_old or path.climbs:
            raise Wrong(f"{node.where}: a block is for a field of the object itself")
        row = Row(node.where, word.upper(), path)
        row.line = node.text
        if words.skip("as"):
            row.at = words.text("the name that messages have")
            row.flags.append("AT")
        if word == "each" and words.skip("unindexed"):
            row.flags.append("UNINDEXED")
        if words.words:
            raise Wrong(f"{node.where}: '{words.peek()}' is not expected here")
        if word == "each":
            self.shape(row, LONG, word)
            inside = Block(path.made.element, block, len(path.steps) + 1, path.made.shape == "MAP")
        else:
            inside = Block(path.made, block, len(path.steps))
        self.add(row, block)
        self.lines(node.below, inside)
        row.end = len(self.rows)

    # --- Files

    def read(self, path):
        self.package = None
        for node in read_tree(path):
            words = Words(node.where, node.text)
            word = words.take("a name")
            if word == "package":
                self.package = words.take("a package")
                if not any(p.stem == self.package for p in self.tables.packages):
                    raise Wrong(f"{node.where}: there is no package {self.package}")
            elif self.package is None:
                raise Wrong(f"{node.where}: expected 'package NAME' before it")
            elif word == "set":
                self.set_of(node, [name.strip() for name in "".join(words.words).split(",")])
                words.words.clear()
            else:
                self.program(node, word, words)
            if words.words:
                raise Wrong(f"{node.where}: '{words.peek()}' is not expected here")

    def set_of(self, node, names):
        """The same rules for each of the types, whose fields have the same names."""
        for name in names:
            made = self.type_named(node.where, name.partition("/")[0])
            key = (made.index, name.partition("/")[2])
            if key in self.sets:
                raise Wrong(f"{node.where}: the set {name} is at {self.sets[key][2]}, too")
            first = len(self.rows)
            self.lines(node.below, Block(made))
            self.sets[key] = (first, len(self.rows), node.where, made)

    def program(self, node, kind, words):
        made = self.type_named(node.where, kind)
        is_warn = words.skip("warn")
        is_of_old = is_warn and words.skip("of")
        if is_of_old and not words.skip("old"):
            raise Wrong(f"{node.where}: expected 'of old', not 'of {words.peek()}'")
        if "KIND" not in made.flags or not words.skip("on"):
            raise Wrong(f"{node.where}: expected 'KIND on OPERATION', 'KIND warn on OPERATION', 'set TYPE' or 'package NAME'")
        operations = self.operations(node.where, "".join(words.words))
        words.words.clear()
        first = len(self.rows)
        self.lines(node.below, Block(made))
        for operation in operations:
            key = (made.index, operation, is_warn)
            if key in self.programs:
                raise Wrong(f"{node.where}: this program is at {self.programs[key][2]}, too")
            self.programs[key] = (first, len(self.rows), node.where, is_of_old)

    def finish(self):
        """All files were read: the sets that `use` names."""
        package, edges = self.package, {}
        for row, of in self.uses:
            self.package = of
            name, path = row.set
            made = self.type_named(row.where, name.partition("/")[0])
            found = self.sets.get((made.index, name.partition("/")[2]))
            if found is None:
                raise Wrong(f"{row.where}: there is no set {name}")
            if made is not path.made:
                raise Wrong(f"{row.where}: {path.text} is a {path.made.go}, not a {made.go}")
            row.end, row.chain = found[0], found[1]
            edges[row] = found
        self.package = package
        # The interpreter finds a program of warnings behind the one that has validated the object.
        for (index, operation, is_warn), (_, _, where, _) in self.programs.items():
            if is_warn and (index, operation, False) not in self.programs:
                raise Wrong(f"{where}: warnings on {OPERATIONS[operation]} need a program without 'warn' for it")
        # The interpreter recurses, so a set must not use itself.
        ranges = {(first, end): where for first, end, where, _ in self.sets.values()}
        used = {span: {(r.end, r.chain) for r in self.rows[span[0]:span[1]] if r.set} for span in ranges}

        def walk(span, way):
            if span in way:
                raise Wrong(f"{ranges[span]}: this set uses itself")
            for below in used[span]:
                walk(below, way + [span])
        for span in ranges:
            walk(span, [])


class Out:
    """The rows of the tables of src/schema/validate/validate_int.h."""

    def __init__(self, pool):
        self.pool, self.steps, self.rows, self.conditions, self.values, self.numbers = pool, [], [], [], [], []
        self.programs = []

    def path(self, path):
        if path is None:
            return "{0, 0, 0, 0}"
        first = len(self.steps)
        for step in path.steps:
            if isinstance(step, tuple):
                step = STEP_KEY | self.pool.add(step[1])
            self.steps.append(f"{step}u")
        return f"{{{first}, {len(path.steps)}, {path.climbs}, {int(path.is_old)}}}"

    def pooled(self, texts):
        first = len(self.values)
        self.values += [self.pool.add(text) for text in texts]
        return first

    def numbered(self, numbers):
        first = len(self.numbers)
        self.numbers += [str(n) if n > -(1 << 63) else "INT64_MIN" for n in numbers]
        return first

    def add(self, compiler):
        for row in compiler.rows:
            first_condition = len(self.conditions)
            for c in row.conditions:
                hook = f"COR_WHEN_{c.hook}" if c.hook else "0"
                number = self.numbered([c.number])
                self.conditions.append(f"{{{self.path(c.path)}, {self.path(c.other)}, {self.pooled(c.values)}, "
                                       f"{number}, {self.pool.add(c.arg)}, {c.mask}, {len(c.values)}, "
                                       f"COR_VALIDATE_TEST_{c.test}, {hook}, {int(c.is_not)}, {int(c.other is not None)}, "
                                       f"COR_VALIDATE_{c.compared}}}")
            flags = " | ".join(f"COR_VALIDATE_{flag}" for flag in dict.fromkeys(row.flags)) or "0"
            self.rows.append(f"{{{self.path(row.path)}, {self.path(row.other)}, {row.end}, {row.chain}, "
                             f"{self.pool.add(row.text)}, {self.pool.add(row.at)}, {self.pool.add(row.value or '')}, "
                             f"{self.pool.add(row.arg)}, {self.pooled(row.values)}, {self.numbered(row.numbers)}, "
                             f"{first_condition}, {self.pool.add(row.line)}, {row.block.index}, {len(row.values)}, {len(row.numbers)}, {flags}, "
                             f"{len(row.conditions)}, COR_VALIDATE_OP_{row.op}, {row.code}}}")
        for (index, operation, is_warn), (first, end, _, is_of_old) in sorted(compiler.programs.items()):
            self.programs.append(f"{{{index}, {first}, {end}, {operation}, {int(is_warn)}, {int(is_of_old)}}}")

    def parts(self, array):
        return [
            array("struct cor_validate_row", "cor_validate_rows", self.rows or ["{{0}}"]),
            array("struct cor_validate_condition", "cor_validate_conditions", self.conditions or ["{{0}}"]),
            array("struct cor_validate_program", "cor_validate_programs", self.programs or ["{0}"]),
            array("uint32_t", "cor_validate_steps", self.steps),
            array("uint32_t", "cor_validate_values", self.values),
            array("int64_t", "cor_validate_numbers", self.numbers),
            f"const size_t cor_validate_rows_n = {len(self.rows)}, cor_validate_programs_n = {len(self.programs)};\n",
        ]
