"""Gemini's protocol as chat, for a model's server that has no other (``tests/small_endpoint.py``)."""

from tests.small_endpoint import chat_of, gemini_of


def test_a_conversation_with_a_call_and_its_result_is_asked_as_chat() -> None:
    call = {"functionCall": {"name": "email_query", "args": {"limit": 3}}}
    result = {"functionResponse": {"name": "email_query", "response": {"output": "no mail"}}}
    asked = chat_of(
        {
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "Read my mail."}]},
                {"role": "model", "parts": [call]},
                {"role": "user", "parts": [result]},
            ],
            "tools": [{"functionDeclarations": [{"name": "email_query", "parametersJsonSchema": {"type": "object"}}]}],
        }
    )

    assert [message["role"] for message in asked["messages"]] == ["system", "user", "assistant", "tool"]
    made = asked["messages"][2]["tool_calls"][0]
    assert made["function"] == {"name": "email_query", "arguments": '{"limit": 3}'}
    assert asked["messages"][3]["tool_call_id"] == made["id"]
    assert asked["tools"][0]["function"]["parameters"] == {"type": "object"}


def test_an_answer_with_a_call_is_given_as_geminis() -> None:
    function = {"name": "email_query", "arguments": '{"limit": 3}'}
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    answer = {"choices": [{"message": {"content": None, "tool_calls": [{"function": function}]}}], "usage": usage}

    given = gemini_of(answer)

    assert given["candidates"][0]["content"]["parts"] == [
        {"functionCall": {"name": "email_query", "args": {"limit": 3}}}
    ]
    assert given["usageMetadata"] == {"promptTokenCount": 7, "candidatesTokenCount": 2, "totalTokenCount": 9}
