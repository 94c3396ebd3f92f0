"""Three experts, each an interface that a model answers, and what the technician may look up."""

from typing import Annotated, Protocol

from agentforge import Hidden, MemoryId, P, system, tool

Question = Annotated[
    str, P("完整的问题；专家看不到用户的原话。 The whole question: the expert sees nothing of what the user wrote.")
]


class MedicalExpert(Protocol):
    """For whoever is ill."""

    @tool("医学问题：症状、用药、体检。 Health: symptoms, medicines, check-ups.", effect="read", timeout=120)
    @system(
        "You are a physician. Say what is likely, what can be done at home, and when to see a doctor at once.\n"
        "Answer in the language of the question, in five sentences at most."
    )
    async def ask_physician(self, question: Question) -> str:
        """Ask her; she knows the question, and nothing else of the conversation."""


class LegalExpert(Protocol):
    """For whoever has signed something."""

    @tool("法律问题：合同、租房、劳动、赔偿。 Law: contracts, rent, work, damages.", effect="read", timeout=120)
    @system(
        "You are a lawyer. Say which rule applies, what follows from it, and what to do in which time.\n"
        "Answer in the language of the question, in five sentences at most."
    )
    async def ask_lawyer(self, question: Question) -> str:
        """Ask him; likewise."""


class TechnicalExpert(Protocol):
    """For whoever has a device that does not work."""

    @tool("技术问题：设备、网络、软件。 Devices, networks and software that do not work.", effect="read", timeout=120)
    @system(
        "You are a technician. Look up which devices the user has before you advise, and do not ask twice.\n"
        "Answer in the language of the question, in five sentences at most."
    )
    async def ask_technician(self, question: Question, conversation: MemoryId) -> str:
        """Ask them; they remember their own part of the conversation, under its id and the tool's name."""


class Inventory:
    """Who has which device; a table stands in for it. Only the technician has this tool."""

    def __init__(self) -> None:
        self._devices = {"u-7f3a": ["Router AX-2, firmware 1.9"], "u-5d02": ["Printer P-40", "Laptop N-13"]}

    @tool("查询用户名下的设备。 The devices that the user has.", effect="read")
    def devices(self, user_id: Annotated[str, Hidden]) -> list[str]:
        """``user_id`` is the value of that name in the tool context of the router's turn, whoever makes the call."""
        return self._devices.get(user_id, [])
