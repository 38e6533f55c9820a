"""A client that follows the objects of one resource: a watch that goes on where it was whenever its stream ends, as it does when the
definition changes or the server stops. What it sees is every change, each once, in order."""

import http.client
import json
import threading
import time

from fixture import await_it

PAUSE_S = 0.02


class Follower(threading.Thread):
    """`paths()`: the folders in which the resource can be watched now."""

    def __init__(self, server, paths, revision, patience_s):
        super().__init__(daemon=True)
        self.server, self.paths, self.revision, self.patience_s = server, paths, revision, patience_s
        self.seen, self.streams, self.failure = [], 0, None
        self.is_ending = False   # the resource may be gone
        self.was_ended = False   # it was, before a stream could go on

    def run(self):
        try:
            while self.follow():
                time.sleep(PAUSE_S)
        except Exception as why:  # told by whoever asks what was seen
            self.failure = why

    def follow(self):
        """One stream. Is there another one to begin?"""
        try:
            watch = self.server.connect()
            path = self.paths()[self.streams % len(self.paths())]
            watch.request("GET", f"{path}?watch=1&resourceVersion={self.revision}", headers={"Authorization": "Bearer " + self.server.token})
            answer = watch.getresponse()
        except (OSError, http.client.HTTPException):
            return True  # the server is away
        try:
            if answer.status == 404 and self.is_ending:
                self.was_ended = True
                return False
            assert answer.status in (200, 404, 429, 503), f"{path} from {self.revision}: {answer.status} {answer.read()!r}"
            self.streams += answer.status == 200
            while answer.status == 200 and (line := answer.readline()).endswith(b"\n"):
                self.take(json.loads(line))
        except (OSError, http.client.HTTPException):
            pass  # the server was killed
        finally:
            watch.close()
        return True

    def take(self, event):
        assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
        have = event["object"]["metadata"]
        self.revision = have["resourceVersion"]
        self.seen.append((event["type"], have["name"], self.revision if event["type"] != "DELETED" else None))

    def await_seen(self, wanted):
        """Until the changes are those that were made: (type, name, revision), the last None for a deletion."""
        def is_seen():
            if self.failure:
                raise AssertionError("the stream went wrong") from self.failure
            return len(self.seen) >= len(wanted)
        try:
            await_it(is_seen, "a change on the stream", self.patience_s)
        except AssertionError as why:
            raise AssertionError(f"{why}: {self.seen} of {wanted}") from self.failure
        assert self.seen == wanted, f"{self.seen} instead of {wanted}"

    def await_deletions(self, seen_before, names):
        """Until these objects are gone, and nothing but their marks came meanwhile; a watch that found the resource gone has its rest."""
        def is_seen():
            if self.failure:
                raise AssertionError("the stream went wrong") from self.failure
            return self.was_ended or len([one for one in self.seen if one[0] == "DELETED"]) >= len(names) + deleted
        deleted = len([one for one in seen_before if one[0] == "DELETED"])
        await_it(is_seen, f"the deletions of {sorted(names)}", self.patience_s)
        assert self.seen[:len(seen_before)] == seen_before, self.seen
        rest = self.seen[len(seen_before):]
        assert {kind for kind, _, _ in rest} <= {"MODIFIED", "DELETED"}, rest
        gone = [name for kind, name, _ in rest if kind == "DELETED"]
        assert len(gone) == len(set(gone)) and (self.was_ended or set(gone) == set(names)), (rest, names)
