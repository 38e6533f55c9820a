#!/usr/bin/env python3
"""The same requests to Coracle and to a kube-apiserver: code, reason, message, details, warnings and object are compared.

  differential.py PROGRAM [WORD..]             replays the recorded answers and prints TAP; words choose kinds and cases
  differential.py PROGRAM --report [WORD..]    replays, and prints what differs and how much is equal
  differential.py PROGRAM --live [WORD..]      asks the kube-apiserver of COR_KUBE_APISERVER (and the etcd of COR_ETCD) now
  differential.py PROGRAM --record [WORD..]    the same, and keeps its answers in records/
  differential.py PROGRAM --record --grow ..   first makes new full objects with its help, which takes minutes
  differential.py PROGRAM --update             replays, and brings known.txt up to date

The replay fails when an answer differs that known.txt does not list, and when one is equal that it lists. cases.py makes the
requests, grow.py the full objects, answers.py says what is compared, records.py how the answers are kept."""

import argparse
import collections
import contextlib
import http.client
import json
import os
import pathlib
import ssl
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

import answers  # noqa: E402
import cases  # noqa: E402
import grow  # noqa: E402
import records  # noqa: E402
import wire  # noqa: E402
from etcd_cluster import wait_for  # noqa: E402
from fixture import REQUEST_S, Server, UnixConnection  # noqa: E402
from tables import ROOT, Types  # noqa: E402

NAMESPACE = "differential"
KNOWN = HERE / "known.txt"
COMPAT = ROOT / "docs/COMPAT.md"
# Plugins of admission, which are not what is compared here.
NO_ADMISSION = ("CertificateApproval,CertificateSigning,CertificateSubjectRestriction,DefaultIngressClass,DefaultStorageClass,"
                "DefaultTolerationSeconds,LimitRanger,PersistentVolumeClaimResize,PodSecurity,Priority,ResourceQuota,RuntimeClass,"
                "ServiceAccount,TaintNodesByCondition")


class Target:
    """A server and one connection to it; `connect` opens another when that has ended."""

    def __init__(self, connect, token, types):
        self.connect, self.token, self.types = connect, token, types
        self.connection = connect()
        self.created = "0"  # the resourceVersion of the kind's object when it was created

    def request(self, method, path, body=None, headers=None):
        sent = {"Authorization": f"Bearer {self.token}", "User-Agent": "differential", **(headers or {})}
        for attempt in (1, 2):
            try:
                self.connection.request(method, path, body, sent)
                response = self.connection.getresponse()
                return response.status, response.headers, response.read()
            except (http.client.HTTPException, ConnectionError):
                self.connection.close()
                self.connection = self.connect()
                if attempt == 2:
                    raise

    def settle(self, path):
        """Waits until the server has written the status of a CustomResourceDefinition or APIService that was just written; other objects
        have none to wait for."""
        def is_settled():
            crd = json.loads(self.request("GET", path)[2])
            status = crd.get("status", {})
            if crd["kind"] == "APIService":
                return any(c["type"] == "Available" for c in status.get("conditions") or [])
            if crd["kind"] != "CustomResourceDefinition":
                return True
            established = [c["status"] for c in status.get("conditions") or [] if c["type"] == "Established"]
            return established == ["True"] and status["acceptedNames"] == crd["spec"]["names"]

        wait_for(f"the status of {path}", REQUEST_S, is_settled)

    def json(self, method, path, body=None):
        status, _, answer = self.request(method, path, json.dumps(body, separators=(",", ":")) if body else None, {"Content-Type": "application/json"})
        return status, json.loads(answer)

    def prepare(self):
        """The namespace of the requests, whose service account the peer makes by a controller of its own."""
        self.json("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})

    def clean(self, kind):
        """Deletes the object of the cases, whatever would hold it back."""
        if kind["is_review"]:
            return
        path = f"{kind['path']}/{kind['name']}"
        merge = {"Content-Type": cases.PATCH_TYPES["merge"]}

        def is_gone():
            self.request("PATCH", path, json.dumps({"metadata": {"finalizers": None}}), merge)
            return self.request("GET", path)[0] == 404

        if is_gone():
            return
        self.request("DELETE", path + "?gracePeriodSeconds=0&propagationPolicy=Background")
        if kind["kind"] == "v1 Namespace":
            self.json("PUT", path + "/finalize", {**kind["minimal"], "spec": {"finalizers": []}})
        wait_for(f"the end of {path}", REQUEST_S, is_gone)

    def decode(self, body, content_type, volatile):
        if content_type.startswith(wire.MEDIA_TYPE):
            decoded = wire.decode(body, self.kind_of)
            # Without managedFields there would be no message of the metadata.
            if set(decoded.get("metadata", {})) == {"managedFields"}:
                del decoded["metadata"]
            return decoded
        if content_type.startswith("application/yaml"):
            return {"yaml": answers.yaml_digest(body.decode(), volatile)}
        try:
            return json.loads(body)
        except ValueError:
            return body.decode(errors="replace")

    def kind_of(self, api_version, name):
        return self.types.kinds.get(f"{api_version} {name}") or self.types.kinds[f"meta.k8s.io/v1 {name}"]

    def watch(self, path, accept, until):
        """Status, headers and frames of a watch, on a connection of its own, up to the first frame of the type `until`."""
        connection = self.connect()
        connection.request("GET", path, None, {"Authorization": f"Bearer {self.token}", "User-Agent": "differential", "Accept": accept})
        response = connection.getresponse()
        if response.status != 200:
            return response.status, response.headers, response.read()
        frames = []
        while not frames or frames[-1][0] != until:
            if response.headers["Content-Type"].startswith(wire.MEDIA_TYPE):
                frames.append(wire.decode_frame(response.read(int.from_bytes(response.read(4), "big")), self.kind_of))
            else:
                event = json.loads(response.readline())
                frames.append([event["type"], event["object"]])
        connection.close()
        return response.status, response.headers, {"frames": frames}

    def answer(self, case, kind):
        method, path, sent, headers = cases.request_of(case, kind, self.types)
        path = path.replace(cases.CREATED, self.created)
        if case.get("verb") == "watch":
            status, headers, body = self.watch(path, headers["Accept"], case["until"])
        else:
            status, headers, body = self.request(method, path, sent, headers)
        decoded = body
        if isinstance(body, bytes):
            decoded = self.decode(body, headers.get("Content-Type", ""), kind["volatile"])
        if case["case"] == "created" and status == 201:
            self.created = decoded["metadata"]["resourceVersion"]
            if kind["kind"].endswith("CustomResourceDefinition"):
                self.settle(f"{kind['path']}/{kind['name']}")
        if isinstance(decoded, dict) and kind["volatile"]:
            frames, rows = decoded.get("frames", []), decoded.get("rows", [])
            for item in (decoded, *decoded.get("items", []), *(frame[1] for frame in frames), *(row.get("object") or {} for row in rows)):
                item.pop(kind["volatile"], None)
        return answers.reduce(status, headers, decoded)


# Both servers know the same user: some objects have who sent them.
KUBE_USER = "kube-token,kube,kube,system:masters\n"


@contextlib.contextmanager
def coracle(program, types):
    with tempfile.TemporaryDirectory(prefix="cor-") as folder:
        socket = f"{folder}/s"
        tokens = pathlib.Path(folder) / "tokens.csv"
        tokens.write_text(KUBE_USER)
        with Server(program, "--unix-socket", socket, "--token-auth-file", str(tokens)):
            yield Target(lambda: UnixConnection(socket), "kube-token", types)


@contextlib.contextmanager
def kube_apiserver(types):
    """The one at COR_KUBE_APISERVER_PORT, if somebody keeps one running, else one of our own."""
    def connect(port):
        return http.client.HTTPSConnection("127.0.0.1", port, context=ssl._create_unverified_context(), timeout=REQUEST_S)

    if os.environ.get("COR_KUBE_APISERVER_PORT"):
        yield Target(lambda: connect(int(os.environ["COR_KUBE_APISERVER_PORT"])), "kube-token", types)
        return
    from etcd_cluster import Cluster
    from kube_apiserver import KubeApiserver
    with tempfile.TemporaryDirectory() as folder, Cluster() as etcd, \
            KubeApiserver(etcd, pathlib.Path(folder), f"--disable-admission-plugins={NO_ADMISSION}",
                          f"--storage-media-type={wire.MEDIA_TYPE}") as kube:
        yield Target(lambda: connect(kube.port), "kube-token", types)


def chosen(words, *texts):
    return all(any(word in text for text in texts) for word in words)


def kind_description(name, given):
    group_version, kind = name.split()
    base = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
    path = f"{base}/namespaces/{NAMESPACE}/{given['in']}" if "in" in given else f"{base}/{given['of']}"
    object_name, is_review = given.get("name", "one"), given.get("is_review", False)
    metadata = {} if is_review else {"name": object_name}
    minimal = {"apiVersion": group_version, "kind": kind, "metadata": metadata, **given["object"]}
    return {"kind": name, "path": path, "name": object_name, "minimal": minimal, "volatile": given.get("volatile"), "is_review": is_review}


def all_kinds(types):
    """(name, kind) of minimal.json."""
    for name, given in json.loads((HERE / "minimal.json").read_text()).items():
        kind = kind_description(name, given)
        kind["nulls"] = grow.with_nulls(kind["minimal"], types.of(name))
        yield name, kind


def ask_peer(peer, types, words, is_growing):
    """All cases with the answers of kube-apiserver, made from the tables as they are now."""
    before = {} if is_growing else {record.kind["kind"]: record.kind for record in records.read_all(all_kinds(types), types)}
    wrong_types, found, current = cases.WrongTypes(), [], {}

    def accepts(candidate):
        """A dry run of a creation, or of a write to the status of the object that is there."""
        if current["is_created"]:
            status, answer = peer.json("PUT", f"{current['path']}/{current['name']}/status?dryRun=All", candidate)
        else:
            status, answer = peer.json("POST", current["path"] + "?dryRun=All", candidate)
        return answer if status in (200, 201) else None

    def grown(kind, struct):
        nonlocal current
        current = {**kind, "is_created": False}
        found = {"full": grower.full(kind["minimal"], struct), "empty": grower.empty(kind["minimal"], struct)}
        peer.json("POST", kind["path"], found["full"])
        current["is_created"] = True
        status = grower.status(found["full"], struct)
        peer.clean(kind)
        return {**found, "status": status} if status else found

    grower = grow.Grower(accepts)
    peer.prepare()
    for name, kind in all_kinds(types):
        peer.clean(kind)
        if is_growing and not kind["is_review"]:
            kind.update(grown(kind, types.of(name)))
        else:
            kind.update({word: before[name][word] for word in records.GROWN if word in before.get(name, {})})
        record = records.Record(kind)
        for case in cases.all_cases(kind, types, wrong_types):
            if case.get("keep") or chosen(words, name, case["case"]):
                record.cases.append({**case, "answer": peer.answer(case, kind)})
        peer.clean(kind)
        found.append(record)
    return found


def compare(target, recorded, words):
    """(record, case, our answer) of each case."""
    target.prepare()
    for record in recorded:
        for case in record.cases:
            is_chosen = chosen(words, record.kind["kind"], case["case"])
            answer = target.answer(case, record.kind) if is_chosen or case.get("keep") else None
            if is_chosen:
                yield record, case, answer
        target.clean(record.kind)


class Known:
    """known.txt: lines "REASON | KIND | CASE" for a case whose answer differs, and "REASON | KIND | at PATH" for a place of the
    object that differs in whatever case (of whatever kind, if that is "*"), or "at warnings" for warnings of deprecation that are missing in whatever case.
    docs/COMPAT.md has a row for each reason."""

    def __init__(self):
        self.cases, self.places = {}, {}
        for line in KNOWN.read_text().splitlines() if KNOWN.exists() else []:
            if line and not line.startswith("#"):
                reason, kind, what = line.split(" | ")
                known = self.places if what.startswith("at ") else self.cases
                known[kind, what.removeprefix("at ")] = reason

    def lacking_rows(self):
        """Reasons that docs/COMPAT.md does not have."""
        text = COMPAT.read_text()
        reasons = {*self.cases.values(), *self.places.values()}
        return sorted(reason for reason in reasons if f"\n| `{reason}` |" not in text)

    def unexplained(self, kind, ours, theirs, used):
        """The aspects that differ, without an object that differs only at known places; those are added to `used`."""
        aspects = answers.differing(ours, theirs)
        if "warnings" in aspects and (kind, "warnings") in self.places and answers.lacks_deprecations(ours, theirs):
            used.add((kind, "warnings"))
            aspects.remove("warnings")
        if "object" not in aspects or "object" not in ours or "object" not in theirs:
            return aspects
        places = [(name, place) for name, place in self.places if name in (kind, "*")]
        edits = answers.difference(theirs["object"], ours["object"])
        found = {key for path, *_ in edits for key in places if answers.is_inside(path, key[1])}
        is_known = all(any(answers.is_inside(path, key[1]) for key in places) for path, *_ in edits)
        if not is_known:
            return aspects
        used |= found
        return [aspect for aspect in aspects if aspect != "object"]

    def write(self, found, used):
        """`found` has the reasons of the differing cases in their order, `used` the places that differ."""
        lines = ["# Answers that differ from kube-apiserver's: reason, kind, case; or a place of the object that differs in any case.",
                 "# docs/COMPAT.md describes the reasons. ./dev differential --update removes what has become equal, and adds what",
                 "# differs with a guessed reason."]
        lines += [f"{reason} | {kind} | at {place}" for (kind, place), reason in self.places.items() if (kind, place) in used]
        lines += [f"{reason} | {kind} | {case}" for (kind, case), reason in found.items()]
        KNOWN.write_text("\n".join(lines) + "\n")


def guess_reason(case, aspects, ours, theirs):
    """Why an answer that nobody has judged probably differs; a reason of docs/COMPAT.md."""
    name = case["case"]
    if answers.is_validation(theirs):
        return "validation"
    if case.get("verb") == "watch":
        return "bookmarks" if case["until"] == "BOOKMARK" else "deletions"
    if aspects == ["warnings"] and "unknown" not in name:
        return "warnings"
    if case.get("verb") == "patch":
        return "patches"
    if "unknown" in name or "repeated" in name:
        return "unknown-fields"
    return "types" if theirs["code"] == 400 else "objects"


class Counts:
    """How many answers of a kind are equal. Those that validation decides, and those that differ only at known places of the
    object, belong to other work and stand apart."""

    def __init__(self):
        self.equal = self.all_but_words = self.different = self.validation = self.places = 0

    def add(self, aspects, unexplained, theirs):
        if not aspects:
            self.equal += 1
        elif answers.is_validation(theirs):
            self.validation += 1
        elif not {"code", "reason", "object"} & set(aspects):
            self.all_but_words += 1
        elif not {"code", "reason", "object"} & set(unexplained):
            self.places += 1
        else:
            self.different += 1

    def __str__(self):
        judged = self.equal + self.all_but_words + self.different
        share = 100 * (self.equal + self.all_but_words) / judged if judged else 100
        return (f"{share:5.1f} % of {judged:4}: {self.equal} equal, {self.all_but_words} in all but words, "
                f"{self.different} different; {self.validation} by validation, {self.places} at known places")


def show(record, case, aspects, ours, theirs):
    print(f"\n{record.kind['kind']}: {case['case']}: {', '.join(aspects)}")
    for aspect in aspects:
        if aspect == "object" and "object" in ours and "object" in theirs:
            for path, *value in answers.difference(theirs["object"], ours["object"])[:6]:
                print(f"  object at {path}: we have {json.dumps(value[0])[:160] if value else 'nothing'}")
            for path, *value in answers.difference(ours["object"], theirs["object"])[:6]:
                print(f"  object at {path}: kube-apiserver has {json.dumps(value[0])[:160] if value else 'nothing'}")
        else:
            print(f"  ours   {aspect}: {json.dumps(ours.get(aspect))[:300]}\n  theirs {aspect}: {json.dumps(theirs.get(aspect))[:300]}")


def report(results):
    """Everything that differs, but for known places, then the counts per kind."""
    known, used, counts, total = Known(), set(), collections.defaultdict(Counts), Counts()
    for record, case, ours in results:
        theirs = case["answer"]
        aspects, unexplained = answers.differing(ours, theirs), known.unexplained(record.kind["kind"], ours, theirs, used)
        for counter in (counts[record.kind["kind"]], total):
            counter.add(aspects, unexplained, theirs)
        if unexplained:
            show(record, case, unexplained, ours, theirs)
    print()
    for name, counter in sorted(counts.items(), key=lambda item: (item[1].different, item[0])):
        print(f"{name:66} {counter}")
    print(f"{'all':66} {total}")


def update(results):
    known, found, used = Known(), {}, set()
    for record, case, ours in results:
        key = record.kind["kind"], case["case"]
        aspects = known.unexplained(record.kind["kind"], ours, case["answer"], used)
        if aspects:
            found[key] = known.cases.get(key) or guess_reason(case, aspects, ours, case["answer"])
    gone = len(set(known.cases) - set(found)) + len(set(known.places) - used)
    known.write(found, used)
    print(f"known.txt: {len(found)} differences, {gone} fewer and {len(set(found) - set(known.cases))} more than before")


def judge(results):
    """TAP, one test per kind. 1 if one failed."""
    known, used, wrong, equal = Known(), set(), collections.defaultdict(list), []
    counts = collections.defaultdict(Counts)
    for record, case, ours in results:
        name, theirs = record.kind["kind"], case["answer"]
        unexplained = known.unexplained(name, ours, theirs, used)
        counts[name].add(answers.differing(ours, theirs), unexplained, theirs)
        if unexplained and (name, case["case"]) not in known.cases:
            wrong[name].append(f"{case['case']} differs, in " + "; ".join(
                f"{a}: {json.dumps(ours.get(a))[:400]} instead of {json.dumps(theirs.get(a))[:400]}" for a in unexplained))
        elif not unexplained and (name, case["case"]) in known.cases:
            equal.append(f"{name}, {case['case']}")
    equal += [f"{name}, at {place}" for name, place in known.places if (name, place) not in used]
    tests = [(name.replace(" ", "-"), [str(counts[name])], wrong[name]) for name in counts]
    tests.append(("every-difference-has-a-line-in-COMPAT", [],
                  [f"docs/COMPAT.md lacks the reason {reason}" for reason in known.lacking_rows()]))
    tests.append(("what-has-become-equal-is-not-listed", [],
                  [f"{what} is equal now: ./dev differential --update" for what in equal]))
    for number, (name, notes, failures) in enumerate(tests, 1):
        print(f"{'not ok' if failures else 'ok'} {number} - {name}")
        for line in notes + failures:
            print("#", line)
    print(f"1..{len(tests)}")
    return 1 if any(failures for *_, failures in tests) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    for flag in ("report", "live", "record", "grow", "update"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_intermixed_args()
    types = Types()
    if options.live or options.record:
        with kube_apiserver(types) as peer:
            recorded = ask_peer(peer, types, options.words, options.grow)
        if options.record:
            assert not options.words, "a record has all kinds"
            records.write_all(recorded, types)
            again = records.read_all(all_kinds(types), types)
            assert [record.cases for record in again] == [record.cases for record in recorded], "the records lose an answer"
    else:
        recorded = records.read_all(all_kinds(types), types)
    with coracle(options.program, types) as target:
        stale = [record.kind["kind"] for record in recorded if record.is_stale]
        if stale:
            print(f"1..0\nBail out! The requests of {', '.join(stale)} are not the recorded ones: "
                  "./dev differential --record asks a kube-apiserver again")
            return 1
        results = compare(target, recorded, options.words)
        if options.update:
            return update(results)
        if options.report or options.live or options.record:
            return report(results)
        return judge(results)


if __name__ == "__main__":
    sys.exit(main())
