"""Questions without tools: whether anything comes, whole and streamed, and what else a request may hold."""

from __future__ import annotations

from agentforge.cli.probing.asker import Asker
from agentforge.cli.probing.found import Found, NoAnswer, no, refused, unsure, yes
from agentforge.cli.probing.judging import cut_short, said
from agentforge.cli.probing.questions import red_picture
from agentforge.errors import InvalidRequestError, ModelError, ProtocolError
from agentforge.model import ImageContent, SystemMessage, TextContent, TextDelta, UserMessage

__all__ = ("answers", "sees_images", "streams", "takes_seed", "takes_system")

_READY = "Answer with the one word: ready"


async def answers(asker: Asker) -> Found:
    """Anything at all: the check of address, key and model. Raises `NoAnswer` where none comes, streamed neither."""
    try:
        response = await asker.ask(_READY)
    except ModelError as error:
        if not isinstance(error, InvalidRequestError):
            raise NoAnswer(error) from error
        asker.only_streams = True
        try:
            await asker.ask(_READY)
        except ModelError:
            raise NoAnswer(error) from error
        return refused(f"{error.message}; streamed requests are answered, and asked from here on")
    if not (response.ai_message.text or "").strip():
        return cut_short(response) or no(f"{said(response)} came", again=True)
    model = f"; the model calls itself {response.model_name}" if response.model_name else ""
    return yes(f"{response.token_usage.total_tokens or '?'} tokens{model}")


async def streams(asker: Asker) -> Found:
    """Text in pieces, with an end."""
    try:
        events, response = await asker.stream("Count from one to twenty in words, with commas.")
    except ProtocolError as error:
        return no(f"the stream is broken: {error.message}", lost=True)
    pieces = sum(isinstance(event, TextDelta) for event in events)
    if not pieces:
        return cut_short(response) or no(f"{said(response)} came", again=True, lost=True)
    return yes("in one piece" if pieces == 1 else f"in {pieces} pieces")


async def takes_system(asker: Asker) -> Found:
    """A system message that says what the user's does not."""
    rule = SystemMessage("Whatever you are asked, answer with the one word PELICAN and nothing else.")
    response = await asker.ask([rule, UserMessage("What is the capital of France?")])
    if "pelican" in (response.ai_message.text or "").lower():
        return yes("it was followed")
    return cut_short(response) or no(f"it was not followed: {said(response)} came", again=True)


async def takes_seed(asker: Asker) -> Found:
    """A question for something random, with the same seed and with another: many a server takes one and ignores it."""
    question = "Give me a random number between one and a million, in digits and nothing else."
    first, second, third = [(await asker.ask(question, seed=seed)).ai_message.text for seed in (4417, 4417, 1746)]
    if first != second:
        return unsure("it is taken, and two answers with the same seed differ", again=False)
    if first == third:
        return unsure("it is taken, and with another seed the answer is the same", again=False)
    return yes("the same seed gives the same answer, another one another")


async def sees_images(asker: Asker) -> Found:
    """A picture of one colour."""
    picture = ImageContent(data=red_picture(), media_type="image/png")
    response = await asker.ask([UserMessage([TextContent("Which colour is this? One word."), picture])])
    text = (response.ai_message.text or "").lower()
    if "red" in text:
        return yes("it saw the colour")
    return cut_short(response) or unsure(f"it is taken, and {said(response)} came instead of the colour")
