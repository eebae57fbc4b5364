"""The agent card: who the evaluator is, what it can be asked for, and where it speaks which protocol."""

import json
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    OpenIdConnectSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a.utils.constants import PROTOCOL_VERSION_0_3, PROTOCOL_VERSION_1_0, TransportProtocol

from proctor.a2a_gateway.output_modes import OUTPUT_MODES, TEXT_MEDIA_TYPE
from proctor.a2a_gateway.parts import JSON_MEDIA_TYPE
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.terminal import LAUNCH_WORDS, parse_terminal_request

_TEXTS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

BEARER, OIDC = "bearer", "oidc"
"""What the card calls the two ways for a caller to say who they are."""


def agent_card(config: GreenAgentConfig) -> AgentCard:
    url = config.effective_card_url
    urls = {TransportProtocol.JSONRPC: url, TransportProtocol.HTTP_JSON: url.rstrip("/")}  # to which paths are appended
    interfaces = [
        AgentInterface(url=urls[binding], protocol_binding=binding, protocol_version=protocol_version)
        for protocol_version in (PROTOCOL_VERSION_1_0, PROTOCOL_VERSION_0_3)
        for binding in (TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON)
    ]
    is_for_terminals = config.card_subject == "terminal-bench"
    if is_for_terminals:
        skills = [_terminal_skill(config)]
    else:
        skills = [_skill("assess", [_example(config)])]
        skills += [_terminal_skill(config)] if config.containers == "on" else []
    return AgentCard(
        **_TEXTS["terminals" if is_for_terminals else "assistants"],
        version=version("proctor"),
        supported_interfaces=interfaces,
        capabilities=AgentCapabilities(streaming=True, push_notifications=True, extended_agent_card=False),
        default_input_modes=[JSON_MEDIA_TYPE, TEXT_MEDIA_TYPE],
        default_output_modes=OUTPUT_MODES,
        skills=skills,
    )


def _terminal_skill(config: GreenAgentConfig) -> AgentSkill:
    participants = {"terminal_agent": config.example_participant_url}
    chosen = {"benchmark": "terminal-bench", "dataset": "terminal_bench", "task_ids": ["hello-*"], "n_attempts": 1}
    examples, also = [], ""
    if config.terminal_defaults:
        asked = parse_terminal_request({}, json.loads(config.terminal_defaults))
        participants = asked.participants
        chosen = asked.config.model_dump(mode="json", exclude_defaults=True, exclude={"benchmark"})
        chosen = {"benchmark": "terminal-bench", **chosen}
        examples = [LAUNCH_WORDS]
        also = (
            f' It plays the dataset {asked.config.dataset} when it is sent "{LAUNCH_WORDS}"; settings as JSON in that '
            "message change what is played."
        )
    return _skill("terminal", [*examples, json.dumps({"participants": participants, "config": chosen})], also)


def _skill(text: str, examples: list[str], also: str = "") -> AgentSkill:
    read = [JSON_MEDIA_TYPE, TEXT_MEDIA_TYPE]
    skill = AgentSkill(**_TEXTS[text], examples=examples, input_modes=read, output_modes=OUTPUT_MODES)
    skill.description += also
    return skill


def secured(card: AgentCard, config: GreenAgentConfig) -> AgentCard:
    """The same card, saying how a caller says who they are."""
    copy = AgentCard()
    copy.CopyFrom(card)
    copy.security_schemes[BEARER].CopyFrom(
        SecurityScheme(
            http_auth_security_scheme=HTTPAuthSecurityScheme(
                scheme="Bearer", description="A token that the evaluator's operator made (`proctor token create`)."
            )
        )
    )
    if config.oidc_issuer:
        from proctor.a2a_gateway.auth.oidc import discovery_url

        copy.security_schemes[OIDC].CopyFrom(
            SecurityScheme(
                open_id_connect_security_scheme=OpenIdConnectSecurityScheme(
                    open_id_connect_url=discovery_url(config.oidc_issuer),
                    description=f"A token of this provider for the audience {config.oidc_audience}.",
                )
            )
        )
    for name in copy.security_schemes:
        copy.security_requirements.append(SecurityRequirement(schemes={name: StringList()}))
    return copy


def _example(config: GreenAgentConfig) -> str:
    """A request that plays as it is: with the agent that is there anyway, and without any model."""
    participants = {"personal_assistant": config.example_participant_url}
    chosen = {"scenario_id": "email_triage_basic", "seed": 12345, "offline": True}
    return json.dumps({"participants": participants, "config": chosen})
