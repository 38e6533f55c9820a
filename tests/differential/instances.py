#!/usr/bin/env python3
"""Custom resources on Coracle and on a kube-apiserver: definitions of definitions.py, right and wrong ones, and instances that are created,
updated, patched, applied, scaled, selected and shown as tables. Code, reason, causes as a set, warnings and object are compared.

  instances.py PROGRAM [WORD..]            replays the recorded answers and prints TAP, one test per group of definitions; words choose definitions
  instances.py PROGRAM --report [WORD..]   replays, and prints what differs and how much is equal
  instances.py PROGRAM --live [WORD..]     plays them on the kube-apiserver of COR_KUBE_APISERVER too, and prints both answers of what differs
  instances.py PROGRAM --record            asks it, and keeps a digest of each answer in records/instances.txt
  instances.py PROGRAM --update            replays, and brings instances.txt up to date, which names the steps that differ

The requests to a definition are made from its name, and from the codes that kube-apiserver gave to earlier ones: so a step is the same on both
servers, whatever our server answered before. Every second definition begins with a schema that preserves everything, under which objects are
stored that its own schema refuses: updates meet them (ratcheting). A record has one line per definition, and below it one per step:
the code, a digest of what is compared, and the fields and reasons of the causes."""

import argparse
import collections
import http.client
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

import histories  # noqa: E402
from cases import PATCH_TYPES  # noqa: E402
from definitions import all_definitions, mistakes  # noqa: E402
from differential import COMPAT, chosen, coracle, kube_apiserver  # noqa: E402
from fixture import REQUEST_S, await_it  # noqa: E402
from histories import APPLY, Request, digest, json_patch, merge_patch, read_lines  # noqa: E402
from schema_maker import DEFINITIONS  # noqa: E402
from tables import Types  # noqa: E402

RECORD = HERE / "records/instances.txt"
KNOWN = HERE / "instances.txt"
MISTAKES, CREATES, STORED, UPDATES, APPLIES = 3, 6, 3, 4, 6
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
VALIDATION = ("", "&fieldValidation=Strict", "&fieldValidation=Ignore", "&fieldValidation=Warn")
PROPERTY = re.compile(r"properties\[spec\]\.properties\[([^\]]+)\]")
NO_ANSWER = 999  # to some wrong definitions: a handler of kube-apiserver panics. They are not compared


# ---- answers ----

def reduced(status, headers, text, before):
    try:
        body = json.loads(text)
    except ValueError:
        body = text.decode(errors="replace")
    answer = histories.reduce(status, headers, body, {"volatile": None}, before)
    if isinstance(body, dict) and body.get("kind", "").endswith("List"):
        answer.pop("written", None)
    # An apply names its mistakes in the order of a Go map, and looks no further in a map when it has met an unknown field.
    head, mark, rest = answer.get("message", "").partition("errors:\n")
    if mark:
        answer["message"] = head + mark + "\n".join(sorted(rest.split("\n")))
    if "field not declared in schema" in answer.get("message", ""):
        answer["message"] = head.partition("): ")[0] + "): field not declared in schema"
    causes = answer.get("details", {}).get("causes", [])
    if causes:
        answer["details"]["causes"] = [cause for i, cause in enumerate(causes) if cause not in causes[:i]]
    return answer


def line_of(answer):
    """A line of the record: the code with the digest, and the causes in short."""
    causes = answer.get("details", {}).get("causes", [])
    short = "; ".join(f"{cause.get('field', '')} {cause.get('reason', '').removeprefix('FieldValue')}" for cause in causes)
    return f"{digest(answer)} {short}".rstrip()


class Step:
    def __init__(self, request, answer):
        self.request, self.answer, self.line = request, answer, line_of(answer)


# ---- the play ----

class Player:
    """Plays definitions on one server. `told` has the lines of the server that decides what is asked next; without it, it is this one."""

    def __init__(self, target, definitions, told=None):
        self.target, self.definitions, self.told = target, definitions, told
        self.steps = {definition.name: [] for definition in definitions}

    def send(self, request, accept=None):
        headers = {"Content-Type": request.content_type, **({"Accept": accept} if accept else {})}
        body = json.dumps(request.body, separators=(",", ":")) if request.body is not None else None
        try:
            return self.target.request(request.method, request.target, body, headers)
        except http.client.RemoteDisconnected:
            return NO_ANSWER, http.client.HTTPMessage(), b"{}"

    def ask(self, definition, request, before=None, accept=None):
        """Sends one step. The line that decides: what the told server answered, or this one."""
        step = Step(request, reduced(*self.send(request, accept), before))
        steps = self.steps[definition.name]
        steps.append(step)
        if self.told is None:
            return step.line
        lines = self.told.get(definition.name, [])
        assert len(lines) >= len(steps), f"the requests of {definition.name} are not the recorded ones: ./dev differential --custom --record"
        return lines[len(steps) - 1]

    def play(self):
        accepted = [definition for definition in self.definitions if self.define(definition)]
        self.await_all(accepted)
        for definition in accepted:
            if definition.is_loose_first:
                self.store_loose(definition)
        self.await_tight([definition for definition in accepted if definition.is_loose_first])
        for definition in accepted:
            Instances(self, definition).play()
        return self.steps

    def define(self, definition):
        """Whether the server has the definition, without the properties that it refuses."""
        for _ in range(5):
            line = self.ask(definition, Request("define", "POST", DEFINITIONS + "?dryRun=All", definition.body()))
            if line.startswith("201") or not definition.drop(PROPERTY.findall(line)):
                break
        for words, body in mistakes(definition, MISTAKES):
            self.ask(definition, Request(words, "POST", DEFINITIONS + "?dryRun=All", body))
        if not line.startswith("201"):
            return False
        status, _, text = self.send(Request("", "POST", DEFINITIONS, definition.body(definition.is_loose_first)))
        return status == 201

    def await_all(self, definitions):
        for definition in definitions:
            for version in definition.versions:
                self.wait(definition, lambda: self.target.request("GET", definition.collection.replace("VERSION", version))[0] == 200)

    def wait(self, definition, is_there):
        await_it(is_there, f"what {definition.name} defines", REQUEST_S)

    def store_loose(self, definition):
        maker = definition.maker("loose", 0.1)
        for number in range(2):
            spec = maker.value(definition.spec)
            spec = spec if isinstance(spec, dict) else {}
            name = f"old{number}"
            body = definition.instance(name, spec)
            line = self.ask(definition, Request("create under the loose schema", "POST", definition.collection.replace("VERSION", "v1"), body))
            if line.startswith("201"):
                definition.old[name] = spec
        crd = json.loads(self.target.request("GET", definition.path)[2])
        crd["spec"]["versions"] = definition.body()["spec"]["versions"]
        status, _, text = self.send(Request("", "PUT", definition.path, crd))
        assert status == 200, f"{definition.name}: {text[:2000]}"

    def await_tight(self, definitions):
        """Waits until no definition has its loose schema any more, which knows a field that no other does."""
        for definition in definitions:
            for version in definition.versions:
                body = {**definition.instance("probe", {}, version), "loose": True}
                probe = Request("", "POST", definition.collection.replace("VERSION", version) + "?dryRun=All&fieldValidation=Strict", body)
                self.wait(definition, lambda: b'unknown field \\"loose\\"' in self.send(probe)[2])


class Instances:
    """The steps with the instances of one definition."""

    def __init__(self, player, definition):
        self.player, self.definition, self.objects = player, definition, dict(definition.old)
        self.rng = definition.maker("steps").random

    def target(self, name="", query="", version=None):
        path = self.definition.collection.replace("VERSION", version or self.version())
        return f"{path}{'/' + name if name else ''}{'?' + query.lstrip('&') if query else ''}"

    def version(self):
        return self.rng.choice(self.definition.versions)

    def ask(self, words, method, target, body=None, content_type="application/json", name=None, accept=None):
        before = None
        if name is not None:
            before = self.read(name).get("metadata", {}).get("resourceVersion")
        return self.player.ask(self.definition, Request(words, method, target, body, content_type), before, accept)

    def read(self, name):
        return json.loads(self.player.target.request("GET", self.target(name, version=self.definition.versions[0]))[2])

    def play(self):
        self.create()
        for number in range(UPDATES):
            self.update(number)
        self.patch()
        self.apply()
        self.write_status()
        self.write_scale()
        self.show()
        self.delete()

    def spec_of(self, words, wild):
        spec = self.definition.maker(words, wild).value(self.definition.spec)
        return spec if isinstance(spec, dict) or wild else {}

    def beside(self, words):
        """Other members of an instance: the status, and what the schema has beside the spec."""
        definition, maker = self.definition, self.definition.maker(words + " beside", 0.1)
        schemas = {**definition.beside, **({"status": definition.status} if definition.status else {})}
        return {name: maker.value(schema) for name, schema in schemas.items() if maker.chance(0.4)}

    def create(self):
        for number in range(CREATES):
            words, version = f"create {number}", self.version()
            spec = self.spec_of(words, 0.15 if number % 2 else 0.02)
            body = self.definition.instance(f"n{number}", spec, version, **self.beside(words))
            self.ask(words, "POST", self.target(query="dryRun=All" + VALIDATION[number % 4], version=version), body)
        for number in range(STORED):
            words, version = f"store {number}", self.version()
            spec = self.spec_of(words, 0) if number < STORED - 1 else {}
            body = self.definition.instance(f"s{number}", spec, version, **self.beside(words))
            if self.ask(words, "POST", self.target(version=version), body).startswith("201"):
                self.objects[f"s{number}"] = spec

    def pick(self):
        """The name of an object that is there, and its spec as it was sent last."""
        name = self.rng.choice(sorted(self.objects)) if self.objects else "none"
        return name, self.objects.get(name, {})

    def changed(self, words, spec):
        """The spec with some members changed, drawn anew, or left out."""
        maker, properties = self.definition.maker(words, 0.05), self.definition.spec["properties"]
        made = {}
        for key, value in spec.items():
            if maker.chance(0.1):
                continue
            made[key] = maker.poked(value) if maker.chance(0.15) else maker.value(properties.get(key, {"type": "string"})) if maker.chance(0.15) else value
        added = maker.random.choice(sorted(properties))
        made[added] = maker.value(properties[added])
        return made

    def update(self, number):
        name, old = self.pick()
        words, version = f"update {number}", self.version()
        spec = self.changed(words, old) if number else old
        body = self.definition.instance(name, spec, version, **self.beside(words))
        body["metadata"]["resourceVersion"] = self.read(name).get("metadata", {}).get("resourceVersion", "1")
        body["metadata"]["labels"] = {"step": str(number)}
        line = self.ask(words, "PUT", self.target(name, VALIDATION[number % 4], version), body, name=name)
        if line.startswith("200"):
            self.objects[name] = spec

    def patch(self):
        for number in range(UPDATES):
            name, old = self.pick()
            words = f"patch {number}"
            new = self.changed(words, old)
            if number % 2:
                body, kind = [{**edit, "path": "/spec" + edit["path"]} for edit in json_patch(old, new)], "edits"
            else:
                body, kind = {"spec": merge_patch(old, new), "metadata": {"annotations": {"step": str(number)}}}, "merge"
            line = self.ask(f"{words} ({kind})", "PATCH", self.target(name, VALIDATION[self.rng.randrange(4)]), body, PATCH_TYPES[kind], name=name)
            if line.startswith("200"):
                self.objects[name] = new
        name, _ = self.pick()
        self.ask("strategic patch", "PATCH", self.target(name), {"spec": {}}, PATCH_TYPES["strategic"], name=name)

    def apply(self):
        applied = {}
        for number in range(APPLIES):
            manager, version = self.rng.choice("ab"), self.version()
            name = self.pick()[0] if number % 2 else "applied"
            words = f"apply {number} by {manager}"
            spec = self.changed(words, applied.get((manager, name), {})) if number else self.spec_of(words, 0)
            body = self.definition.instance(name, spec, version)
            force = "&force=true" if self.rng.random() < 0.5 else ""
            line = self.ask(words + force, "PATCH", self.target(name, f"fieldManager={manager}{force}", version), body, APPLY, name=name)
            if line.startswith("20"):
                applied[manager, name] = spec
                self.objects[name] = {**self.objects.get(name, {}), **spec}

    def write_status(self):
        definition, maker = self.definition, self.definition.maker("status", 0.08)
        schema = definition.status or {"type": "object"}
        for number in range(3):
            name, spec = self.pick()
            status = maker.value(schema)
            target = self.target(name + "/status", VALIDATION[number % 4], definition.versions[0])
            if number == 0:
                body = definition.instance(name, {}, status=status)
                body["metadata"]["resourceVersion"] = self.read(name).get("metadata", {}).get("resourceVersion", "1")
                self.ask("update/status", "PUT", target, body, name=name)
            elif number == 1:
                self.ask("merge patch/status", "PATCH", target, {"status": status, "spec": None}, PATCH_TYPES["merge"], name=name)
            else:
                body = definition.instance(name, {}, status=status)
                del body["spec"]
                self.ask("apply/status", "PATCH", target + ("&" if "?" in target else "?") + "fieldManager=s&force=true", body, APPLY, name=name)
        self.ask("get/status", "GET", self.target(name + "/status"))

    def write_scale(self):
        if not self.definition.scale:
            return
        name, _ = self.pick()
        scale = self.target(name + "/scale")
        body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}, "spec": {"replicas": 4}}
        self.ask("get/scale", "GET", scale)
        self.ask("merge patch/scale", "PATCH", scale, {"spec": {"replicas": 3}}, PATCH_TYPES["merge"])
        for replicas in (4, -1, 7):
            self.ask(f"update/scale to {replicas}", "PUT", scale, {**body, "spec": {"replicas": replicas}})
        self.ask("get after scale", "GET", self.target(name))

    def show(self):
        name, spec = self.pick()
        self.ask("table", "GET", self.target(), accept=TABLE)
        self.ask("table of one", "GET", self.target(name), accept=TABLE)
        self.ask("list", "GET", self.target())
        self.ask("metadata of one", "GET", self.target(name), accept=PARTIAL)
        for path in self.definition.selectable + [".spec.nope"]:
            value = spec.get(path.rpartition(".")[2], "")
            text = json.dumps(value) if isinstance(value, (bool, int)) else value if isinstance(value, str) and value.isascii() and value.isalnum() else ""
            self.ask(f"select by {path}", "GET", self.target(query=f"fieldSelector={path[1:]}%3D{text}"))

    def delete(self):
        name, _ = self.pick()
        self.ask("delete", "DELETE", self.target(name))
        self.ask("get what was deleted", "GET", self.target(name))


# ---- records ----

def read_record():
    lines, name = {}, ""
    for line in RECORD.read_text().splitlines() if RECORD.exists() else []:
        if line.startswith(" "):
            lines[name].append(line[1:])
        elif not line.startswith("#"):
            name = line
            lines[name] = []
    return lines


def write_record(steps):
    with RECORD.open("w") as file:
        file.write("# What a kube-apiserver answered to the steps of instances.py: a definition, and below it code, digest and causes of each answer.\n")
        for name, found in steps.items():
            file.write("".join([f"{name}\n"] + [f" {step.line}\n" for step in found]))


def group_of(name):
    """Random definitions are judged by tens."""
    word, _, number = name.rpartition("-")
    return f"{word}-{int(number) // 10}x" if word == "random" else name


def differing(steps, told):
    """(definition, number, step, line of the other server) of what differs."""
    for name, found in steps.items():
        for number, step in enumerate(found):
            if step.line != told[name][number] and not told[name][number].startswith(f"{NO_ANSWER}:"):
                yield name, number, step, told[name][number]


def report(steps, told, theirs=None):
    """What differs, with both answers if the other server's are at hand, and how much is equal."""
    count, by_code = 0, collections.Counter()
    for name, number, step, line in differing(steps, told):
        count += 1
        by_code[f"{line[:3]}, ours {step.line[:3]}"] += 1
        request = step.request
        print(f"{name} {number} {request.words}\n    {request.method} {request.target}\n    {json.dumps(request.body)[:1500]}")
        if theirs:
            histories.show_edits(step.answer, theirs[name][number].answer)
        else:
            print(f"    ours           {json.dumps(step.answer)[:1500]}\n    kube-apiserver {line}")
    total = sum(len(found) for found in steps.values())
    print(f"{len(steps)} definitions, {total} answers, {count} differ: {100 * (total - count) / total:.2f} % are equal; {dict(by_code)}")
    return 0


def judge(steps, told, known, unlike):
    """`unlike` is what offline_differences() found."""
    wrong, differ = collections.defaultdict(list), {}
    for name in steps:
        wrong[group_of(name)] += []
    for name, number, step, line in differing(steps, told):
        key = f"{name} {number}"
        differ[key] = step
        if key not in known:
            wrong[group_of(name)].append(f"{key} ({step.request.words}): {step.request.method} {step.request.target} is answered with {json.dumps(step.answer)[:2000]}, "
                                         f"kube-apiserver's answer was {line}; --live shows what differs")
    for key in known:
        name = key.rpartition(" ")[0]
        if name in steps and key not in differ:
            wrong[group_of(name)].append(f"{key} does not differ any more: ./dev differential --custom --update")
    reasons = {line.split(" | ")[0] for line in known.values()} - set(re.findall(r"^\| `([\w-]+)` \|", COMPAT.read_text(), re.M))
    wrong["crd-check"] = [f"{key}: {words}" for key, words in unlike.items() if key not in known]
    wrong["reasons"] = [f"docs/COMPAT.md has no row for the reason {reason}" for reason in sorted(reasons)]
    total = sum(len(found) for found in steps.values())
    wrong["share"] = [f"{len(differ)} of {total} answers differ"] if len(differ) > 0.02 * total else []
    return histories.judge(wrong)


# ---- the check without a server ----

def offline_findings(program, bodies):
    """The fields that `coracle crd check` finds wrong in each document."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write("\n---\n".join(json.dumps(body) for body in bodies))
        file.flush()
        done = subprocess.run([program, "crd", "check", file.name], capture_output=True, text=True, timeout=REQUEST_S)
    found = [set() for _ in bodies]
    for number, field in re.findall(r"^\S+#(\d+): error: ([^\n]*?): ", done.stdout + done.stderr, re.M):
        found[int(number) - 1].add(field)
    return found


def offline_differences(program, steps, told):
    """Where `coracle crd check` and the recorded causes of creations name other fields. Only 201 and 422 are compared: other codes come
    from the mode of fieldValidation, or from other objects."""
    wrong = {}
    for kinds in (("mistake",), ("create ", "store ")):
        asked = [(name, number, step) for name, found in steps.items() for number, step in enumerate(found)
                 if step.request.words.startswith(kinds) and "loose" not in step.request.words and told[name][number][:3] in ("201", "422")]
        bodies = [step.request.body for _, _, step in asked]
        crds = [] if kinds == ("mistake",) else [definition_of(steps[name]) for name in dict.fromkeys(name for name, *_ in asked)]
        for (name, number, step), fields in zip(asked, offline_findings(program, crds + bodies)[len(crds):]):
            recorded = {cause.rpartition(" ")[0] for cause in told[name][number].partition(" ")[2].split("; ")} - {""}
            if recorded != fields:
                wrong[f"{name} {number}"] = f"{step.request.words}: the check finds {sorted(fields)}, kube-apiserver {sorted(recorded)}"
    return wrong


def definition_of(steps):
    """The definition as it was accepted."""
    return [step.request.body for step in steps if step.request.words == "define"][-1]


def update(steps, told, known):
    lines = ["# Steps that differ from kube-apiserver's: the definition and the number of the step, the reason (a row of docs/COMPAT.md), and the request.",
             "# ./dev differential --custom --update removes those that have become equal, and adds those that differ."]
    reasons, found = {key: line.split(" | ")[0] for key, line in known.items()}, list(differing(steps, told))
    lines += [f"{name} {number} | {reasons.get(f'{name} {number}', 'unknown')} | {step.request.words}" for name, number, step, _ in found]
    KNOWN.write_text("\n".join(lines) + "\n")
    print(f"{len(found)} of {sum(len(steps_of) for steps_of in steps.values())} answers differ")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    for flag in ("report", "live", "record", "update"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_intermixed_args()
    assert not (options.words and (options.record or options.update)), "the record and the list have all definitions"

    def definitions():
        return [definition for definition in all_definitions() if chosen(options.words, definition.name)]

    types, theirs, told = Types(), None, None
    if options.live or options.record:
        with kube_apiserver(types) as peer:
            peer.prepare()
            theirs = Player(peer, definitions()).play()
        told = {name: [step.line for step in steps] for name, steps in theirs.items()}
        if options.record:
            write_record(theirs)
    told = told or read_record()
    with coracle(options.program, types) as target:
        target.prepare()
        steps = Player(target, definitions(), told).play()
    known = read_lines(KNOWN)
    if options.update:
        return update(steps, told, known)
    if options.report or theirs:
        return report(steps, told, theirs)
    return judge(steps, told, known, offline_differences(options.program, steps, told))


if __name__ == "__main__":
    sys.exit(main())
