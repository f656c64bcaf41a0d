"""A small source tree that is built like PostgreSQL's: a real configure and real Makefiles.

Its compiler is the shell: what is installed are scripts that say a version, as `postgres` does.
"""

import subprocess
import tarfile
from pathlib import Path

HELP = """\
Optional Features:
  --disable-FEATURE       do not include FEATURE (same as --enable-FEATURE=no)
  --enable-debug          build with debugging symbols (-g)
  --enable-depend         turn on automatic dependency tracking
Optional Packages:
  --without-icu           build without ICU support
  --without-readline      do not use GNU Readline nor BSD Libedit for editing
  --with-lz4              build with LZ4 support
  --with-liburing         build with io_uring support, for asynchronous I/O
"""
CONFIGURE = """\
#!/bin/sh
PACKAGE_NAME='PostgreSQL'
PACKAGE_VERSION='{version}'
for option in "$@"; do
    case $option in
        --help) cat <<'END'
{help}
END
            exit 0 ;;
        --prefix=*) prefix=${{option#--prefix=}} ;;
        CFLAGS=*) flags=${{option#CFLAGS=}} ;;
    esac
done
{check}
echo "prefix = $prefix" > Makefile.global
echo "said = $flags$CFLAGS" >> Makefile.global
"""
MAKEFILE = """\
include Makefile.global
line = echo "postgres (PostgreSQL) {version}"
all:
	{work}
	printf '#!/bin/sh\\n# %s\\n%s\\n' "$(said)" '$(line)' > postgres
	chmod 755 postgres && cp postgres initdb
install: all
	mkdir -p $(DESTDIR)$(prefix)/bin $(DESTDIR)$(prefix)/share
	cp postgres initdb $(DESTDIR)$(prefix)/bin/
"""
CONTRIB = """\
include ../Makefile.global
all: ; touch pg_prewarm.control
install: all
	cp pg_prewarm.control $(DESTDIR)$(prefix)/share/
"""
SETTINGS = (
    "user.name=a",
    "user.email=a@b.invalid",
    "init.defaultBranch=main",
    "commit.gpgsign=false",
    "tag.gpgsign=false",
)


def make(folder: Path, version: str = "18.6", check: str = "", work: str = "true") -> Path:
    """The tree in `folder`. `check`: shell that configure runs; `work`: what make does first."""
    (folder / "contrib").mkdir(parents=True)
    configure = folder / "configure"
    configure.write_text(CONFIGURE.format(version=version, help=HELP, check=check))
    configure.chmod(0o755)
    (folder / "Makefile").write_text(MAKEFILE.format(version=version, work=work))
    (folder / "contrib" / "Makefile").write_text(CONTRIB)
    return folder


def tarball(tree: Path) -> Path:
    """The tree as a release has it: a tarball with one folder."""
    path = tree.parent / f"{tree.name}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tree, arcname="postgresql-18.6")
    return path


def git(folder: Path, *arguments: str) -> str:
    """Runs git there, as somebody."""
    settings = [word for one in SETTINGS for word in ("-c", one)]
    command = ["git", *settings, "-C", str(folder), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, subject: str, *files: tuple[str, str]) -> str:
    """Writes files, each by its name, and commits all that is changed; the commit's digits."""
    for name, text in files:
        (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", subject)
    return git(folder, "rev-parse", "HEAD")


def checkout(tree: Path) -> Path:
    """The tree as a git checkout with a commit and a tag."""
    git(tree, "init", "--quiet")
    commit(tree, "first")
    git(tree, "tag", "--annotate", "--message", "x", "REL_18_6")
    return tree
