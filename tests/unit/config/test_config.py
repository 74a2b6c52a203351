"""Which rules a configuration selects, and how it is read."""

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import jsonschema
import pytest

from torchdev_lint.config import Config, ConfigError, Selection, check_selectors
from torchdev_lint.config_file import config_from_table, config_in, load_config_file, override
from torchdev_lint.config_options import OPTIONS, Option, json_schema
from torchdev_lint.engine.settings import Settings

tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

CODES = ("TDV001", "TDV002", "TDV010", "TDV101")
OFF = frozenset({"TDV101"})


def selected(**settings: object) -> list[str]:
    config = Config(off_by_default=OFF, **settings)  # type: ignore[arg-type]
    return [code for code in CODES if config.selects(code, "a.py")]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, ["TDV001", "TDV002", "TDV010"], id="defaults"),
        pytest.param({"select": ("TDV001",)}, ["TDV001"], id="one code"),
        pytest.param({"select": ()}, [], id="nothing"),
        pytest.param({"select": ("TDV00",)}, ["TDV001", "TDV002"], id="prefix"),
        pytest.param({"select": ("ALL",)}, list(CODES), id="all"),
        pytest.param({"ignore": ("TDV0",)}, [], id="ignore by prefix"),
        pytest.param({"ignore": ("ALL",)}, [], id="ignore everything"),
        pytest.param(
            {"select": ("ALL",), "ignore": ("TDV00",)}, ["TDV010", "TDV101"], id="longer ignore wins"
        ),
        pytest.param({"select": ("TDV001",), "ignore": ("TDV0",)}, ["TDV001"], id="longer select wins"),
        pytest.param({"select": ("TDV001",), "ignore": ("TDV001",)}, [], id="ignore wins a draw"),
        pytest.param({"extend_select": ("TDV101",)}, list(CODES), id="extend the defaults"),
        pytest.param({"select": ("TDV001",), "extend_select": ("TDV1",)}, ["TDV001", "TDV101"], id="extend"),
        pytest.param(
            {"ignore": ("TDV001",), "command_line": Selection(select=("TDV0",))},
            ["TDV001", "TDV002", "TDV010"],
            id="a select on the command line starts afresh",
        ),
        pytest.param(
            {"select": ("TDV001", "TDV002"), "command_line": Selection(ignore=("TDV0",))},
            [],
            id="an ignore on the command line goes over the file's",
        ),
        pytest.param(
            {"ignore": ("TDV001",), "command_line": Selection(extend_select=("TDV0",))},
            ["TDV001", "TDV002", "TDV010"],
            id="an extend-select on the command line goes over the file's",
        ),
    ],
)
def test_selects(settings: dict[str, object], expected: list[str]) -> None:
    assert selected(**settings) == expected


def test_per_file_ignores_are_relative_to_the_root(tmp_path: Path) -> None:
    config = Config(root=str(tmp_path), per_file_ignores=(("tests/*", ("TDV0",)), ("conf_*.py", ("TDV101",))))
    assert not config.selects("TDV001", str(tmp_path / "tests/unit/a.py"))
    assert config.selects("TDV101", str(tmp_path / "tests/unit/a.py"))
    assert config.selects("TDV001", str(tmp_path / "src/tests.py"))
    assert not config.selects("TDV101", str(tmp_path / "src/conf_a.py"))


def test_a_negated_pattern_ignores_everywhere_else(tmp_path: Path) -> None:
    config = Config(root=str(tmp_path), per_file_ignores=(("!src/*", ("ALL",)),))
    assert config.selects("TDV001", str(tmp_path / "src/a.py"))
    assert not config.selects("TDV001", str(tmp_path / "tools/a.py"))


def test_a_file_that_cannot_be_parsed_is_reported_unless_it_is_ignored_by_code() -> None:
    assert Config(select=("TDV001",)).selects("TDV999", "a.py")
    assert Config(ignore=("TDV",)).selects("TDV999", "a.py")
    assert not Config(ignore=("TDV999",)).selects("TDV999", "a.py")
    assert not Config(command_line=Selection(ignore=("TDV999",))).selects("TDV999", "a.py")


@pytest.mark.parametrize(
    "settings",
    [
        {"select": ("ZZZ",)},
        {"ignore": ("TDV7",)},
        {"extend_select": ("",)},
        {"command_line": Selection(ignore=("tdv001",))},
        {"per_file_ignores": (("*", ("TDV0011",)),)},
    ],
)
def test_unknown_selectors_are_errors(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="unknown rule selector"):
        check_selectors(Config(**settings), CODES)  # type: ignore[arg-type]


def test_an_unknown_selector_suggests_the_near_one() -> None:
    with pytest.raises(ConfigError, match="did you mean 'TDV001'"):
        check_selectors(Config(select=("tdv001",)), CODES)


def test_reads_every_key(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(
        """
[tool.torchdev-lint]
select = ["TDV0"]
extend-select = ["TDV101"]
ignore = ["TDV002"]
tensor-constructors = ["encode", "mylib.text.encode"]
exclude = ["old"]
extend-exclude = ["gen"]
force-exclude = true
respect-gitignore = false
unsafe-fixes = true
output-format = "concise"
include = ["*.py"]
extend-include = ["*.pyw"]
fixable = ["TDV001"]
extend-fixable = ["TDV002"]
unfixable = ["TDV003"]
device-sources = ["mylib.device"]
stubs = ["stubs/a.toml"]
src = ["lib"]
target-torch = "2.1"
[tool.torchdev-lint.per-file-ignores]
"tests/*" = ["TDV001"]
[tool.torchdev-lint.extend-per-file-ignores]
"docs/*" = ["TDV002"]
"""
    )
    fields = {option.field for option in OPTIONS} - {"extend"}
    default = Config()
    read = config_in(str(tmp_path))
    assert all(getattr(read, field) != getattr(default, field) for field in fields), "an option is not tried"
    assert read == Config(
        root=str(tmp_path),
        source=str(file),
        include=("*.py",),
        extend_include=("*.pyw",),
        fixable=("TDV001",),
        extend_fixable=("TDV002",),
        unfixable=("TDV003",),
        device_sources=("mylib.device",),
        stubs=(str(tmp_path / "stubs/a.toml"),),
        src=("lib",),
        target_torch=(2, 1),
        extend_per_file_ignores=(("docs/*", ("TDV002",)),),
        select=("TDV0",),
        extend_select=("TDV101",),
        ignore=("TDV002",),
        per_file_ignores=(("tests/*", ("TDV001",)),),
        tensor_constructors=("encode", "mylib.text.encode"),
        exclude=("old",),
        extend_exclude=("gen",),
        force_exclude=True,
        respect_gitignore=False,
        unsafe_fixes=True,
        output_format="concise",
    )


def test_the_nearest_file_with_our_section_counts(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.torchdev-lint]\nselect = ["TDV001"]\n')
    (tmp_path / "pkg/deep").mkdir(parents=True)
    (tmp_path / "pkg/pyproject.toml").write_text(
        "[project]\nname = 'x'\nthis is not TOML, but not ours either"
    )
    config = Settings().for_directory(str(tmp_path / "pkg/deep"))
    assert config.root == str(tmp_path)
    assert config.select == ("TDV001",)
    assert Settings(Config(ignore=("TDV001",))).for_directory(str(tmp_path)).select is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('selct = ["TDV001"]', "unknown key 'selct' (= ['TDV001']); did you mean 'select'?"),
        ("Select = []", "unknown key 'Select'"),
        ('select = "TDV001"', "'select' must be a list of strings, not 'TDV001'"),
        ("select = [1]", "'select' must be a list of strings, not [1]"),
        ("unsafe-fixes = 1", "'unsafe-fixes' must be true or false, not 1"),
        ('output-format = "xml"', "'output-format' must be one of full, concise, grouped, json, "),
        ('tensor-constructors = ["a b"]', "'tensor-constructors' must be a list of function names"),
        ('per-file-ignores = ["a"]', "'per-file-ignores' must be a table"),
        ('per-file-ignores = {"a" = "b"}', "'per-file-ignores' must be a table"),
        ('output-format = "jsn"', "not 'jsn'; did you mean 'json'?"),
        ('target-torch = "two"', "'target-torch' must be a version of PyTorch such as '2.4', not 'two'"),
        ("target-torch = 2.4", "'target-torch' must be a version of PyTorch such as '2.4', not 2.4"),
        ("extend = 3", "'extend' must be a path, not 3"),
        ('extend = "none.toml"', "'extend': "),
        ('extend = "pyproject.toml"', "'extend' (= 'pyproject.toml') leads back to "),
        ("select = [", "not valid TOML"),
        (
            'lint = {select = ["TDV001"]}',
            "unknown key 'lint' (= {'select': ['TDV001']}); its keys stand one table further up",
        ),
    ],
)
def test_mistakes_are_errors_of_one_line_that_name_file_key_and_value(
    tmp_path: Path, line: str, message: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.torchdev-lint]\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        config_in(str(tmp_path))
    assert str(caught.value).startswith(f"{tmp_path / 'pyproject.toml'}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_section_that_is_no_table_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\ntorchdev-lint = 3\n")
    with pytest.raises(ConfigError, match="must be a table"):
        config_in(str(tmp_path))


def test_the_name_of_the_package_is_no_section(tmp_path: Path) -> None:
    """It would be passed over in silence, and all rules with it."""
    (tmp_path / "pyproject.toml").write_text('[tool.torchdev_lint]\nselect = ["TDV001"]\n')
    with pytest.raises(
        ConfigError, match=r"pyproject.toml: the table is 'tool.torchdev-lint', not 'tool.torchdev_lint'$"
    ):
        config_in(str(tmp_path))
    (tmp_path / "pyproject.toml").write_text("[tool.coverage.run]\nomit = ['torchdev_lint']\n")
    assert config_in(str(tmp_path)) is None


def test_bytes_that_are_no_text_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"[tool.torchdev-lint]\n# \xff\n")
    with pytest.raises(ConfigError, match="not valid UTF-8 at byte 23"):
        config_in(str(tmp_path))


def test_a_given_file_may_have_its_keys_at_the_top(tmp_path: Path) -> None:
    (tmp_path / "lint.toml").write_text('select = ["TDV001"]\n')
    (tmp_path / "section.toml").write_text('[tool.torchdev-lint]\nselect = ["TDV002"]\n')
    assert load_config_file(str(tmp_path / "lint.toml"), "/work").select == ("TDV001",)
    assert load_config_file(str(tmp_path / "section.toml"), "/work").select == ("TDV002",)
    assert load_config_file(str(tmp_path / "lint.toml"), "/work").root == "/work"


def test_a_given_pyproject_without_our_section_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    path = str(tmp_path / "pyproject.toml")
    assert load_config_file(path, "/") == Config(root="/", source=path)


def test_a_given_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read"):
        load_config_file(str(tmp_path / "none.toml"), ".")


def test_inline_settings_go_on_top() -> None:
    config = override(Config(select=("TDV001",), ignore=("TDV002",)), 'select = ["TDV1"]')
    assert (config.select, config.ignore) == (("TDV1",), ("TDV002",))
    with pytest.raises(ConfigError, match=r"\) in 'select=TDV001'; a string needs its quotes$"):
        override(Config(), "select=TDV001")
    with pytest.raises(ConfigError, match="--config: unknown key 'slect'"):
        override(config, "slect = []")


def test_config_is_hashable() -> None:
    table = {"per-file-ignores": {"a": ["TDV001"]}, "exclude": ["b"]}
    assert len({config_from_table(table, "x", Config()), config_from_table(table, "x", Config())}) == 1


def test_no_toml_parser_without_a_section_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tomllib", "tomli"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    config_in(str(tmp_path))


def test_a_file_of_our_own_goes_before_pyproject_toml(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.torchdev-lint]\nselect = ["TDV001"]\n')
    (tmp_path / "torchdev-lint.toml").write_text('select = ["TDV002"]\n')
    assert Settings().for_directory(str(tmp_path)).select == ("TDV002",)
    (tmp_path / ".torchdev-lint.toml").write_text('select = ["TDV003"]\n')
    assert Settings().for_directory(str(tmp_path)).select == ("TDV003",)


def test_an_empty_file_of_our_own_ends_the_search(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.torchdev-lint]\nselect = ["TDV001"]\n')
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/torchdev-lint.toml").touch()
    assert Settings().for_directory(str(tmp_path / "pkg")).select is None


def extended(tmp_path: Path, base: str, own: str) -> Config:
    (tmp_path / "base").mkdir()
    (tmp_path / "base/common.toml").write_text(base)
    (tmp_path / "torchdev-lint.toml").write_text(f'extend = "base/common.toml"\n{own}')
    config = config_in(str(tmp_path))
    assert config is not None
    return config


def test_an_extended_file_is_the_start(tmp_path: Path) -> None:
    base = 'ignore = ["TDV001"]\noutput-format = "json"\nsrc = ["lib"]\nstubs = ["a.toml"]\n'
    config = extended(tmp_path, base, 'output-format = "concise"\n')
    assert (config.ignore, config.output_format, config.root) == (("TDV001",), "concise", str(tmp_path))
    assert config.src == (str(tmp_path / "base/lib"),)
    assert config.stubs == (str(tmp_path / "base/a.toml"),)


def test_patterns_of_an_extended_file_stay_relative_to_it(tmp_path: Path) -> None:
    base = 'exclude = ["old", "a/b.py"]\nper-file-ignores = {"a/*" = ["TDV001"]}\nextend-exclude = ["x/y"]\n'
    config = extended(
        tmp_path, base, 'extend-exclude = ["z/*"]\nextend-per-file-ignores = {"c.py" = ["TDV002"]}\n'
    )
    home = tmp_path / "base"
    assert config.src == Config().src
    assert config.exclude == ("old", f"{home}/a/b.py")
    assert config.extend_exclude == (f"{home}/x/y", "z/*")
    assert config.per_file_ignores == ((f"{home}/a/*", ("TDV001",)),)
    assert config.extend_per_file_ignores == (("c.py", ("TDV002",)),)
    assert not config.selects("TDV001", str(home / "a/deep/b.py"))
    assert config.selects("TDV001", str(tmp_path / "a/b.py"))


@pytest.mark.parametrize(
    ("base", "own", "expected"),
    [
        ('ignore = ["TDV001"]', 'extend-select = ["TDV101"]', ["TDV002", "TDV010", "TDV101"]),
        ('ignore = ["TDV001"]', 'extend-select = ["TDV00"]', ["TDV001", "TDV002", "TDV010"]),
        ('ignore = ["TDV001"]', 'ignore = ["TDV002"]', ["TDV010"]),
        ('ignore = ["TDV001"]', 'select = ["TDV00"]', ["TDV001", "TDV002"]),
        ('select = ["TDV001"]', 'extend-select = ["TDV002"]', ["TDV001", "TDV002"]),
        ('select = ["TDV001", "TDV010"]', 'ignore = ["TDV00"]', ["TDV010"]),
        ('extend-select = ["TDV101"]', 'ignore = ["TDV1"]', ["TDV001", "TDV002", "TDV010"]),
    ],
)
def test_rules_of_a_file_go_on_top_of_the_extended(
    tmp_path: Path, base: str, own: str, expected: list[str]
) -> None:
    config = replace(extended(tmp_path, f"{base}\n", f"{own}\n"), off_by_default=OFF)
    assert [code for code in CODES if config.selects(code, "a.py")] == expected


def test_a_chain_that_comes_back_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('extend = "b.toml"\n')
    (tmp_path / "b.toml").write_text('extend = "a.toml"\n')
    with pytest.raises(ConfigError, match=r"b\.toml: 'extend' \(= 'a\.toml'\) leads back to "):
        load_config_file(str(tmp_path / "a.toml"), str(tmp_path))


def test_extend_knows_home_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LINT_BASE", "base")
    (tmp_path / "base.toml").write_text('ignore = ["TDV001"]\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/torchdev-lint.toml").write_text('extend = "~/$LINT_BASE.toml"\n')
    config = config_in(str(tmp_path / "sub"))
    assert config is not None
    assert config.ignore == ("TDV001",)
    with pytest.raises(ConfigError, match=r"'extend'.* can only stand in a file"):
        override(Config(), 'extend = "a.toml"')


def test_which_fixes_are_offered() -> None:
    assert Config().fixes("TDV001")
    assert not Config(unfixable=("TDV0",)).fixes("TDV001")
    assert Config(unfixable=("TDV0",), fixable=("TDV001",)).fixes("TDV001")
    assert not Config(fixable=("TDV002",)).fixes("TDV001")
    assert Config(fixable=("TDV002",), extend_fixable=("TDV001",)).fixes("TDV001")


def test_a_selector_s_error_names_file_and_key(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.torchdev-lint]\nunfixable = ["TDV01x"]\n')
    with pytest.raises(
        ConfigError, match=r"pyproject\.toml: 'unfixable': unknown rule selector 'TDV01x'; did you"
    ):
        Settings().for_directory(str(tmp_path))


SCHEMA = json_schema()


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_an_option_s_example_and_default_are_what_the_schema_and_the_reader_take(option: Option) -> None:
    validator = jsonschema.Draft7Validator(SCHEMA)
    document = tomllib.loads(option.example)
    table = document.get("tool", {}).get("torchdev-lint", document)
    assert list(table) == [option.name]
    assert not list(validator.iter_errors(table))
    if option.name != "extend":
        config_from_table(table, "x", Config())
    wrong = {option.name: {"nonsense": 1}}
    assert list(validator.iter_errors(wrong))
    with pytest.raises(ConfigError):
        config_from_table(wrong, "x", Config())
    if not option.default.startswith("none"):
        default = tomllib.loads(f"{option.name} = {option.default}")
        if option.name not in ("extend", "fixable"):
            assert getattr(config_from_table(default, "x", Config()), option.field) == getattr(
                Config(), option.field
            )


def test_the_schema_is_a_schema_and_knows_no_other_keys() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft7Validator(SCHEMA)
    assert list(validator.iter_errors({"selct": []}))
    assert list(validator.iter_errors({"select": ["TDX"]}))
    assert not list(validator.iter_errors({}))
