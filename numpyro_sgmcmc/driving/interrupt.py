"""Ctrl-C, handled between two calls of the compiled program."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, final


@final
class Interrupt:
    """Records the first Ctrl-C inside its block; the second raises `KeyboardInterrupt` at once.

    Python delivers signals to the main thread. In other threads nothing is changed.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self._before: Any = None
        self._is_main = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> "Interrupt":
        if self._is_main:
            self._before = signal.getsignal(signal.SIGINT)
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_main:
            signal.signal(signal.SIGINT, self._before or signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.is_asked:
            raise KeyboardInterrupt
        self.is_asked = True
