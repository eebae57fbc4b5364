"""The gateway's authentication and login for another application."""

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from a2a_gateway.door.door import Door
from a2a_gateway.door.hosts import Hosts
from a2a_gateway.door.identity import Identity
from a2a_gateway.door.login import Sessions, login_routes
from a2a_gateway.limits import BodyLimit
from proctor_settings.config import GreenAgentConfig


class Entrance:
    """The door's parts for one deployment.

    Args:
        config: its settings.
        origins: sites whose pages may ask it, beside those of the settings; their cookies count.
        admins_only: whether, with authentication, only admins may come in.
    """

    def __init__(self, config: GreenAgentConfig, origins: Sequence[str] = (), *, admins_only: bool = False) -> None:
        self.identity = Identity(config)
        sessions, hosts = Sessions(config), Hosts(config, origins)
        self.routes = login_routes(self.identity, sessions)
        self.middleware = [
            *_cors(hosts.origins, with_cookies=bool(origins)),
            Middleware(Door, hosts=hosts, identity=self.identity, sessions=sessions, admins_only=admins_only),
        ]


def guarded(config: GreenAgentConfig, app: Starlette) -> Starlette:
    """An application behind the door."""
    entrance = Entrance(config)
    middleware = [*entrance.middleware, Middleware(BodyLimit, rpc_path="")]
    return Starlette(routes=[*entrance.routes, *app.routes], middleware=middleware)


def _cors(origins: Sequence[str], *, with_cookies: bool) -> list[Middleware]:
    """What lets pages of other sites read answers; nothing where there are no such sites."""
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "A2A-Version", "A2A-Extensions", "X-Namespace"],
            allow_credentials=with_cookies,
        )
    ]
