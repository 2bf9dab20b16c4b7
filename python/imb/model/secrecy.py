"""Finds values that may be secret by their names, and passwords in URLs. imb records the name, never the value.

Such values are in environment variables, launcher arguments (`-x NAME=value`, `-genv NAME value`, `--token value`) and shell commands
(`NAME=value`, `--token=value`, `'Authorization: Bearer value'`)."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from imb.model.errors import ImbError
from imb.model.mpis import NAMED_OPTIONS, PUBLIC_SETTINGS

HIDDEN = "(hidden)"  # replaces a variable's value
MASK = "***"  # replaces a value in arguments and commands
_LEAST = 8  # characters; a shorter value may be an ordinary word, so it is not searched for in output
# Words that make a name secret. Words end at underscores, dashes and changes of case. Long ones also match within a word. Short ones do
# not, since they are parts of harmless words (PKEY, PASSIVE, AUTHOR), so their compounds are listed. src/system/environment.cpp has the same words.
_START = r"(?:(?<![A-Za-z0-9])|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))"
_END = r"(?:(?![A-Za-z0-9])|(?<=[a-z0-9])(?=[A-Z]))"
_WORDS = (
    r"[a-z0-9]*tokens?|[a-z0-9]*cookies?|creds?|jwt"
    r"|(?:api|app|access|private|priv|secret|signing|encryption|master|license|storage|ssh|ssl|tls|gpg|pgp|rsa|aws|db|my)?keys?"
    r"|(?:ssh|db|pg|my|mysql|ftp|smtp|mail|ldap|user|root|admin|store)?pass(?:code)?"
    r"|[xo]?auth|basicauth|httpauth|authorization|authentication|x?authority"
)
_SECRET = re.compile(rf"(?i:password|passwd|passphrase|secret|credential)|{_START}(?i:{_WORDS})[0-9]*{_END}")
_SECRET_KEY = rf"(?=[\w-]*(?:{_SECRET.pattern}))[A-Za-z][\w-]*"
# The password of a URL. A user without a password, as in https://TOKEN@host, counts as a token.
_URL = (
    r"""(?P<url>[A-Za-z][A-Za-z0-9+.-]*://(?P<user>[^\s/?#:@'"]*):|https?://)"""
    r"""(?P<password>[^\s/?#'"]+)(?=@(?P<host>[^\s/?#:@'"]+))"""
)
# Values that are not secret, as in StrictHostKeyChecking=no.
_PLAIN = re.compile(r"(yes|no|on|off|true|false|ask|none|[01])?$", re.IGNORECASE)
_NAME = r"[A-Za-z_][\w.-]*"
_ASSIGNED = re.compile(rf"(?<!\w)(?P<name>{_NAME})=(?P<value>.*)", re.DOTALL)
# Pieces of a shell command that may contain a value. Quoted text is one piece and is divided into pieces again.
_VALUE = (
    r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\"(?:(?!\\").)*\\"|\\.|\$\([^()]*\)|`[^`]*`|\$|[^\s;&|<>()'"`\\$])"""
)
# The scheme of a header is not secret; its credentials are.
_SCHEME = r"(?:(?:Bearer|Basic|Digest|Negotiate|Token|ApiKey)[ \t]+)?"
_HEADER = re.compile(rf"(?P<before>\s*(?P<name>[A-Za-z][\w-]*):\s*{_SCHEME})(?P<value>\S[^\n]*)")
_PIECE = re.compile(
    rf"(?<![\w$])(?P<name>{_NAME})=(?P<value>{_VALUE}*)|{_URL}"
    rf"|(?<![\w$-])(?P<header>(?P<key>{_SECRET_KEY})\s*:\s+{_SCHEME})(?P<content>{_VALUE}+)"
    rf"""|(?P<json>\\?["'](?P<member>{_SECRET_KEY})\\?["']\s*:\s*)"""
    r"""(?P<member_value>\\?"(?:(?!\\?").)*\\?"|'[^']*'|[^\s,{}\[\]"'\\]+)"""
    # A header in an argument of curl or wget: a blank after the colon is not needed.
    rf"|(?<!\S)(?P<header_option>-[A-Za-z]*H\s*|--header(?:\s+|=))(?=\\?[\"']?{_SECRET_KEY}\s*:)(?P<line>{_VALUE}+)"
    rf"|(?<!\S)(?P<option>--?[A-Za-z][\w-]*)(?P<gap>\s+)(?!-)(?P<argument>{_VALUE}+)"
    r"""|(?P<quote>['"])(?P<text>(?:(?!(?P=quote))(?:\\.|[^\\]))*)(?P=quote)|\\.""",
    re.DOTALL,
)
_PASSWORD = re.compile(_URL)
_QUOTED = re.compile(r"""(?P<quote>\\?["'])(?P<text>.*)(?P=quote)""", re.DOTALL)
_REFERENCE = re.compile(r"\$(\w+|\{\w+\})$")  # a reference to a variable contains no value
# By outermost quote: how a shell inserts a variable unchanged.
_INSERTED = {"": '"${%s}"', '"': "${%s}", "'": """'"${%s}"'"""}

# (name, value, outermost quote around the value or "") -> replacement of the value
_Change: TypeAlias = Callable[[str, str, str], str]


def is_secret(name: str) -> bool:
    """Whether a variable of this name may hold a secret."""
    return bool(_SECRET.search(name)) and not PUBLIC_SETTINGS.fullmatch(name)


def is_hidden(name: str, value: str) -> bool:
    """Whether the value of a variable must not be recorded, because of its name or a URL's password in it."""
    return value == HIDDEN or is_secret(name) or bool(_PASSWORD.search(value))


def hide_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables as they may be recorded."""
    return {name: HIDDEN if is_hidden(name, value) else value for name, value in variables.items()}


def secret_values(
    *variables: Mapping[str, str], arguments: Sequence[str] = (), commands: Iterable[str] = ()
) -> set[str]:
    """The values in variables, launcher arguments and shell commands (as executed) that may be secret and are long enough to be found
    in output."""
    values = {value for each in variables for name, value in each.items() if is_secret(name)}

    def collect(name: str, value: str, quote: str) -> str:
        values.add(value)
        return value

    for each in variables:
        for value in each.values():
            _change_in_urls(value, collect, "")
    _arguments(arguments, collect)
    for command in commands:
        _command(command, collect)
    return {
        value for value in values - {HIDDEN, MASK} if len(value) >= _LEAST and not _REFERENCE.match(value)
    }


def reveal_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables as a launch needs them: hidden values are taken from the environment.

    Raises ImbError if the environment does not have one of them.
    """
    return {
        name: _environment_message(name) if value == HIDDEN else value for name, value in variables.items()
    }


def hidden_arguments(words: Sequence[str]) -> tuple[str, ...]:
    """Launcher arguments as they may be recorded."""
    return _arguments(words, lambda name, value, quote: MASK)


def revealed_arguments(words: Sequence[str]) -> tuple[str, ...]:
    """Launcher arguments as a launch needs them, with hidden values from the environment. Raises ImbError if one is not there."""
    return _arguments(
        words, lambda name, value, quote: _environment_message(name) if value == MASK else value
    )


def hidden_command(command: str) -> str:
    """A shell command as it may be recorded. References to variables ($NAME) stay."""
    return _command(command, lambda name, value, quote: value if _REFERENCE.match(value) else MASK)


def revealed_command(command: str) -> str:
    """A shell command as it is executed: in place of hidden values, it refers to variables of the environment.

    Raises ImbError if the environment does not have one of them.
    """

    def reference(name: str, value: str, quote: str) -> str:
        if value != MASK:
            return value
        _environment_message(name)
        return _INSERTED[quote] % name

    return _command(command, reference)


def _environment_message(name: str) -> str:
    if name not in os.environ:
        raise ImbError(f"variable {name}: its value was not recorded, as it may be secret; export it first")
    return os.environ[name]


def _is_secret_value(name: str, value: str) -> bool:
    return is_secret(name) and not _PLAIN.match(value)


def _arguments(words: Sequence[str], change: _Change) -> tuple[str, ...]:
    """The words, with each value that may be secret replaced by the result of `change`."""
    changed = list(words)
    for at, word in enumerate(words):
        before = [each.lstrip("-") if each.startswith("-") else "" for each in words[max(at - 2, 0) : at]]
        if word.startswith("--export=") or words[max(at - 1, 0)] == "--export":  # srun's list of variables
            changed[at] = ",".join(_argument(part, change) for part in word.split(","))
        elif len(before) == 2 and before[0] in NAMED_OPTIONS and "=" not in words[at - 1]:
            if _is_secret_value(words[at - 1], word):
                changed[at] = change(words[at - 1], word, "")
            else:  # mca_base_env_list is a list of NAME=value
                changed[at] = ";".join(_argument(part, change) for part in word.split(";"))
        elif before and is_secret(before[-1]) and "=" not in before[-1] and not word.startswith("-"):
            changed[at] = (
                change(_variable(before[-1]), word, "") if _is_secret_value(before[-1], word) else word
            )
        else:
            changed[at] = _argument(word, change)
    return tuple(changed)


def _argument(word: str, change: _Change) -> str:
    """The same for one word: `NAME=value`, `--name=value`, either of them after another `=`, or a URL with a password."""
    word = _change_in_urls(word, change, "")
    if (match := _ASSIGNED.search(word)) is None:
        return word
    name, value = match["name"], match["value"]
    new = change(_variable(name), value, "") if _is_secret_value(name, value) else _argument(value, change)
    return f"{word[: match.start()]}{name}={new}"


def _command(text: str, change: _Change, quote: str = "") -> str:
    """The same for a shell command or a quoted part of it; `quote` is the outermost quote around that part."""
    if quote and (line := _header(text, change, quote)) and ": " in text:
        return line

    def value_of(name: str, value: str) -> str:
        match = _QUOTED.fullmatch(value)
        inner = match["text"] if match else value
        around = match["quote"] if match else ""
        if not _is_secret_value(name, inner):
            return _command(value, change, quote)
        return f"{around}{change(_variable(name), inner, quote or around)}{around}"

    def piece(match: re.Match[str]) -> str:
        if name := match["name"]:
            return f"{name}={value_of(name, match['value'])}"
        if match["url"]:
            return _url(match, change, quote)
        if header := match["header"]:
            return f"{header}{value_of(match['key'], match['content'])}"
        if json := match["json"]:
            return f"{json}{value_of(match['member'], match['member_value'])}"
        if header_option := match["header_option"]:
            quoted = _QUOTED.fullmatch(match["line"])
            inner, around = (quoted["text"], quoted["quote"]) if quoted else (match["line"], "")
            return f"{header_option}{around}{_header(inner, change, quote or around) or inner}{around}"
        if option := match["option"]:
            return f"{option}{match['gap']}{value_of(option.lstrip('-'), match['argument'])}"
        if around := match["quote"]:
            return f"{around}{_command(match['text'], change, quote or around)}{around}"
        return match[0]

    return _PIECE.sub(piece, text)


def _change_in_urls(text: str, change: _Change, quote: str) -> str:
    """The text, with passwords of URLs replaced by the result of `change`."""
    return _PASSWORD.sub(lambda match: _url(match, change, quote), text)


def _url(match: re.Match[str], change: _Change, quote: str) -> str:
    """The URL up to its host, with its password replaced. A password has no name of its own, so its variable is named after user and host."""
    name = "_".join(filter(None, ("password", match["user"], match["host"])))
    return f"{match['url']}{change(_variable(name), match['password'], quote)}"


def _header(text: str, change: _Change, quote: str) -> str | None:
    """The same for a whole line `Name: value`, as in HTTP. None if the text is not such a line, or its name is not secret."""
    match = _HEADER.fullmatch(text)
    if match is None or not _is_secret_value(match["name"], match["value"]):
        return None
    return f"{match['before']}{change(_variable(match['name']), match['value'], quote)}"


def _variable(name: str) -> str:
    """The name of the variable that supplies a hidden value: auth_token for an option --auth-token."""
    return re.sub(r"\W", "_", name)
