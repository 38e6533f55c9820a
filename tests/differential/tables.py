"""The built-in types as api/*.types has them, read by the compiler of the tables, for the requests of the differential test."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import compile_types  # noqa: E402


class Types:
    def __init__(self, folder=ROOT / "api"):
        named, packages = {}, []
        for path in sorted(folder.glob("*.types")):
            compile_types.read_file(path, named, packages)
        compile_types.Tables(named, packages).link()
        for declared in named.values():
            if declared.shape == "STRUCT":
                compile_types.check_struct(declared)
        self.kinds = {}
        for declared in named.values():
            if "KIND" in declared.flags:
                package = declared.package
                api_version = f"{package.group}/{package.version}" if package.group else package.version
                self.kinds[f"{api_version} {declared.name}"] = declared

    def of(self, kind):
        """The struct of "apps/v1 Deployment"."""
        return self.kinds[kind]


def members(struct):
    """Its fields as JSON sees them, in the order of declaration; those of inlined structs stand among its own."""
    found = []
    compile_types.flatten(struct, [], found)
    return [field for field, _ in found]
