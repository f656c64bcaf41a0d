"""What compilers, configure and cmake are told, and what their failures mean."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno import engine
from dbdyno.builds import features, training
from dbdyno.builds import flags as recipe
from dbdyno.builds.features import ProgramFacts, ProgramReader
from dbdyno.builds.flags import Flags
from dbdyno.builds.log import BuildLog
from dbdyno.builds.step import BuildSite, BuildStep
from dbdyno.builds.training import Training
from dbdyno.engine import Build
from dbdyno.engine import installed as here
from dbdyno.engine.mysql import compile
from dbdyno.engine.postgres import compile as compile_postgres
from dbdyno.model.compiler import for_size
from dbdyno.model.error import ServerError
from server_place import a_place

COMMON = """
  --disable-spinlocks     do not use spinlocks
  --enable-debug          build with debugging symbols (-g)
  --with-llvm             build with LLVM based JIT support
  --without-readline      do not use GNU Readline nor BSD Libedit for editing
"""
LZ4 = "  --with-lz4              build with LZ4 support\n"
ZSTD = "  --with-zstd             build with ZSTD support\n"
HELP = {
    12: COMMON + "  --with-icu              build with ICU support\n",
    14: COMMON + LZ4,
    17: COMMON + LZ4 + ZSTD + "  --without-icu           build without ICU support\n",
    18: COMMON + LZ4 + ZSTD + "  --without-icu\n  --with-liburing         build with io_uring\n",
}
"""What these versions' `configure --help` says of their features, shortened."""


def chosen(**more: object) -> Flags:
    """Flags of PostgreSQL as they are asked for."""
    wish = {"recipe": None, "cflags": None, "march": None, "lto": False} | more
    return recipe.choose(engine.recipes("postgres"), **wish)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "cflags"),
    [
        ("def", ""),
        ("o2nofp", "-O2 -fno-omit-frame-pointer"),
        ("o2nofp_clang", "-O2 -fno-omit-frame-pointer"),
        ("o3", "-O3"),
        ("o3_nofp", "-O3 -fno-omit-frame-pointer"),
        ("o3_native", "-O3 -march=native -mtune=native"),
        ("o3_native_lto", "-O3 -march=native -mtune=native -flto"),
    ],
)
def test_recipes_are_the_flags_of_the_published_builds(name: str, cflags: str):
    assert chosen(recipe=name).cflags == cflags


def test_flags_of_ones_own_are_put_together():
    assert chosen() == chosen(recipe="def")
    assert chosen(cflags="-Os -g").cflags == "-Os -g"
    # Without a level of its own, -flto alone would turn all optimising off.
    assert chosen(lto=True, march="x86-64-v3").cflags == "-O2 -march=x86-64-v3 -flto"
    assert chosen(cflags="-O3", march="native", lto=True) == Flags(
        recipe=None, cflags=compile_postgres.RECIPES["o3_native_lto"].cflags
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"recipe": "o2nofb"}, "did you mean `o2nofp`"),
        (
            {"recipe": "o3", "cflags": "-O2"},
            "--recipe o3 says all flags: drop it, or drop --cflags",
        ),
        ({"recipe": "o3", "lto": True, "march": "native"}, "drop --march and --lto"),
        ({"cflags": "-DX='a"}, "cannot be split"),
    ],
)
def test_flags_that_cannot_be_are_one_line(asked: dict[str, object], said: str):
    with pytest.raises(ServerError, match=said):
        chosen(**asked)


def test_an_engine_that_is_not_built_is_refused():
    with pytest.raises(ServerError, match="no engine `sqlite` can be built: there are `postgres`"):
        recipe.choose(engine.recipes("sqlite"), recipe=None, cflags=None, march=None, lto=False)


@pytest.mark.parametrize(
    ("major", "wanted"),
    [(12, []), (14, ["--with-lz4"]), (17, ["--with-lz4"]), (18, ["--with-lz4", "--with-liburing"])],
)
def test_features_are_taken_where_configure_knows_them(major: int, wanted: list[str]):
    known = compile_postgres.known_options(HELP[major])
    found = compile_postgres.arguments(chosen(cflags="-O1"), (), known)
    assert found == [*wanted, "CFLAGS=-O1"]


def test_what_the_user_says_of_a_feature_stands():
    known = compile_postgres.known_options(HELP[18])
    own = ("--without-lz4", "--with-icu", "CC=clang", "PKG_CONFIG_PATH=/opt/x")
    found = compile_postgres.arguments(chosen(), own, known)
    assert found == ["--with-liburing", *own]


def test_code_that_is_optimised_as_it_is_linked_has_an_archiver_that_reads_it(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(compile_postgres.shutil, "which", lambda name: f"/usr/bin/{name}")
    lto = chosen(lto=True)
    assert compile_postgres.arguments(lto, (), ())[1:] == ["AR=gcc-ar", "RANLIB=gcc-ranlib"]
    by_clang = compile_postgres.arguments(lto, ("CC=clang-14",), ())
    assert by_clang[1:3] == ["AR=llvm-ar", "RANLIB=llvm-ranlib"]
    assert "AR=gcc-ar" not in compile_postgres.arguments(lto, ("AR=ar",), ())


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--with-libuirng", "did you mean `--with-liburing`"),
        ("--prefix=/x", "dyno decides where a build lies"),
        ("--bindir=/x", "dyno decides where a build lies"),
    ],
)
def test_options_that_configure_would_pass_over_are_refused(option: str, said: str):
    known = compile_postgres.known_options(HELP[18])
    with pytest.raises(ServerError, match=said):
        compile_postgres.arguments(chosen(), (option,), known)


def test_what_is_no_option_is_refused():
    assert recipe.options_of(['--with-zstd CC="ccache gcc"', "--with-llvm"]) == (
        "--with-zstd",
        "CC=ccache gcc",
        "--with-llvm",
    )
    with pytest.raises(ServerError, match="`zstd` is not an option"):
        recipe.options_of(["zstd"])


@pytest.mark.parametrize(
    ("said", "package"),
    [
        ("configure: error: Package requirements (liblz4) were not met:", "liblz4-dev"),
        ("configure: error: Package requirements (icu-uc icu-i18n) were not met:", "libicu-dev"),
        ("configure: error: ICU library not found\nIf you have ICU already", "libicu-dev"),
        ("configure: error: readline library not found\nIf you have libedit", "libreadline-dev"),
        ("configure: error: zlib library not found\nIf you have zlib already", "zlib1g-dev"),
        ("configure: error: Package requirements (liburing) were not met:", "liburing-dev"),
        ("configure: error: Package requirements (libzstd >= 1.4.0) were not met", "libzstd-dev"),
        ("configure: error: header file <openssl/ssl.h> is required for OpenSSL", "libssl-dev"),
        ("configure: error: bison not found", "bison"),
        ("configure: error: flex not found", "flex"),
        ("configure: error: no acceptable C compiler found in $PATH", "gcc libc6-dev"),
        ("configure: error: llvm-config not found, but required", "llvm-dev clang"),
        ("configure: error: The pkg-config script could not be found or is", "pkg-config"),
    ],
)
def test_what_configure_misses_is_named_with_its_package(said: str, package: str):
    log = f"checking for gcc... gcc\nchecking for zlib.h... yes\n{said}\n"
    told = compile_postgres.explain("configure", log)
    assert told.startswith(said.split("\n")[0])
    assert f"apt-get install {package}" in told


def test_a_failure_of_no_known_cause_is_told_as_it_was_said():
    said = "configure: error: do not put -ffast-math in CFLAGS"
    assert compile_postgres.explain("configure", f"checking\n{said}\n") == said
    log = "gcc -Werror=vla -c a.c\na.c:3:5: error: 'x' undeclared\nmake: *** [a.o] Error 1\n"
    assert compile_postgres.explain("compile", log) == "a.c:3:5: error: 'x' undeclared"
    log = "ar: x.a: out of space\nmake[2]: *** [Makefile:9: x.a] Error 1\nmake: *** [all] Error 2"
    assert compile_postgres.explain("compile", log).startswith("make[2]: ***")


def test_a_recipe_with_a_profile_compiles_twice_and_trains_in_between(tmp_path: Path):
    flags = chosen(recipe="o2nofp_pgo")
    site = BuildSite(tree=tmp_path / "tree", prefix=Path("/p"), root=tmp_path / "root", jobs=1)
    once = (BuildStep(phase="configure", command=["x"], folder=tmp_path),)
    taken: list[str] = []

    def rounds(by: Flags) -> tuple[BuildStep, ...]:
        taken.append(by.cflags)
        return once

    load = Training(engine="postgres", script="true", clean=("make", "clean"))
    steps = training.steps(flags, site, rounds, load)
    assert [step.phase for step in steps] == ["instrument"] * 3 + ["train"] * 2 + ["configure"]
    profile = tmp_path / "profile"
    assert taken == [
        f"-O2 -fno-omit-frame-pointer -fprofile-generate={profile}",
        f"-O2 -fno-omit-frame-pointer -fprofile-use={profile} -fprofile-correction "
        "-Wno-missing-profile",
    ]
    # Where it was compiled is no part of what it was compiled with.
    assert flags.words == "-O2 -fno-omit-frame-pointer -fprofile-use -fprofile-correction"
    assert training.steps(chosen(recipe="o2nofp"), site, rounds, load) == once
    with pytest.raises(ServerError, match="`CC=clang`: recipes with a profile need GCC"):
        compile_postgres.arguments(flags, ("CC=clang",), ())


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here: `apt-get install gcc`")
def test_what_the_first_program_does_is_written_under_its_account_for_the_second():
    with a_place() as place, BuildLog(place.cache_root / "log") as log:
        site = BuildSite(
            tree=place.cache_root / "tree",
            prefix=Path("/p"),
            root=place.cache_root / "root",
            jobs=1,
        )
        site.tree.mkdir()
        (site.tree / "main.c").write_text("int main(void) { return 0; }\n")
        (site.root / "p" / "bin").mkdir(parents=True)
        program = site.root / "p" / "bin" / "postgres"

        def rounds(flags: Flags) -> tuple[BuildStep, ...]:
            # A configure compiles and runs programs of one name, whose profiles fit no other.
            trial = f"echo '{'/**/' * len(flags.cflags)}int main(void){{return 0;}}' >conftest.c; "
            trial += f"gcc {flags.cflags} -o conftest conftest.c && ./conftest"
            strict = ["-Wmissing-profile", "-Werror"]
            words = ["gcc", *flags.cflags.split(), *strict, "-o", str(program), "main.c"]
            return (
                BuildStep(phase="configure", command=["sh", "-c", trial], folder=site.tree),
                BuildStep(phase="compile", command=words, folder=site.tree),
            )

        load = Training(engine="postgres", script='"$0/bin/postgres"', clean=["rm", str(program)])
        for step in training.steps(chosen(recipe="o2nofp_pgo"), site, rounds, load):
            assert log.run(step.command, step.folder, step.environment) is None
        (profile,) = (site.tree.parent / "profile").rglob("*.gcda")
        assert profile.stat().st_uid == place.account.uid
        assert program.exists() and b"gcda" not in program.read_bytes()
        assert not list(Path("/tmp").glob("dyno-train.*"))


def test_a_recipes_compiler_is_named_to_configure_and_may_be_another():
    clang = compile_postgres.RECIPES["o2nofp_clang"]
    assert compile_postgres.arguments(clang, (), ())[-1] == "CC=clang"
    other = compile_postgres.arguments(clang, ("CC=clang-19",), ())
    assert other[-2:] == ["CC=clang", "CC=clang-19"]  # configure takes the last


# --- MySQL and MariaDB -------------------------------------------------------------------------


def a_tree(folder: Path, version: tuple[int, int, int], *, mariadb: bool = False) -> Path:
    """What of a source tree says its version."""
    (folder / "libmariadb").mkdir(parents=True)
    (folder / "CMakeLists.txt").touch()
    parts = zip(("MAJOR", "MINOR", "PATCH"), version, strict=True)
    lines = [f"MYSQL_VERSION_{name}={number}\n" for name, number in parts]
    (folder / ("VERSION" if mariadb else "MYSQL_VERSION")).write_text("".join(lines))
    if mariadb:
        (folder / "storage" / "maria").mkdir(parents=True)
    return folder


def test_versions_of_mysql_and_mariadb_are_told_apart(tmp_path: Path):
    mysql = a_tree(tmp_path / "my", (8, 4, 6))
    mariadb = a_tree(tmp_path / "ma", (11, 8, 3), mariadb=True)
    assert compile.version(mysql, "x", "mysql") == "8.4.6"
    assert compile.version(mariadb, "x", "mariadb") == "11.8.3"
    with pytest.raises(ServerError, match=r"`x` is MariaDB 11.8.3: write `mariadb` for `mysql`"):
        compile.version(mariadb, "x", "mysql")
    with pytest.raises(ServerError, match=r"MySQL 5.5.62: 5.6 is the oldest that is built"):
        compile.version(a_tree(tmp_path / "old", (5, 5, 62)), "x", "mysql")
    with pytest.raises(ServerError, match="is not a source of MySQL"):
        compile.version(tmp_path, "x", "mysql")


def test_the_published_build_of_mysql_is_a_release_with_frame_pointers():
    flags = recipe.choose(
        engine.recipes("mysql"), recipe="rel_o2nofp", cflags=None, march=None, lto=False
    )
    found = compile.arguments("mysql", flags)
    assert found[:5] == [
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_C_FLAGS=-g1 -fno-omit-frame-pointer",
        "-DCMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG",
        "-DCMAKE_CXX_FLAGS=-g1 -fno-omit-frame-pointer",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG",
    ]
    assert {"-DWITH_SSL=system", "-DWITH_NUMA=ON", "-DWITH_ROUTER=OFF"} <= set(found)
    clang = compile.arguments("mysql", recipe.named(engine.recipes("mysql"), "rel_o2nofp_clang"))
    assert set(clang) == {*found, "-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++"}
    lto = compile.arguments("mysql", recipe.named(engine.recipes("mysql"), "rel_o2nofp_lto"))
    assert set(lto) == {*found, "-DWITH_LTO=ON"}
    with pytest.raises(ServerError, match="mariadb has no recipe `rel_o2nofp_lto`"):
        recipe.named(engine.recipes("mariadb"), "rel_o2nofp_lto")


def test_an_option_that_cmake_passes_over_is_found():
    said = (
        "CMake Warning:\n  Manually-specified variables were not used by the project:\n\n"
        "    WITH_ROKSDB\n    WITH_ROUTER\n\n\n-- Build files have been written to: /x\n"
    )
    options = ("-DWITH_ASAN=OFF", "-DWITH_ROKSDB:BOOL=ON")
    assert compile.ignored(said, options) == "-DWITH_ROKSDB:BOOL=ON"
    assert compile.ignored(said, options[:1]) is None


@pytest.mark.parametrize(
    ("said", "package"),
    [
        ("Cannot find appropriate system libraries for WITH_SSL=system.", "libssl-dev"),
        ("Curses library not found.  Please install appropriate package,", "libncurses-dev"),
        ("system pcre2-8 library is not found or unusable", "libpcre2-dev"),
        ("Could not find rpcgen", "rpcsvc-proto"),
    ],
)
def test_what_cmake_misses_is_named_with_its_package(said: str, package: str):
    log = f"-- The C compiler\nCMake Error at cmake/x.cmake:9 (MESSAGE):\n  {said}\n\n-- done\n"
    assert f"apt-get install {package}" in compile.explain("configure", log)


# --- Programs ----------------------------------------------------------------------------------


def a_program(
    path: Path, *, libraries: tuple[str, ...] = (), signed: tuple[str, ...] = (), constant: str = ""
) -> Path:
    """An ELF file that names these libraries, is signed so, and holds a constant between NULs."""
    path.parent.mkdir(exist_ok=True)
    names = [path.parent / name for name in libraries]
    cc = ["cc", "-shared", "-nostdlib", "-fno-ident", "-x", "c", "-Wl,--no-as-needed"]
    for name in names:
        made = [*cc, f"-Wl,-soname,{name.name}", "-o", name, "/dev/null"]
        subprocess.run(made, check=True)
    source = path.with_suffix(".c")
    idents = "".join(f'__asm__(".ident \\"{text}\\"");\n' for text in signed)
    source.write_text(f"{idents}const char words[] = {json.dumps(f'?{constant}?')};\n")
    subprocess.run([*cc, "-o", path, source, "-x", "none", *names], check=True)
    path.write_bytes(
        path.read_bytes().replace(b"?" + constant.encode() + b"?", b"\0%b\0" % constant.encode())
    )
    return path


GCC = "GCC: (Debian 12.2.0-14) 12.2.0"


def test_a_program_tells_its_libraries_and_its_compiler(tmp_path: Path):
    program = a_program(
        tmp_path / "bin" / "postgres",
        libraries=("liblz4.so.1", "libicuuc-0123abcd.so.72", "libc2.so.6"),
        signed=(GCC,),
        constant="PostgreSQL 17.6 on x86_64-pc-linux-gnu, compiled by gcc (X) 12.2.0, 64-bit",
    )
    assert features.read(program) == ProgramFacts(("lz4", "icu"), "gcc (X) 12.2.0", None)
    assert features.beside(program) == ()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "llvmjit.so").touch()
    assert features.beside(program) == ("llvm",)


@pytest.mark.parametrize(
    ("signed", "compiler"),
    [
        ((GCC,), "gcc (Debian 12.2.0-14) 12.2.0"),
        ((GCC, GCC), "gcc (Debian 12.2.0-14) 12.2.0"),
        ((GCC, "GCC: (GNU) 4.8.5"), None),  # it says not which did what
        (("Debian clang version 14.0.6",), "Debian clang version 14.0.6"),
        ((), None),
    ],
)
def test_a_compiler_is_known_where_it_alone_signed(
    tmp_path: Path, signed: tuple[str, ...], compiler: str | None
):
    assert features.read(a_program(tmp_path / "mysqld", signed=signed)).compiler == compiler


def test_what_is_no_whole_program_tells_nothing(tmp_path: Path):
    whole = a_program(tmp_path / "mysqld", libraries=("libaio.so.1",), signed=(GCC,)).read_bytes()
    broken = tmp_path / "broken"
    for content in (
        b"",
        b"#!/bin/sh\n",
        whole[:20],
        *(whole[:end] for end in range(64, len(whole), 997)),
    ):
        broken.write_bytes(content)
        facts = features.read(broken)
        assert facts.configured is None and set(facts.features) <= {"aio"}


def test_a_program_is_read_again_only_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    program = a_program(tmp_path / "mysqld", signed=(GCC,))
    first = ProgramReader(tmp_path)
    facts = first.read(program)
    first.keep()
    with monkeypatch.context() as patch:
        patch.setattr(features, "read", lambda program: pytest.fail("it was read before"))
        again = ProgramReader(tmp_path)
        assert again.read(program) == facts
        (tmp_path / features.KEPT).unlink()
        again.keep()  # nothing is new, so nothing is written
        assert not (tmp_path / features.KEPT).exists()
    first.keep()
    a_program(program, libraries=("libaio.so.1",))
    os.utime(program, ns=(1, 1))
    changed = ProgramReader(tmp_path)
    assert changed.read(program).features == ("aio",)
    program.unlink()
    changed.keep()
    assert (tmp_path / features.KEPT).read_bytes() == b"{}"
    (tmp_path / features.KEPT).write_bytes(b"[torn")
    assert ProgramReader(tmp_path).read(a_program(program)) == ProgramFacts()


CONFIGURES = {
    "zonky": (
        "'CFLAGS=-Os -DMAP_HUGETLB=0x40000' 'PYTHON=/usr/bin/python3' '--prefix=/usr/local/pg'",
        "-Os -DMAP_HUGETLB=0x40000",
    ),
    "debian": ("'--build=x86_64-linux-gnu' 'CFLAGS=-g -O2' 'CXXFLAGS=-O3'", "-g -O2"),
    "silent": ("'--prefix=/opt/pg'", "the source's own"),
    "meson": ("-Dssl=openssl", None),
}


@pytest.mark.parametrize("name", CONFIGURES)
def test_a_postgres_tells_the_flags_that_its_configure_was_given(tmp_path: Path, name: str):
    line, flags = CONFIGURES[name]
    program = a_program(tmp_path / "postgres", constant=f" {line}")
    build = Build(
        engine="postgres", base_dir=tmp_path, program=program, version="18.6", version_num=180006
    )
    assert features.flags(build) == flags
    assert features.flags(replace(build, engine="mysql")) is None


@pytest.mark.parametrize(
    ("flags", "small"),
    [("-Os -DX", True), ("-O2 -Oz", True), ("-Os -O2", False), ("-g", False), (None, False),
     ("-DX=-Os", False)],
)  # fmt: skip
def test_the_last_optimization_says_whether_a_server_is_small(flags: str | None, *, small: bool):
    assert for_size(flags) == small


def test_a_server_compiled_for_size_is_listed_as_such():
    row = here.InstalledServer(
        engine="postgres", version="18.6", origin="fetched", name=None, folder="/c",
        compiler="gcc 7.5.0", flags="-Os -DMAP_HUGETLB=0x40000", features=(),
    )  # fmt: skip
    (line,) = [one for one in here.lines([row]) if "flags" in one]
    assert line == "    flags     -Os -DMAP_HUGETLB=0x40000 (for size, not for speed)"


def test_the_table_of_servers_fits_eighty_columns():
    row = here.InstalledServer(
        engine="postgres",
        version="18.6",
        origin="built",
        name="pg18_o2nofp",
        folder="/var/cache/dyno/builds/pg18_o2nofp",
        compiler=None,
        flags=" ".join(["-fsome-flag"] * 12),
        features=("lz4", "icu"),
    )
    lines = here.lines([row])
    assert lines[0] == "postgres 18.6     built  build = pg18_o2nofp"
    assert "    compiler  not told" in lines
    assert "    features  lz4 icu" in lines
    assert max(map(len, lines)) <= 80
    assert here.lines([]) == ["no server is installed: dyno server fetch postgres 17"]
