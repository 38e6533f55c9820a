#!/usr/bin/env python3
"""Bodies and patches that are wrong in some way, and what kube-apiserver answers to them: values of wrong types, unknown and repeated
fields, in JSON, YAML and the three kinds of patches. The requests and the answers are data (tests/differential/bodies.json).

  bodies.py PROGRAM             asks the program, and compares code, message and warnings
  bodies.py PROGRAM --record    asks the kube-apiserver of COR_KUBE_APISERVER, and keeps its answers

A case with "differs" is one whose answer differs here, for the reason it gives; the test fails when it does not any more."""

import json
import pathlib
import re
import sys
import tempfile

from fixture import Server

DATA = pathlib.Path(__file__).resolve().parent.parent / "differential/bodies.json"


def masked(message):
    """A refused patch shows the whole object, with its uid and times."""
    return re.sub(r'Invalid value: "{.*": ', 'Invalid value: "...": ', message, flags=re.S)


def ask(connection, token, case):
    headers = {"Content-Type": case.get("type", "application/json"), "Accept": "application/json", "Authorization": f"Bearer {token}"}
    connection.request(case["verb"], case["path"], case["body"].encode(), headers)
    response = connection.getresponse()
    content = json.loads(response.read())
    answer = {"code": response.status}
    if response.status >= 400:
        answer["message"] = masked(content["message"])
    warnings = [value for value in response.headers.get_all("Warning", []) if "has no effect on this server" not in value]
    return {**answer, "warnings": warnings} if warnings else answer


def record(cases):
    from etcd_cluster import Cluster
    from kube_apiserver import KubeApiserver
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd, KubeApiserver(etcd, pathlib.Path(name)) as kube:
        connection = kube.connect()
        for case in cases:
            case["answer"] = ask(connection, "kube-token", case)
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    DATA.write_text(f"[\n{lines}\n]\n")


def replay(program, cases):
    """A group of cases is a test: what stands before the first comma of their names."""
    groups = {}
    with Server(program) as server:
        connection = server.connect()
        for case in cases:
            answer = ask(connection, server.token, case)
            if (answer == case["answer"]) == ("differs" in case):
                wanted = f"# {case['answer']} differs: {case.get('differs')}"
                groups.setdefault(case["case"].split(",")[0], []).append(f"# {case['case']}: {answer}\n{wanted}")
            else:
                groups.setdefault(case["case"].split(",")[0], [])
    print(f"1..{len(groups)}")
    for i, (name, wrong) in enumerate(groups.items()):
        print("\n".join([*wrong, f"{'not ' if wrong else ''}ok {i + 1} - {name}"]))
    return any(groups.values())


if __name__ == "__main__":
    if "--record" in sys.argv:
        record(json.loads(DATA.read_text()))
    else:
        sys.exit(replay(sys.argv[1], json.loads(DATA.read_text())))
