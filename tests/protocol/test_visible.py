"""The visible part of a text: hidden parts are left out, everything else is kept."""

import pytest

from proctor.protocol.visible import GAP, visible
from tests.work import calls_in


@pytest.mark.parametrize(
    "hidden",
    [
        "<!-- by 17:00 -->",
        "<!-- never closed: by 17:00",
        "<span style='display:none'>by 17:00</span>",
        '<p style="VISIBILITY: hidden">by 17:00</p>',
        "<span style='font-size:0'>by 17:00</span>",
        "<span style='font-size: 1px !important'>by 17:00</span>",
        "<font color=white>by 17:00</font>",
        "<font color='#FFFFFF' size=2>by 17:00</font>",
        "<span style='color:#fefefe'>by 17:00</span>",
        "<span style='color: rgb(255, 255, 255); background: #fff'>by 17:00</span>",
        "<span style='color: navy; background-color: navy'>by 17:00</span>",
        "<span style='color: transparent'>by 17:00</span>",
        "<div style='opacity:0'><b>by</b> 17:00</div>",
        "<div style='position:absolute; left:-9999px'>by 17:00</div>",
        "<div style='max-height:0; overflow:hidden'>by 17:00</div>",
        "<div hidden>by 17:00</div>",
        "<style>.x { display: none }</style><i class='a x'>by 17:00</i>",
        "<script>by 17:00</script>",
        "[//]: # (by 17:00)",
        "[comment]: <> (by 17:00)",
        "\n" * (GAP + 1) + "by 17:00",
        "\n \u200b\n.\n-\n" * GAP + "by 17:00",
        "<br>" * (GAP + 1) + "by 17:00",
        "<p>&nbsp;</p>" * (GAP + 1) + "by 17:00",
    ],
)
def test_hidden_text_is_left_out(hidden: str) -> None:
    assert visible(f"Owen asks.\n{hidden}").strip() == "Owen asks."


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Errors < 3 %, and > 1 %.", "Errors < 3 %, and > 1 %."),
        (
            "Write to <ann@x.example> or see <https://x.example/a>.",
            "Write to <ann@x.example> or see <https://x.example/a>.",
        ),
        ("<p>Owen:</p><p>approve <b>7714</b> by 17:00</p>", "\nOwen:\n\napprove 7714 by 17:00\n"),
        ("<p style='color:#fff; background:navy'>by 17:00</p>", "\nby 17:00\n"),
        ("<span style='color:#222'>by 17:00</span>", "by 17:00"),
        ("<i style='display:none'>no</i> by 17:00<br>today", " by 17:00\ntoday"),
        ("by\u200b 17:00 &amp; no later", "by 17:00 & no later"),
        ("one" + "\n" * (GAP - 1) + "two", "one" + "\n" * (GAP - 1) + "two"),
        ("[1] a note", "[1] a note"),
    ],
)
def test_visible_text_is_kept(text: str, seen: str) -> None:
    assert visible(text) == seen


@pytest.mark.parametrize(
    "piece", ["<a>", "</b>", "<!--", "<", "\n>", "<a style='", "<style>.a{", "<i><b></i>", "[//]:"]
)
def test_the_work_grows_only_with_the_length(piece: str) -> None:
    short, _ = calls_in(lambda: visible(piece * 100))
    long, _ = calls_in(lambda: visible(piece * 1_000))
    assert long < 15 * short + 200
