"""Who is asked, as far as it decides what may be asked: the row, the capabilities, the model and where it lives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import ModelProfile
from agentforge.provider.row import EndpointRow

__all__ = ("Endpoint", "policy_setting")

Row = TypeVar("Row", bound=EndpointRow, covariant=True)


def policy_setting(feature: str, policy: str) -> str:
    """The setting of a model that says what becomes of ``feature``, as it stands in a file and, as a mapping, in
    Python; every next step that names one is made here.

    >>> policy_setting("strict_tools", "drop")
    'profile_overrides: {unsupported: {strict_tools: drop}}'
    """
    return f"profile_overrides: {{unsupported: {{{feature}: {policy}}}}}"


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[Row]):
    """One model at one endpoint. ``tells_all``: notices also say what is usually done without a word, for somebody who
    looks at a request instead of sending it."""

    row: Row
    profile: ModelProfile
    model: str
    base_url: str
    tells_all: bool = False

    def policy(self, feature: str) -> str:
        """What to do without ``feature``; ``a.b`` falls back to ``a``."""
        unsupported = self.profile.unsupported
        return unsupported.get(feature) or self.profile.when_unsupported(feature.partition(".")[0])

    def refuse(self, feature: str, what: str, next_step: str) -> NoReturn:
        """Raise `UnsupportedFeatureError` for ``feature``."""
        vendor = self.row.others_can.get(feature)
        if vendor is not None:
            next_step = f"{next_step} Where this address leads to the API of {vendor} itself, set vendor: {vendor}."
        raise self.error(
            feature, f"{self.row.name} model {self.model!r} does not support {what} ({feature})", next_step
        )

    def error(self, feature: str, message: str, next_step: str) -> UnsupportedFeatureError:
        """The error of a request that cannot be sent as it is, whatever the model can do."""
        return UnsupportedFeatureError(
            message,
            provider_code="unsupported_feature",
            details={"vendor": self.row.name, "model": self.model, "feature": feature},
            next_step=next_step,
        )
