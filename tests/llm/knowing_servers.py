"""Model servers that answer depending on the prompt, in both wire formats."""

import json
from collections.abc import Callable

from tests.llm.servers import AnthropicServer, Body, ModelServer, OpenAiServer
from tests.search_servers.serving import Asked, Reply

Tell = Callable[[str], str | Reply]
"""What is answered to the words of a prompt, instructions included."""


def words_of(body: Body) -> str:
    """Return all that a request tells the model."""
    turns = [turn["content"] for turn in body["messages"]]
    return "\n".join([str(body.get("system", "")), *map(str, turns)])


class _Knowing(ModelServer):
    tell: Tell
    prompts: list[str]

    def answer(self, asked: Asked) -> Reply:
        body: Body = json.loads(asked.body)
        words = words_of(body)
        if "fresh grass" in words:
            return super().answer(asked)
        self.prompts.append(words)
        told = self.tell(words)
        return (
            told
            if isinstance(told, Reply)
            else Reply(json.dumps(self.message(told, body)).encode())
        )


class KnowingOpenAiServer(_Knowing, OpenAiServer):
    """Speaks chat completions."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self.tell, self.prompts = tell, []


class KnowingAnthropicServer(_Knowing, AnthropicServer):
    """Speaks messages."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self.tell, self.prompts = tell, []


KNOWING = (KnowingOpenAiServer, KnowingAnthropicServer)
KnowingServer = KnowingOpenAiServer | KnowingAnthropicServer
