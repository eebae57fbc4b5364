"""``proctor token``: who may ask this deployment's gateways for something."""

import sys
from datetime import UTC, datetime, timedelta

from pydantic_core import to_json
from rich.table import Table

from a2a_gateway.auth.tokens import Token, Tokens, TokensError, make_token, tokens_path
from proctor.console import make_console, show
from proctor.errors import CommandError, UsageError, ending_as
from proctor.settings import read_settings
from proctor.state import make_folder
from proctor_protocol.callers import Quotas
from proctor_settings.config import GreenAgentConfig


def create_token(
    name: str, *, is_admin: bool, lasts: timedelta | None, quotas: Quotas, state: str | None, file: str | None
) -> None:
    """Make a token and print it; it can't be printed again.

    Args:
        name: of the caller.
        is_admin: the token may see and do everything.
        lasts: None for a token that doesn't expire.
        quotas: the caller's limits.
        state: the state folder; None for the settings' one.
        file: the file of tokens; None for the one that the settings name.

    Raises:
        CommandError: it can't be made or kept.
    """
    tokens = _tokens(state, file)
    with ending_as(CommandError, TokensError):
        token, text = make_token(name, is_admin=is_admin, lasts=lasts, quotas=quotas)
        if not tokens.path.exists():
            print(
                f"from now on gateways that read {tokens.path} ask every caller for a token",
                file=sys.stderr,
                flush=True,
            )
        tokens.add(token)
    print(text)


def list_tokens(as_json: bool, state: str | None, file: str | None) -> None:
    """Print whose tokens there are, the oldest first; never a token itself.

    Args:
        as_json: print a JSON array.
        state, file: as of ``create_token``.

    Raises:
        CommandError: the file can't be read.
    """
    with ending_as(CommandError, TokensError):
        tokens = _tokens(state, file).list_all()
    if as_json:
        shown = [token.model_dump(mode="json", exclude={"sha256"}) for token in tokens]
        sys.stdout.buffer.write(to_json(shown, indent=1) + b"\n")
        return
    if not tokens:
        print("there are no tokens: `proctor token create NAME` makes one")
        return
    table = Table(box=None, padding=(0, 2), pad_edge=False)
    for heading in ("id", "name", "may", "made", "expires", "at once", "per day", "cost per day"):
        table.add_column(heading)
    for token in tokens:
        table.add_row(*_cells(token))
    show(make_console(), table)


def revoke_tokens(which: str, state: str | None, file: str | None) -> None:
    """Revoke a token, by its id, or all tokens of a name.

    Args:
        which: a token's id, or a name.
        state, file: as of ``create_token``.

    Raises:
        UsageError: there is none.
        CommandError: the file can't be read or written.
    """
    with ending_as(CommandError, TokensError):
        gone = _tokens(state, file).remove(lambda token: which in (token.id, token.name))
    if not gone:
        raise UsageError(f"there is no token {which!r}: `proctor token list` shows those there are")
    for token in gone:
        print(f"{token.id} of {token.name} is revoked")


def _tokens(state: str | None, file: str | None) -> Tokens:
    config = read_settings(GreenAgentConfig, state=state, tokens_file=file)
    path = tokens_path(config)
    if not config.tokens_file:
        make_folder(path.parent)
    return Tokens(path)


def _cells(token: Token) -> tuple[str, ...]:
    quotas = token.quotas
    expires = f"{token.expires_at:%Y-%m-%d %H:%M}" if token.expires_at else "never"
    return (
        token.id,
        token.name,
        "everything (admin)" if token.is_admin else "its own",
        f"{token.created_at:%Y-%m-%d %H:%M}",
        f"{expires} (over)" if token.is_expired(datetime.now(UTC)) else expires,
        *("" if each is None else f"{each:g}" for each in (quotas.at_once, quotas.per_day, quotas.cost_per_day)),
    )
