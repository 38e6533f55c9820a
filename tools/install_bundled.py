#!/usr/bin/env python3
"""Run by `meson install`: puts shared libraries that the system lacks (see unpack_next in tools/packages.sh) beside libcoracle, so that what
is installed does not need the clone. install_bundled.py LIBDIR FOLDER NAME...: lib<NAME>.so* of FOLDER into LIBDIR/coracle"""

import os
import pathlib
import shutil
import sys


def main():
    libdir, folder, names = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    if os.environ.get("MESON_INSTALL_DRY_RUN"):
        return
    if libdir.is_absolute():
        libdir = pathlib.Path(os.environ.get("DESTDIR") or "/") / libdir.relative_to("/")
    to = pathlib.Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"]) / libdir / "coracle"
    to.mkdir(parents=True, exist_ok=True)
    for name in names:
        for file in sorted(folder.glob(f"lib{name}.so*")):
            (to / file.name).unlink(missing_ok=True)
            shutil.copy2(file, to / file.name, follow_symlinks=False)


main()
