#!/usr/bin/env python3
"""What the server accepted, it accepts again: TAP, one test per kind.

An object of each kind is created, read, and sent back as it was read with fieldValidation=Strict, as a typed client would that knows no
other fields. The server must answer 200 without a warning, with the same object and the same resourceVersion: nothing was written, and nothing that it
sends is unknown to it. The objects are those of the records (minimal, full, with empty and with null values), and generated ones of invalid.py that
kube-apiserver accepts.

  accepted.py PROGRAM [WORD..]"""

import json
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

import answers  # noqa: E402
import invalid  # noqa: E402
from differential import chosen, coracle  # noqa: E402
from tables import Types  # noqa: E402

GENERATED = 6
JSON = {"Content-Type": "application/json"}


def objects(record, requests, recorded):
    """(name, object) of what a kind is tried with."""
    kind = record.kind
    for word in ("minimal", "full", "empty", "nulls"):
        if word in kind:
            yield word, kind[word]
    accepted = [request for request in requests if request.verb == "create" and recorded[request.name][0] == "ok"]
    draw = random.Random(kind["kind"])
    for request in draw.sample(accepted, min(GENERATED, len(accepted))):
        body = kind.get("full", kind["minimal"])
        for path, value in request.changes:
            body = invalid.with_value(body, path, value)
        yield request.name, body


def try_object(target, kind, body):
    """What is wrong, or nothing. An object that this server refuses is counted elsewhere."""
    status, created = target.json("POST", kind["path"], body)
    if status != 201:
        return ""
    kind = {**kind, "name": created["metadata"]["name"]}
    path = f"{kind['path']}/{kind['name']}"
    try:
        if kind["kind"].endswith(("CustomResourceDefinition", "APIService")):
            target.settle(path)
        _, read = target.json("GET", path)
        status, headers, text = target.request("PUT", path + "?fieldValidation=Strict", json.dumps(read), JSON)
        if status != 200:
            return f"the PUT of what was read is answered with {status} {text.decode()[:500]}"
        sent = json.loads(text)
        unknown = [warning for warning in answers.warnings(headers) if "unknown field" in warning]
        if unknown:
            return f"the PUT of what was read warns of {unknown}"
        if sent["metadata"]["resourceVersion"] != read["metadata"]["resourceVersion"]:
            return f"the PUT of what was read wrote: {answers.difference(read, sent)}"
        edits = answers.difference(read, sent)
        return f"the PUT of what was read answers something else: {edits}" if edits else ""
    finally:
        target.clean(kind)


def main():
    words, types = sys.argv[2:], Types()
    recorded, failed, number = invalid.read_record(), 0, 0
    with coracle(sys.argv[1], types) as target:
        target.prepare()
        for record, requests in invalid.all_requests(types):
            name = record.kind["kind"]
            if not chosen(words, name) or record.kind["is_review"]:
                continue
            number += 1
            wrong = [f"{what}: {why}" for what, body in objects(record, requests, recorded[name][1])
                     if (why := try_object(target, record.kind, body))]
            failed |= bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} {number} - {name.replace(' ', '-')}")
            for line in wrong:
                print("#", line)
    print(f"1..{number}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
