"""Commands that take each option once: of two values for the same thing, one would go unheard."""

from collections import Counter
from typing import Any

from typer.core import TyperCommand


class OnceCommand(TyperCommand):
    """A command that refuses an option with one value which is given twice."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look at the command line before it is read as usual."""
        _, _, in_order = self.make_parser(ctx).parse_args(args=list(args))
        for parameter, times in Counter(in_order).items():
            may_repeat = getattr(parameter, "is_flag", False) or getattr(parameter, "multiple", False)
            if times > 1 and parameter.param_type_name == "option" and not may_repeat:
                ctx.fail(f"{parameter.opts[0]} is given {times} times: give it once.")
        return super().parse_args(ctx, args)
