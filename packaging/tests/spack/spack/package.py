"""As much of Spack's module as the recipe uses: what it declares, and commands that run."""

import os
import subprocess

versions = {}


class Package:
    pass


def license(*_):
    pass


def depends_on(*_, **__):
    pass


def variant(*_, **__):
    pass


def version(name, sha256):
    versions[name] = sha256


def join_path(*parts):
    return os.path.join(*parts)


def which(name, required):
    assert required

    def run(*arguments, extra_env=None):
        subprocess.run([name, *arguments], check=True, env={**os.environ, **(extra_env or {})})

    return run
