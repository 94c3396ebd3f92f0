"""Who is asked, as far as it decides what may be asked: the row, the capabilities, the model and where it lives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import ModelProfile
from agentforge.provider.row import EndpointRow

__all__ = ("Endpoint",)

Row = TypeVar("Row", bound=EndpointRow, covariant=True)


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[Row]):
    """One model at one endpoint."""

    row: Row
    profile: ModelProfile
    model: str
    base_url: str

    def policy(self, feature: str) -> str:
        """What to do without ``feature``; ``a.b`` falls back to ``a``."""
        unsupported = self.profile.unsupported
        return unsupported.get(feature) or self.profile.when_unsupported(feature.partition(".")[0])

    def refuse(self, feature: str, what: str, next_step: str) -> NoReturn:
        """Raise `UnsupportedFeatureError` for ``feature``."""
        raise UnsupportedFeatureError(
            f"{self.row.name} model {self.model!r} does not support {what} ({feature})",
            provider_code="unsupported_feature",
            details={"vendor": self.row.name, "model": self.model, "feature": feature},
            next_step=next_step,
        )
