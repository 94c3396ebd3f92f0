"""Answers in a form: the model is held to a type or JSON Schema, the answer checked, and asked for again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from agentforge.advisor.advisor import Advised
from agentforge.advisor.chain import Chain, ChainEnd
from agentforge.advisor.faults import StructuredOutputError
from agentforge.advisor.output_type import OutputType, OutputTypeError
from agentforge.advisor.reprompt import finished_rounds, reprompted
from agentforge.advisor.structured_end import StructuredEnd, UsedMode
from agentforge.advisor.structured_stream import LastReply
from agentforge.advisor.telling import tell
from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import (
    ChatMessage,
    ChatRequest,
    FinishReason,
    History,
    ModelProfile,
    ToolExecutionResultMessage,
)
from agentforge.tool.execution import Run

__all__ = ("StructuredMode", "StructuredOutputAdvisor")

StructuredMode: TypeAlias = Literal["auto", "native", "tool", "prompt"]
"""How the model is asked; ``auto`` is the first of the others that it can do."""
T = TypeVar("T")
_MODES = ("auto", "native", "tool", "prompt")
_REPROMPT = "Your last answer cannot be used: {problems}. Answer again in the required form."
_WITHHELD = (FinishReason.REFUSAL, FinishReason.CONTENT_FILTER, FinishReason.ERROR)


class StructuredOutputAdvisor(Generic[T]):
    """Has the model answer with a value of a type, or with JSON that fits a schema; see `OutputType` for what may be.

    ``mode``: ``native`` is the model's own structured output, ``tool`` a tool that gives the final answer, ``prompt``
    the schema in the system message. ``auto`` takes the first that the model's profile has. Whichever it is, the text
    of the reply is the JSON: memory keeps it, a stream tells it as it is written.

    An answer that does not fit is asked for again with what is wrong in words, at most ``max_reprompts`` times, and is
    in no history; a stream tells `AttemptDiscarded` first. What tools have done stays done. Then, and at once for a
    reply that was refused, filtered or broken off by an error, `StructuredOutputError` is raised with the last text.
    A notice ``structured_output_reprompted`` tells of each further attempt; all of them are counted in the usage.

    What tools return straight to the caller has to have the form too, unless ``checks_direct`` is false.

    It may stand outside the tool loop, where the answer of a turn is checked, or inside; always inside of the memory.
    Safe to share. ``output.parse(result.content)`` gives the value. Raises `ConfigurationError` for a type that
    cannot be, and `UnsupportedFeatureError` in a turn whose model cannot do the mode.
    """

    name = "structured_output"
    after = ("message_memory",)

    def __init__(
        self,
        output: OutputType[T] | type[T] | Mapping[str, Any] | Any,
        mode: StructuredMode = "auto",
        max_reprompts: int = 2,
        *,
        checks_direct: bool = True,
    ) -> None:
        if mode not in _MODES:
            raise ConfigurationError(f"mode is one of {', '.join(map(repr, _MODES))}, not {mode!r}")
        if not isinstance(max_reprompts, int) or isinstance(max_reprompts, bool) or max_reprompts < 0:
            raise ConfigurationError(f"max_reprompts must be at least 0, not {max_reprompts!r}")
        #: The type of the answer.
        self.output: OutputType[T] = OutputType.of(output)
        self.mode: StructuredMode = mode
        self.max_reprompts = max_reprompts
        self.checks_direct = checks_direct

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        """Ask on for an answer in the form, and again where it has another one."""
        chain = chain.ending(partial(self._ending, chain.profile))
        held = LastReply(chain.emit) if chain.emit is not None else None
        sink = held.put if held is not None else None
        kept: tuple[ChatMessage, ...] = ()
        advised = await chain.next(run, request, emit=sink)
        attempts = 1
        while (fault := self._fault(advised)) is not None:
            words = run.secrets.mask(str(fault))
            if attempts > self.max_reprompts or _reason(advised) in _WITHHELD:
                # The history of a turn that failed ends with what its tools have done.
                run.messages = History.of((*request.messages, *kept, *finished_rounds(advised)))
                raise self._failed(advised, tuple(map(run.secrets.mask, fault.problems)), words, attempts)
            attempts += 1
            details = {"attempt": attempts, "reason": words}
            await tell(run, chain.emit, "structured_output_reprompted", "the answer was asked for again", details)
            again, kept = reprompted(request, advised, _REPROMPT.replace("{problems}", words), kept)
            advised = await chain.again(run, again, "the answer has not the required form", emit=sink)
        if held is not None:
            await held.release()
        if not kept:
            return advised
        if advised.suspended is not None:
            # What ran in the attempts before belongs to this turn when it is taken up again.
            advised.suspended.given -= len(kept) + 1
            return advised
        messages = (*kept, *advised.new_messages)
        run.messages = History.of((*request.messages, *messages))
        return replace(advised, new_messages=messages)

    def _ending(self, profile: ModelProfile | None, end: ChainEnd) -> ChainEnd:
        return StructuredEnd(end, self.output, self._used(profile), profile or ModelProfile(), self.mode == "auto")

    def _used(self, profile: ModelProfile | None) -> UsedMode:
        """The mode for a model. Raises `UnsupportedFeatureError`."""
        native = profile is not None and "json_schema" in profile.response_formats
        tools = profile is not None and profile.tool_mode != "none"
        if self.mode == "auto":
            return "native" if native else "tool" if tools else "prompt"
        if (self.mode == "native" and not native) or (self.mode == "tool" and not tools):
            what = "structured output" if self.mode == "native" else "tool calling"
            name = f"model {profile.name!r}" if profile is not None else "what stands at the end of the chain"
            raise UnsupportedFeatureError(
                f"{name} has no {what}, so structured_output cannot be {self.mode!r}",
                next_step="Use the mode 'auto', which takes what the model has.",
            )
        return self.mode

    def _fault(self, advised: Advised) -> OutputTypeError | None:
        """What is wrong with the answer; ``None`` where it fits, and where the turn has none yet."""
        response = advised.response
        if advised.suspended is not None or response is None:
            return None
        if advised.returned_directly and not self.checks_direct:
            return None
        goes_on = response.ai_message.has_tool_execution_requests or response.finish_reason is FinishReason.PAUSE
        if goes_on and not advised.returned_directly:
            return None
        try:
            self.output.parse(_answer(advised))
        except OutputTypeError as error:
            if response.finish_reason is FinishReason.LENGTH:
                return OutputTypeError(["it was cut off at the output limit; make it shorter", *error.problems])
            return error
        return None

    def _failed(self, advised: Advised, problems: Sequence[str], words: str, attempts: int) -> StructuredOutputError:
        reason = _reason(advised)
        if reason in _WITHHELD:
            message = (
                f"the model gave no answer of the type {self.output.name!r}: its reply ended with {reason.value!r}"
            )
            step = "Look at error.text for what it said."
        else:
            tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
            message = f"after {tries} the answer is not of the type {self.output.name!r}: {words}"
            step = "Look at error.text for the last answer; raise max_reprompts, or use a simpler type."
        return StructuredOutputError(
            message, text=_answer(advised) or "", problems=problems, attempts=attempts, next_step=step
        )

    def __repr__(self) -> str:
        return f"StructuredOutputAdvisor({self.output!r}, mode={self.mode!r}, max_reprompts={self.max_reprompts})"


def _reason(advised: Advised) -> FinishReason:
    return advised.response.finish_reason if advised.response is not None else FinishReason.OTHER


def _answer(advised: Advised) -> str | None:
    """The answer's text: the last reply's, or that of the tools whose results are the answer."""
    if advised.returned_directly:
        return "\n".join(_last_results(advised.new_messages))
    return advised.response.ai_message.text if advised.response is not None else None


def _last_results(messages: Sequence[ChatMessage]) -> list[str]:
    texts: list[str] = []
    for message in reversed(messages):
        if not isinstance(message, ToolExecutionResultMessage):
            break
        texts.append(message.text)
    return texts[::-1]
