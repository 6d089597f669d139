"""python_package.py: a package of the Python index, for tests."""
import os
import subprocess
import sys
import tempfile


def use(package, version, folder):
    """Makes it importable. It is installed in folder/version if it is not there.

    That folder appears with all of its files, so an interrupted install leaves none.
    """
    whole = os.path.join(folder, version)
    if not os.path.isdir(whole):
        install(f"{package}=={version}", folder, whole)
    sys.path.insert(0, whole)


def install(requirement, folder, whole):
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="part-", dir=folder) as temporary:
        part = os.path.join(temporary, "part")
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", part, requirement],
                       check=True)
        try:
            os.rename(part, whole)
        except OSError:
            if not os.path.isdir(whole):  # else another process was faster
                raise
