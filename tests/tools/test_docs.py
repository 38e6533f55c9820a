#!/usr/bin/env python3
"""TAP: the pages for those who know Kubernetes' code. docs/from-kubernetes.md has every noun that they would look for, with files that are
there; docs/way-of-an-event.md names functions that the files beside them have. Argument: the source root."""

import html
import pathlib
import re
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(sys.argv[1])
NOUNS, WALK, PICTURE = ROOT / "docs/from-kubernetes.md", ROOT / "docs/way-of-an-event.md", ROOT / "docs/way-of-an-event.svg"
CELL_MAX = 200
# The headings of the tables, and what each must have in its first column.
WANTED = {
    "From kube-apiserver's storage layer": """storage.Interface|Factory|DestroyFunc|UndecoratedStorage|StorageWithCacher|decorators|etcd3 store|watchChan|
        Transformer|Versioner|Cacher|cacherListerWatcher|startCaching|terminateAllWatchers|watchCache|watchCacheInterval|cacheWatcher|indexedWatchers|
        TriggerPublisherFunc|bookmark time buckets|timeBudget|incoming channel|HighWaterMark|dispatchEvents|registry Store|strategies|RESTOptions|
        APIGroupInfo|InstallAPIGroups|Scheme|CodecFactory|NegotiatedSerializer|universal decoder|ListResource|forceWatch|WatchServer|RecordLongRunning""",
    "From client-go": """ResourceEventHandlerFuncs|NewListWatchFromClient|NewSharedIndexInformer|NewNamedReflector|
        NewNamespaceKeyedIndexerAndReflector|InformerSynced|GetByKey|KeyListerGetter|AddIfNotPresent|ErrRequeue|ErrFIFOClosed|RetryOnError|
        MetaNamespaceIndexFunc|DeletionHandlingMetaNamespaceKeyFunc|sharedProcessor|HandleDeltas|processorListener|pendingNotifications|blockDeltas|
        cache.Controller|cache.Config|client-gen|lister-gen|informer-gen|deepcopy-gen|defaulter-gen|conversion-gen|register-gen|
        applyconfiguration-gen|openapi-gen|go-to-protobuf|validation-gen|prerelease-lifecycle-gen|SharedIndexInformer|DeltaFIFO|NewReflector""",
}
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")
CALL = re.compile(r"`([a-z]\w*)\(\)`")
OURS = re.compile(r"`(?:struct )?(cor_[a-z0-9_]+|COR_[A-Z0-9_]+)(?=[`.,(])")
GENERATED = re.compile(r"cor_[a-z]+_v\d")


def rows_of(text, heading):
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in lines[2:]]


def targets(page, text):
    return [(page.parent / found).resolve() for found in LINK.findall(text) if not re.match(r"[a-z]+:", found)]


def missing_nouns(text):
    """The nouns that no row of their table begins with."""
    found = []
    for heading, names in WANTED.items():
        first = " | ".join(row[0] for row in rows_of(text, heading)).replace("`", "")
        found += [f"{name} ({heading})" for name in re.split(r"\|\s*", names.strip()) if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", first)]
    return found


def wrong_rows(text):
    """Rows without a file that is there, and cells that are too long to be read as a table."""
    for heading in WANTED:
        for row in rows_of(text, heading):
            files = targets(NOUNS, row[1]) if len(row) == 3 else []
            if not files or not all(file.is_file() for file in files):
                yield f"{row[0]}: names no file, or one that is not there"
            yield from (f"{row[0]}: a cell has {len(cell)} characters" for cell in row if len(cell) > CELL_MAX)


def unknown_names(text, sources):
    return sorted({name for name in OURS.findall(text) if not GENERATED.match(name) and not re.search(rf"\b{name}\b", sources)})


def is_defined(name, source):
    return re.search(rf"^(?!\s)[^\n;]*\b{name}\((?:[^;{{]*)\)\n\{{", source, re.M) is not None


def undefined_calls(text):
    """Functions that are named where no file is linked that defines them. A step is what stands below one heading."""
    for step in re.split(r"^#+ ", text, flags=re.M):
        sources = [file.read_text() for file in targets(WALK, step) if file.suffix == ".c"]
        for name in dict.fromkeys(CALL.findall(step)):
            if not any(is_defined(name, source) for source in sources):
                yield f"{step.splitlines()[0]}: no file of this step defines {name}()"


def every_noun_has_its_row():
    assert not (found := missing_nouns(NOUNS.read_text())), found


def every_row_points_to_files():
    assert not (found := list(wrong_rows(NOUNS.read_text()))), found


def what_stands_in_its_place_exists():
    places = [*(ROOT / "include").rglob("*.h"), *(ROOT / "src").rglob("*.h"), *(ROOT / "src").rglob("*.c")]
    assert not (found := unknown_names(NOUNS.read_text(), "\n".join(p.read_text() for p in places))), found


def the_walk_names_functions_of_its_files():
    assert not (found := list(undefined_calls(WALK.read_text()))), found


def the_picture_has_the_steps_of_the_walk():
    """Also for those who cannot see it: the description has them in the same words."""
    picture = xml.etree.ElementTree.parse(PICTURE).getroot()
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    told = picture.find("{http://www.w3.org/2000/svg}desc").text
    for number, name in re.findall(r"^### (\d+)\. (.+)$", WALK.read_text(), re.M):
        name = html.unescape(name)
        assert any(text.startswith(f"{number}  {name[:12]}") for text in texts), f"the picture lacks {number}. {name}"
        assert f"{number} {name[0].lower()}{name[1:12]}" in told, f"the description lacks {number}. {name}"


def what_is_missing_is_seen():
    """The checks above can fail."""
    text = NOUNS.read_text()
    assert missing_nouns(text.replace("`startCaching`", "`x`")) == ["startCaching (From kube-apiserver's storage layer)"]
    assert any("timeBudget" in line for line in wrong_rows(text.replace("cacher/time_budget.h", "cacher/time.h")))
    assert unknown_names(text + "`cor_no_such_thing`", "") and "cor_no_such_thing" in unknown_names("`cor_no_such_thing(x)`", "cor_no")
    assert list(undefined_calls("## 1. A\n`on_mail()` in [cachers_loop.c](../src/storage/cacher/cachers_loop.c)\n"))
    assert not list(undefined_calls("## 1. A\n`loop_on_mail()` in [cachers_loop.c](../src/storage/cacher/cachers_loop.c)\n"))


TESTS = [every_noun_has_its_row, every_row_points_to_files, what_stands_in_its_place_exists, the_walk_names_functions_of_its_files,
         the_picture_has_the_steps_of_the_walk, what_is_missing_is_seen]
print(f"1..{len(TESTS)}")
failed = 0
for number, test in enumerate(TESTS, 1):
    try:
        test()
        print(f"ok {number} - {test.__name__}")
    except AssertionError as error:
        failed += 1
        print(f"not ok {number} - {test.__name__}\n# {error}")
sys.exit(failed > 0)
