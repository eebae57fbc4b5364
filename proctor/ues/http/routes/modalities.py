"""The routes that follow from the modalities' declarations. Nothing in here knows any one of them."""

from collections.abc import Iterator

from proctor.ues.http.route import Call, Route
from proctor.ues.modalities import MODALITIES
from proctor.ues.modality import Action, Modality, Query, Read, Reader
from proctor.ues.problems import Forbidden
from proctor.ues.schema import JsonObject, ModalityActionResponse, Request


def _state(modality: Modality, show: Reader) -> Route[Call]:
    def handler(call: Call) -> JsonObject:
        return show(call.simulation.view(modality.name), call.params)

    return Route(
        method="GET",
        path=f"/{modality.name}/state",
        summary=f"Read the state. {modality.summary}",
        handler=handler,
        permission=f"{modality.name}:state",
        params=modality.state_params,
        responses=modality.state_response,
        participant=True,
    )


def _query(modality: Modality, query: Query) -> Route[Call]:
    def handler(call: Call) -> JsonObject:
        return query.answer(call.simulation.view(modality.name), call.body)

    return Route(
        method="POST",
        path=f"/{modality.name}/query",
        summary=f"Search: filter, sort and page. {modality.summary}",
        handler=handler,
        permission=f"{modality.name}:query",
        body=query.request,
        responses=(query.response,),
        errors=(400,),
        participant=True,
        asks=True,
    )


def _read(modality: Modality, read: Read) -> Route[Call]:
    def handler(call: Call) -> JsonObject:
        return read.run(call.simulation.view(modality.name), call.params)

    return Route(
        method="GET",
        path=f"/{modality.name}/{read.path}",
        summary=read.summary,
        handler=handler,
        permission=read.permission or f"{modality.name}:{read.path}",
        params=read.params,
        responses=(read.response,),
        errors=(404,) if read.params is not Request else (),
        participant=True,
    )


def _action(modality: Modality, action: Action) -> Route[Call]:
    def handler(call: Call) -> JsonObject:
        if call.allowance is not None and action.refuse is not None:
            reason = action.refuse(call.body, call.simulation.states[modality.name])
            if reason is not None:
                raise Forbidden(reason)
        return call.simulation.act(modality, action, call.body, call.author, call.allowance)

    return Route(
        method="POST",
        path=f"/{modality.name}/{action.path}",
        summary=action.summary,
        handler=handler,
        permission=action.permission or f"{modality.name}:{action.path.replace('/', ':')}",
        body=action.request,
        responses=(ModalityActionResponse,),
        participant=action.participant,
        writes=True,
    )


def _routes() -> Iterator[Route[Call]]:
    for modality in MODALITIES.values():
        if modality.show is None:
            continue
        yield _state(modality, modality.show)
        if modality.query is not None:
            yield _query(modality, modality.query)
        for read in modality.reads:
            yield _read(modality, read)
        for action in modality.actions:
            yield _action(modality, action)


ROUTES = tuple(_routes())
