"""``proctor token``: Who may ask the gateway."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from proctor.cli import options
from proctor.cli.options import option

if TYPE_CHECKING:
    from proctor.a2a_gateway.auth.tokens import Token, Tokens

app = typer.Typer(no_args_is_help=True, help="Who may ask the gateway.", rich_markup_mode=None)


@app.command("create")
def create_token(
    name: Annotated[str, Argument(metavar="NAME", help="Whose it is; several tokens may have one name.")],
    is_admin: bool = Option(False, "--admin", help="Sees and may do everything, whosever it is."),
    expires: str | None = option(None, "PERIOD", "Valid for this long: 12h, 30d, 8w.  [default: without an end]"),
    at_once: int | None = option(None, "N", "Assessments at the same time.", min=1),
    per_day: int | None = option(None, "N", "Assessments begun in 24 hours.", min=1),
    cost_per_day: float | None = option(
        None, "AMOUNT", "The limit of the models' cost in 24 hours, in your prices' currency."
    ),
    file: options.TokensFile = None,
    state: options.State = None,
) -> None:
    """Make a token for a caller and print it, once. With the first one, the gateway begins to ask for them."""
    from proctor.a2a_gateway.auth.tokens import TokensError, make_token
    from proctor.client.opened_archive import period
    from proctor.common.errors import CommandError, ending_as
    from proctor.protocol.callers import Quotas

    if cost_per_day is not None and cost_per_day <= 0:
        raise typer.BadParameter("an amount is more than 0", param_hint="--cost-per-day")
    lasts = period(expires, "--expires") if expires else None
    tokens = _tokens(state, file)
    with ending_as(CommandError, TokensError):
        quotas = Quotas(at_once=at_once, per_day=per_day, cost_per_day=cost_per_day)
        token, text = make_token(name, is_admin=is_admin, lasts=lasts, quotas=quotas)
        if not tokens.path.exists():
            sentence = f"from now on gateways that read {tokens.path} ask every caller for a token"
            print(sentence, file=sys.stderr, flush=True)
        tokens.add(token)
    print(text)  # it can't be printed again


@app.command("list")
def list_tokens(
    as_json: options.AsJson = False,
    file: options.TokensFile = None,
    state: options.State = None,
) -> None:
    """List whose tokens there are."""
    from pydantic_core import to_json
    from rich.table import Table

    from proctor.a2a_gateway.auth.tokens import TokensError
    from proctor.common.console import make_console, show
    from proctor.common.errors import CommandError, ending_as

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


@app.command("revoke")
def revoke_token(
    which: Annotated[str, Argument(metavar="ID", help="A token's id, or a name: then all of its tokens.")],
    file: options.TokensFile = None,
    state: options.State = None,
) -> None:
    """Revoke a token, from now on and for every gateway."""
    from proctor.a2a_gateway.auth.tokens import TokensError
    from proctor.common.errors import CommandError, UsageError, ending_as

    with ending_as(CommandError, TokensError):
        gone = _tokens(state, file).remove(lambda token: which in (token.id, token.name))
    if not gone:
        raise UsageError(f"there is no token {which!r}: `proctor token list` shows those there are")
    for token in gone:
        print(f"{token.id} of {token.name} is revoked")


def _tokens(state: str | None, file: str | None) -> "Tokens":
    from proctor.a2a_gateway.auth.tokens import Tokens, tokens_path
    from proctor.common.settings import read_settings
    from proctor.common.state import make_folder
    from proctor.settings.config import GreenAgentConfig

    config = read_settings(GreenAgentConfig, state=state, tokens_file=file)
    path = tokens_path(config)
    if not config.tokens_file:
        make_folder(path.parent)
    return Tokens(path)


def _cells(token: "Token") -> tuple[str, ...]:
    quotas = token.quotas
    expires = f"{token.expires_at:%Y-%m-%d %H:%M}" if token.expires_at else "never"
    return (
        token.id,
        token.name,
        "everything (admin)" if token.is_admin else "its own",
        f"{token.created_at:%Y-%m-%d %H:%M}",
        f"{expires} (over)" if token.is_expired(datetime.now(UTC)) else expires,
        *("" if quota is None else f"{quota:g}" for quota in (quotas.at_once, quotas.per_day, quotas.cost_per_day)),
    )
