"""Signals that wait until something is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

NAMES = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGTERM")
SIGNALS = tuple(
    getattr(signal, name) for name in NAMES
)  # whose handlers may raise; a look at all takes 0.1 ms


def undisturbed(action: Callable[[], T]) -> T:
    """Call `action`; what handles signals in Python, as that of Ctrl-C, is called after it, and may raise then.

    An exception of a handler can come between any two lines. It leaves half done what the lines do, and it is lost
    where a library has to ignore exceptions. Python handles signals in the main thread only; so others need nothing.
    """
    return answered(lambda answer: action())


def answered(action: Callable[[Callable[[], None]], T]) -> T:
    """The same; `action` is given a function that calls the handlers of the signals that wait, and may raise."""
    if threading.current_thread() is not threading.main_thread():
        return action(lambda: None)
    handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
    noted: dict[int, FrameType | None] = {}  # each once: as the system does for signals that wait
    waiting = True

    def note(number: int, frame: FrameType | None) -> None:
        if waiting:
            noted[number] = frame
        else:  # an exception while handlers were put back has left this one
            handlers[number](number, frame)

    def call() -> None:
        if noted:
            number, frame = noted.popitem()
            try:
                handlers[number](number, frame)
            finally:  # all of them, also where one raises
                call()

    try:
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                handlers[number] = handler
                signal.signal(number, note)
        return action(call)
    finally:
        waiting = False
        try:
            for number, handler in reversed(handlers.items()):
                signal.signal(number, handler)
        finally:
            call()
