"""The demo's other processes: programs that know nothing of Runnel, spoken to in lines of JSON."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from typing import IO, Any, Self, cast

from runnel.errors import InternalError

Message = dict[str, Any]
_END_SECONDS = 10.0


@dataclass(slots=True)
class Program:
    """A running program; it ends when its input does, so it never outlives this process."""

    name: str
    process: subprocess.Popen[str]
    on_message: Callable[[Message], None]
    answers: queue.Queue[Message | None] = field(default_factory=queue.Queue)
    last_words: list[str] = field(default_factory=list)
    _thread: threading.Thread | None = None

    @classmethod
    def start(cls, name: str, config: Message, on_message: Callable[[Message], None]) -> Self:
        """Isolated from this one's modules and environment; the password goes through the pipe only."""
        with as_file(files("runnel.demos").joinpath("programs", f"{name}.py")) as path:
            process = subprocess.Popen(
                [sys.executable, "-I", str(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,  # Ctrl-C is for this process, which then ends that one
            )
            program = cls(name, process, on_message)
            program._thread = threading.Thread(target=program._listen, name=f"demo-{name}", daemon=True)
            program._thread.start()
            program._say(config)
            program._expect()
        return program

    def ask(self, query: str) -> list[list[str | None]]:
        """The rows of a query, as text."""
        self._say({"query": query})
        return cast(list[list[str | None]], self._expect()["rows"])

    def finish(self) -> None:
        """Ends its input and waits for it to have said everything."""
        self._close_input()
        self.process.wait(_END_SECONDS)
        if self._thread is not None:
            self._thread.join(_END_SECONDS)
        if self.process.returncode != 0:
            raise self._died()

    def stop(self) -> None:
        self._close_input()
        try:
            self.process.wait(_END_SECONDS / 5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def check(self) -> None:
        """Raises where it ended by itself with an error."""
        if self.process.poll() not in (None, 0):
            raise self._died()

    def _say(self, message: Message) -> None:
        try:
            self._input.write(json.dumps(message) + "\n")
            self._input.flush()
        except BrokenPipeError:
            raise self._died() from None

    def _expect(self) -> Message:
        answer = self.answers.get()
        if answer is None:
            raise self._died()
        if "error" in answer:
            raise InternalError(f"the program {self.name} failed", detail=str(answer["error"]))
        return answer

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except json.JSONDecodeError:
                self.last_words = [*self.last_words[-4:], line.strip()]
                continue
            if message.keys() & {"ready", "rows", "error"}:
                self.answers.put(message)
            else:
                self.on_message(message)
        self.answers.put(None)

    def _died(self) -> InternalError:
        return InternalError(
            f"the program {self.name} ended early", detail="; ".join(self.last_words) or None
        )

    def _close_input(self) -> None:
        try:
            self._input.close()
        except BrokenPipeError:
            return  # it has ended already

    @property
    def _input(self) -> IO[str]:
        assert self.process.stdin is not None
        return self.process.stdin
