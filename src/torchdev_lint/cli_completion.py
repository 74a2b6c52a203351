"""`torchdev-lint generate-shell-completion`: what completes commands, flags and their values, made from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from torchdev_lint.cli_parser import Parser

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "torchdev-lint"

COMMANDS: Mapping[str, tuple[str, str]] = {
    "check": ("cli_flags", "check files"),
    "rule": ("cli_rule", "print the documentation of rules"),
    "config": ("cli_config", "list or describe the options of the configuration"),
    "explain": ("cli_explain", "explain a pasted PyTorch error"),
    "infer": ("cli_infer", "print what was inferred of a file"),
    "clean": ("cli_clean", "remove the kept results of this project"),
    "server": ("cli_server", "serve an editor (Language Server Protocol)"),
    "verify": ("cli_verify", "run programs and compare with what is reported"),
    "doctor": ("cli_doctor", "say what devices this machine has"),
    "generate-shell-completion": ("cli_completion", "print a completion script"),
    "version": ("", "print the version"),
}
"""Each command with the module whose `parser()` has its arguments, and what it does."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: its spellings, what it is for, and what may follow: `values`, a file (`files`), or nothing (`takes` False)."""

    names: tuple[str, ...]
    help: str
    takes: bool = False
    values: tuple[str, ...] = ()
    files: bool = False
    shown: str = ""
    """How the help names what follows: `PATH`."""


@dataclass(frozen=True, slots=True)
class Command:
    """What can be completed behind a command; `values` are its words, and `files` says that paths are among them."""

    name: str
    help: str
    flags: tuple[Flag, ...]
    values: tuple[str, ...]
    files: bool
    words: str = ""
    """How the help names what is given besides flags: `[PATH ...]`."""


def parser() -> argparse.ArgumentParser:
    """The arguments of `generate-shell-completion`."""
    made = Parser(
        prog=f"{PROGRAM} generate-shell-completion",
        description="Print a script that completes commands, flags and their values. bash: "
        f'eval "$({PROGRAM} generate-shell-completion bash)" in ~/.bashrc; zsh: write it to a file _{PROGRAM} in $fpath; '
        f"fish: write it to ~/.config/fish/completions/{PROGRAM}.fish.",
        allow_abbrev=False,
    )
    made.add_argument("shell", choices=SHELLS)
    return made


def generate(arguments: Sequence[str]) -> int:
    """Print the script for the shell that `arguments` name; returns the exit code 0."""
    shell = parser().parse_args(arguments).shell
    writers: Mapping[str, Callable[[Sequence[Command]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    print(writers[shell](commands()), end="")
    return 0


def commands() -> list[Command]:
    """Every command, as its parser has it."""
    return [_command(name, module, text) for name, (module, text) in COMMANDS.items()]


def _command(name: str, module: str, text: str) -> Command:
    if not module:
        return Command(name, text, (), (), files=False)
    made: argparse.ArgumentParser = import_module(f"torchdev_lint.{module}").parser()
    flags, values, words, files = [], [], [], False
    for action in made._actions:
        if action.option_strings:
            flags.append(_flag(action))
        else:
            values += _values(action)
            words.append(_shown(action))
            files = files or _is_path(action)
    return Command(name, text, tuple(flags), tuple(values), files, " ".join(words))


def _shown(action: argparse.Action) -> str:
    name = str(action.metavar or "|".join(map(str, action.choices or ())) or action.dest)
    return {"*": f"[{name} ...]", "+": f"{name} ...", "?": f"[{name}]"}.get(str(action.nargs), name)


def _flag(action: argparse.Action) -> Flag:
    takes = action.nargs != 0 and not isinstance(action, argparse.BooleanOptionalAction)
    text = (action.help or "").replace("%%", "%")
    return Flag(
        tuple(action.option_strings),
        "" if text == argparse.SUPPRESS else text,
        takes,
        tuple(_values(action)) if takes else (),
        takes and _is_path(action),
        str(action.metavar or action.dest.upper()) if takes else "",
    )


def _values(action: argparse.Action) -> list[str]:
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    if action.metavar in ("CODE", "CODES"):
        from torchdev_lint.rules.registry import all_rules

        return [rule.code for rule in all_rules()] + (["ALL"] if action.metavar == "CODES" else [])
    if action.metavar == "KEY":
        from torchdev_lint.config_options import OPTIONS

        return [option.name for option in OPTIONS]
    return []


def _is_path(action: argparse.Action) -> bool:
    return isinstance(action.metavar, str) and action.metavar.partition("|")[0].partition("[")[0] in (
        "PATH",
        "FILE",
    )


def _bash(all_commands: Iterable[Command]) -> str:
    listed = list(all_commands)
    names = [one.name for one in listed]
    cases = []
    for one in listed:
        for flag in one.flags:
            if flag.takes:
                patterns = "|".join(f'"{one.name} {name}"' for name in flag.names)
                what = f'compgen -W "{" ".join(flag.values)}"' if flag.values else "compgen -f"
                reply = (
                    f'COMPREPLY=($({what} -- "$current"))' if flag.values or flag.files else "COMPREPLY=()"
                )
                cases.append(f"        {patterns}) {reply}; return ;;")
    flags = [
        f'            {one.name}) words="{" ".join(name for flag in one.flags for name in flag.names)}" ;;'
        for one in listed
    ]
    words = [
        f'            {one.name}) words="{" ".join(one.values)}" files={int(one.files)} ;;' for one in listed
    ]
    newline = "\n"
    return f"""# bash completion for {PROGRAM}
_torchdev_lint() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD - 1]}}" command=check words="" files=1
    if [[ $current == "=" ]]; then
        current=""
    elif [[ $previous == "=" ]]; then
        previous="${{COMP_WORDS[COMP_CWORD - 2]}}"
    fi
    case "${{COMP_WORDS[1]}}" in
        {"|".join(names)}) [[ $COMP_CWORD -gt 1 ]] && command="${{COMP_WORDS[1]}}" ;;
    esac
    case "$command $previous" in
{newline.join(cases)}
    esac
    if [[ $current == -* ]]; then
        case $command in
{newline.join(flags)}
        esac
        COMPREPLY=($(compgen -W "$words" -- "$current"))
        return
    fi
    case $command in
{newline.join(words)}
    esac
    [[ $COMP_CWORD -eq 1 ]] && words="{" ".join(names)}"
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [[ $files -eq 1 ]] && COMPREPLY+=($(compgen -f -- "$current"))
}}
complete -o filenames -o bashdefault -F _torchdev_lint {PROGRAM}
"""


def _zsh(all_commands: Iterable[Command]) -> str:
    listed = list(all_commands)
    described = "\n".join(f"    {_quoted(f'{one.name}:{one.help}')}" for one in listed)
    cases = []
    for one in listed:
        specs = [spec for flag in one.flags for spec in _zsh_flag(flag)]
        if one.values:
            specs.append(_quoted(f"*:value:({' '.join(one.values)})"))
        elif one.files:
            specs.append(_quoted("*:path:_files"))
        joined = " \\\n        ".join(specs) or ":"
        cases.append(f"    {one.name}) _arguments {joined} ;;")
    newline = "\n"
    return f"""#compdef {PROGRAM}
_torchdev_lint() {{
  local command=check
  local -a commands
  commands=(
{described}
  )
  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    _describe command commands
    _files
    return
  fi
  if (( ${{commands[(I)$words[2]:*]}} )); then
    command=$words[2]
    shift words
    (( CURRENT-- ))
  fi
  case $command in
{newline.join(cases)}
  esac
}}
if [[ $funcstack[1] == _{PROGRAM} ]]; then
  _torchdev_lint "$@"
else
  compdef _torchdev_lint {PROGRAM}
fi
"""


def _zsh_flag(flag: Flag) -> list[str]:
    text = flag.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    value = ""
    if flag.takes:
        value = (
            f":value:({' '.join(flag.values)})"
            if flag.values
            else ":path:_files"
            if flag.files
            else ":value:"
        )
    equals = "=" if flag.takes else ""
    return [
        _quoted(f"{name}{equals if name.startswith('--') else '+' if flag.takes else ''}[{text}]{value}")
        for name in flag.names
    ]


def _fish(all_commands: Iterable[Command]) -> str:
    listed = list(all_commands)
    names = " ".join(one.name for one in listed)
    lines = [f"# fish completion for {PROGRAM}"]
    lines += [
        f"complete -c {PROGRAM} -n 'not __fish_seen_subcommand_from {names}' -a {one.name} -d {_quoted(one.help)}"
        for one in listed
    ]
    for one in listed:
        seen = f"__fish_seen_subcommand_from {one.name}"
        if one.name == "check":  # The default command.
            seen = f"{seen}; or not __fish_seen_subcommand_from {names}"
        lead = f"complete -c {PROGRAM} -n {_quoted(seen)}"
        if not one.files:
            lines.append(f"{lead} -f")
        if one.values:
            lines.append(f"{lead} -a {_quoted(' '.join(one.values))}")
        for flag in one.flags:
            spelled = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names
            )
            value = ""
            if flag.takes:
                value = (
                    f" -x -a {_quoted(' '.join(flag.values))}"
                    if flag.values
                    else " -r"
                    if flag.files
                    else " -x"
                )
            lines.append(f"{lead} {spelled}{value} -d {_quoted(flag.help)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """The text in single quotes, as all three shells take it."""
    return "'" + text.replace("'", "'\\''") + "'"
