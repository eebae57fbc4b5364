"""The keys of a simulation: one for each issue, known to all who have the deployment's secret."""

from proctor.activities.simulation.keys import admin_key, commands_key, participant_key, participant_key_id, reader_key


def test_each_issue_has_a_key_and_an_id_of_its_own() -> None:
    issues = (0, 1, 2, 17)
    assert len({participant_key("secret", "one", issue) for issue in issues}) == len(issues)
    assert len({participant_key_id(issue) for issue in issues}) == len(issues)
    assert participant_key_id(0) == "participant"
    assert participant_key("secret", "one", 17).startswith("participant-17-")


def test_no_key_opens_another_simulation_or_another_deployments() -> None:
    keys = [
        derive(secret, simulation)
        for derive in (
            admin_key,
            reader_key,
            commands_key,
            lambda secret, simulation: participant_key(secret, simulation, 1),
        )
        for secret in ("secret", "other")
        for simulation in ("one", "two")
    ]
    assert len(set(keys)) == len(keys)
