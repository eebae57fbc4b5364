"""``proctor token``: Who may ask the gateway."""

from typing import Annotated

import typer
from typer import Argument, Option

from proctor.commands import options
from proctor.commands.options import option

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
    from proctor.opened_archive import period
    from proctor.token_commands import create_token
    from proctor_protocol.callers import Quotas

    if cost_per_day is not None and cost_per_day <= 0:
        raise typer.BadParameter("an amount is more than 0", param_hint="--cost-per-day")
    create_token(
        name,
        is_admin=is_admin,
        lasts=period(expires, "--expires") if expires else None,
        quotas=Quotas(at_once=at_once, per_day=per_day, cost_per_day=cost_per_day),
        state=state,
        file=file,
    )


@app.command("list")
def list_tokens(
    as_json: options.AsJson = False,
    file: options.TokensFile = None,
    state: options.State = None,
) -> None:
    """List whose tokens there are."""
    from proctor.token_commands import list_tokens

    list_tokens(as_json, state, file)


@app.command("revoke")
def revoke_token(
    which: Annotated[str, Argument(metavar="ID", help="A token's id, or a name: then all of its tokens.")],
    file: options.TokensFile = None,
    state: options.State = None,
) -> None:
    """Revoke a token, from now on and for every gateway."""
    from proctor.token_commands import revoke_tokens

    revoke_tokens(which, state, file)
