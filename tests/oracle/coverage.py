"""What the random histories have really tried: operator, type, kind of DML, gear."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product

GEARS = ("first", "second")


@dataclass(slots=True)
class Coverage:
    """How many compared refreshes had each combination in them."""

    histories: Counter[str] = field(default_factory=Counter)
    refreshes: Counter[tuple[str, str]] = field(default_factory=Counter)
    seen: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)

    def note(
        self, operators: Iterable[str], types: Iterable[str], kinds: Iterable[str], gear: str, mode: str
    ) -> None:
        self.refreshes[gear, mode] += 1
        if mode == "DIFFERENTIAL":
            self.seen.update(product(operators, types or ("none",), kinds, (gear,)))

    def counted(self, place: int, gear: str) -> Counter[str]:
        """By operator (0), type (1) or kind of DML (2), in one gear."""
        found: Counter[str] = Counter()
        for combination, count in self.seen.items():
            if combination[3] == gear:
                found[combination[place]] += count
        return found

    def report(self) -> str:
        lines = [f"histories: {dict(self.histories)}"]
        lines += [
            f"refreshes in {gear} gear, {mode}: {n}" for (gear, mode), n in sorted(self.refreshes.items())
        ]
        lines.append(f"combinations of operator, type, DML and gear: {len(self.seen)}")
        for place, title in enumerate(("operator", "type", "DML")):
            first, second = (self.counted(place, gear) for gear in GEARS)
            lines += [
                f"  {title:9}{name:30}{first[name]:8}{second[name]:8}" for name in sorted({*first, *second})
            ]
        return "\n".join(lines)
