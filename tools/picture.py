#!/usr/bin/env python3
"""picture.py CORACLE [--check] SVG: the terminal session that the README shows.

Three shells, each in a real terminal (a pseudo-terminal), get the commands of SESSION, one after the other, each when the
words that the previous one must print are there. What the terminals show is drawn as one SVG in which the lines appear as
they did; a viewer that plays no animations, or whose user wants none, shows the end of the session.

--check runs the session and compares its lines with those of an SVG that was made before: every word that depends on
the day (ages, times, ports, addresses) is masked. It fails when the picture shows what the program does not do any more.

kubectl must be in $PATH. Exit code 0; 1 and a message when a command did not print what it must, or --check found a
difference; 77 when there is no kubectl, or --check has another release of it than the picture."""

import html
import itertools
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

COLUMNS, ROWS = 112, 50
PROMPT = "$ "
PATIENCE_S = 60
SERVER, SHELL, WATCH = range(3)
TITLES = ("the server", "you", "a watch")
# The terminal that a command is typed in, the command, the terminal whose words end the step, and these words; None is
# the prompt behind the command.
SESSION = (
    (SERVER, "coracle serve --data demo --port 0", SERVER, r"try: .*\n"),
    (SHELL, "export KUBECONFIG=demo/admin.kubeconfig", SHELL, None),
    (SHELL, "kubectl create deployment web --image=nginx --replicas=3", SHELL, None),
    (SHELL, "kubectl expose deployment web --port=80 --type=NodePort", SHELL, None),
    (SHELL, "kubectl get deployments,services -o wide", SHELL, None),
    (WATCH, "kubectl --kubeconfig demo/admin.kubeconfig get deployments --watch", WATCH, r"web +0/3.*\n"),
    (SHELL, "kubectl scale deployment web --replicas=5", WATCH, r"web +0/5.*\n"),
    (SHELL, "kubectl explain deployment.spec.replicas", SHELL, None),
)
# How long a reader looks at a line before the next one comes, and at the whole before it begins again.
LINE_S, KEY_S, COMMAND_S, END_S = 0.12, 0.035, 0.9, 8.0
LINE_HEIGHT, CHAR_WIDTH, FONT_SIZE, MARGIN, BAR, GAP = 19, 8.43, 14, 14, 26, 10
MASKS = (
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"after [\d.]+ ms", "after N ms"),
    (r"\b\d+(ms|s|m\d+s|m)\b", "AGE"),
    (r"10\.\d+\.\d+\.\d+", "IP"),
    (r":3\d{4}/", ":PORT/"),
    (r" +", " "),
)


class Terminal:
    """A shell behind a pseudo-terminal, everything that it has shown, and how much of it was taken."""

    def __init__(self, folder, program):
        environment = {
            "PATH": f"{pathlib.Path(program).resolve().parent}:{os.environ['PATH']}",
            "HOME": folder, "PS1": PROMPT, "TERM": "dumb", "COLUMNS": str(COLUMNS), "LINES": str(ROWS), "LANG": "C.UTF-8",
        }
        for name in ("LD_LIBRARY_PATH", "TMPDIR"):
            if name in os.environ:
                environment[name] = os.environ[name]
        self.text, self.taken = "", 0
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], environment)
        self.wait_for(re.escape(PROMPT))
        self.take()

    def read(self, seconds):
        """Whether something came within that time."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return False
        try:
            self.text += os.read(self.terminal, 65536).decode("utf-8", "replace").replace("\r\n", "\n")
        except OSError:  # The shell has ended.
            return False
        return True

    def wait_for(self, words):
        """Reads until these words are in what was not taken yet."""
        end = time.monotonic() + PATIENCE_S
        while not re.search(words, self.text[self.taken:], re.MULTILINE):
            if time.monotonic() > end:
                sys.exit(f"picture: expected {words!r} within {PATIENCE_S} s, the terminal has:\n{self.text[self.taken:]}")
            self.read(0.1)

    def type(self, command):
        """Types the command; what the terminal shows from now on is its output."""
        self.take()
        os.write(self.terminal, command.encode() + b"\n")
        self.wait_for(re.escape(command) + r"\n")
        self.taken += len(command) + 1

    def take(self):
        """The lines that came since the last time, without the prompt behind them."""
        while self.read(0):
            pass
        new = self.text[self.taken:]
        self.taken = len(self.text)
        lines = [line.rstrip() for line in new.removesuffix(PROMPT).split("\n")]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def close(self):
        """Ends what runs in the terminal, and its shell."""
        self.take()
        os.write(self.terminal, b"\x03")
        self.wait_for(rf"{re.escape(PROMPT)}$")
        os.write(self.terminal, b"exit\n")
        while self.read(PATIENCE_S):
            pass
        os.close(self.terminal)
        os.waitpid(self.process, 0)


def play(program):
    """[(terminal, whether it was typed, line)] of the whole session, in the order of time."""
    shown = []
    with tempfile.TemporaryDirectory(prefix="coracle-picture.") as folder:
        terminals = [Terminal(folder, program) for _ in TITLES]
        try:
            for place, command, waits, words in SESSION:
                terminals[place].type(command)
                terminals[waits].wait_for(words or rf"^{re.escape(PROMPT)}$")
                if place != waits:
                    terminals[place].wait_for(rf"^{re.escape(PROMPT)}$")
                shown.append((place, True, PROMPT + command))
                for at, terminal in enumerate(terminals):
                    shown += [(at, False, line) for line in terminal.take()]
        finally:
            for terminal in reversed(terminals):
                terminal.close()
    return shown


def kubectl_release():
    """`1.34` and the like. Releases word the same answers differently."""
    done = subprocess.run(["kubectl", "version", "--client", "-o", "json"], capture_output=True, text=True, check=True)
    version = json.loads(done.stdout)["clientVersion"]
    return f"{version['major']}.{version['minor']}"


def width_of(text):
    return round(len(text) * CHAR_WIDTH, 1)


def times_of(shown):
    """When each line begins to be seen, and how long the whole takes."""
    times, now = [], 0.6
    for _, typed, line in shown:
        now += COMMAND_S if typed else LINE_S
        times.append(now)
        now += len(line) * KEY_S if typed else 0
    return times, now + END_S


def draw_line(i, typed, line, y, begin, total):
    """(its style, its elements): the line begins to be seen at its time, and a typed one is uncovered key by key."""
    at = 100 * begin / total
    style = (f"@keyframes l{i}{{0%,{at:.2f}%{{opacity:0}}{at + 0.01:.2f}%,100%{{opacity:1}}}}"
             f"#l{i}{{animation:l{i} {total:.1f}s infinite}}")
    if not typed:
        return style, f'<text id="l{i}" class="o" x="{MARGIN}" y="{y}" xml:space="preserve">{html.escape(line)}</text>'
    keys = len(line) - len(PROMPT)
    end = 100 * (begin + keys * KEY_S) / total
    left, wide = MARGIN + width_of(PROMPT), width_of(line)
    style += (f"\n@keyframes c{i}{{0%,{at:.2f}%{{transform:translateX(0)}}{end:.2f}%,100%{{transform:translateX({wide}px)}}}}"
              f"#c{i}{{animation:c{i} {total:.1f}s steps({keys}) infinite}}")
    words = f'<tspan class="p">{PROMPT}</tspan>{html.escape(line[len(PROMPT):])}'
    return style, (f'<text id="l{i}" class="t" x="{MARGIN}" y="{y}" xml:space="preserve">{words}</text>'
                   f'<rect id="c{i}" class="c" x="{left}" y="{y - FONT_SIZE}" width="{wide}" height="{LINE_HEIGHT}"/>')


def draw(shown):
    """The SVG of the session: the terminals below each other, each as high as what it shows in the end."""
    times, total = times_of(shown)
    width = int(max(len(line) for _, _, line in shown) * CHAR_WIDTH + 2 * MARGIN)
    styles, boxes, top = [], [], 0
    for place, title in enumerate(TITLES):
        mine = [(i, typed, line) for i, (at, typed, line) in enumerate(shown) if at == place]
        height = BAR + len(mine) * LINE_HEIGHT + 2 * MARGIN
        drawn = [draw_line(i, typed, line, BAR + MARGIN + row * LINE_HEIGHT + FONT_SIZE, times[i], total)
                 for row, (i, typed, line) in enumerate(mine) if line]
        styles += [style for style, _ in drawn]
        boxes.append(f'<svg y="{top}" width="{width}" height="{height}">'
                     f'<rect width="{width}" height="{height}" rx="8" class="b"/>'
                     f'<rect width="{width}" height="{BAR}" rx="8" class="h"/>'
                     f'<path d="M{MARGIN} {BAR / 2 + 4}h12m6 0h12m6 0h12" class="m"/>'
                     f'<text x="{MARGIN + 60}" y="{BAR / 2 + 5}" class="n">{title}</text>\n'
                     + "\n".join(elements for _, elements in drawn) + "</svg>")
        top += height + GAP
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top - GAP}" width="{width}" height="{top - GAP}">\n'
            "<title>Terminals: coracle starts; kubectl creates, lists, watches, scales and explains a Deployment</title>\n"
            f"<desc>kubectl {kubectl_release()}</desc>\n"
            "<style>\n"
            f"text{{font:{FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}}\n"
            ".b,.c{fill:#10202c}.h{fill:#1d3342}.n{fill:#8ea3b3}.m{stroke:#5cb8b2;stroke-width:2}\n"
            ".t{fill:#fff}.o{fill:#b9c4d0}.p{fill:#5cb8b2}.c{transform:translateX(4000px)}\n"
            + "\n".join(styles) + "\n@media(prefers-reduced-motion){text,.c{animation:none!important}}\n</style>\n"
            + "\n".join(boxes) + "\n</svg>\n")


def masked(line):
    for pattern, word in MASKS:
        line = re.sub(pattern, word, line)
    return line.strip()


def check(program, path):
    """Exits with the first line that differs from the picture's."""
    namespace = "{http://www.w3.org/2000/svg}"
    root = xml.etree.ElementTree.parse(path).getroot()
    drawn_with, present = root.findtext(namespace + "desc"), f"kubectl {kubectl_release()}"
    if drawn_with != present:
        print(f"picture: {path} was made with {drawn_with}, and this is {present}")
        sys.exit(77)
    shown = play(program)
    pictured = [masked("".join(text.itertext())) for text in root.iter(namespace + "text") if "id" in text.attrib]
    lines = [masked(line) for place in range(len(TITLES)) for at, _, line in shown if at == place and line]
    for want, have in itertools.zip_longest(pictured, lines, fillvalue=""):
        if want != have:
            sys.exit(f"picture: {path} shows\n  {want}\nand the session has\n  {have}\nRun ./dev picture, and look at the result.")


def main():
    words = [word for word in sys.argv[1:] if word != "--check"]
    if len(words) != 2:
        sys.exit("usage: picture.py CORACLE [--check] SVG")
    program, path = words
    if not shutil.which("kubectl"):
        print("picture: kubectl is not installed")
        sys.exit(77)
    if "--check" in sys.argv:
        check(program, path)
    else:
        pathlib.Path(path).write_text(draw(play(program)), encoding="utf-8")


if __name__ == "__main__":
    main()
