# Copyright 2025 Individual Contributor: the genenv_verl authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Runs foreign code in a thread of its own and takes what it *returned*, and nothing else, for its result.

The foreign code shares a process with the code that reports the result, so it must find neither the report's channel
nor the place where the result is kept:

- The thread's calls are chained in C (``starmap`` and its kin). No frame of ours lies under the foreign code's frames.
- What runs in the thread first (``enter``) puts it under a seccomp filter that refuses it the channel.
- Audit hooks cannot be removed (PEP 578). Ours refuses what leads to other threads' frames, to all objects and to
  memory by its address.
- Nothing of the foreign code may run in the main thread afterwards: the collector is off for good, signals keep their
  default, nothing foreign is released, and no global or builtin name is used that foreign code could have replaced.

This module imports the standard library only, so that its text can be sent to another machine.
"""

from __future__ import annotations

import _imp
import _thread
import functools
import gc
import itertools
import signal
import sys
import types
import weakref
from _queue import SimpleQueue
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

# A name for what a call returns, the call (one of C: see above) and its arguments.
Step = tuple[str, Callable[..., Any], tuple[Any, ...]]


class SealedRun:
    """One run of foreign code. It may be prepared in one process and started, once, in a child of it.

    Args:
        steps: What to run, one after the other; the first exception ends it. The names must differ.
        enter: Runs first, in the thread of the foreign code.
        sealing: Of this process.
    """

    def __init__(self, steps: Sequence[Step], enter: Callable[[], None], sealing: Sealing) -> None:
        self._results: dict[str, Any] = {}
        self._sealing = sealing
        calls = itertools.chain(
            itertools.starmap(enter, ((),)), *(itertools.starmap(function, (given,)) for _, function, given in steps)
        )
        names = ("entered", *(name for name, _, _ in steps))
        self._job = functools.partial(dict.update, self._results, zip(names, calls, strict=False))
        # The thread alone will hold the job: when it ends without an exception, the job goes and this says so.
        self._watch = weakref.ref(self._job, sealing.ended.put)
        # What foreign code returns or puts into the queue is kept for ever, lest its finalizers run in the main thread.
        self._kept: list[Any] = []

    def start(self, started: Callable[[], None]) -> tuple[dict[str, Any], bytes]:
        """Runs the steps in a new thread and waits for its end.

        Args:
            started: Runs in this thread, as soon as there are both.

        Returns:
            The results of the steps that returned, by name, and the class name of the exception that ended the thread
            (empty if there was none, or a ``SystemExit``). The results are foreign objects: look at them with ``is``
            only.
        """
        results, watch, keep = self._results, self._watch, self._kept.append
        exception_args, class_of, next_event = self._sealing.exception_args, type, self._sealing.ended.get
        name_of, encode = type.__dict__["__name__"].__get__, str.encode
        job, self._job = self._job, None
        _thread.start_new_thread(job, ())
        del job
        started()
        while True:
            event = next_event()
            keep(event)
            if event is watch:
                return results, b""
            if class_of(event) is exception_args and event.object is watch():
                return results, encode(name_of(event.exc_type), "utf-8", "replace")[:80]


class Sealing:
    """Seals this process and its children for good: see the head of this module.

    Attributes:
        ended: Where the end of a run's thread is announced.
        exception_args: The class of the announcement of an exception.
    """

    def __init__(self) -> None:
        self.exception_args = _exception_args()
        self.ended = SimpleQueue()
        sys.unraisablehook = self.ended.put
        _refuse_introspection(sys.unraisablehook)


def _exception_args() -> type:
    """The class of what ``sys.unraisablehook`` is called with; it has no public name."""
    caught: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, caught.append
    mayfly = set()
    reference = weakref.ref(mayfly, divmod)  # An exception in the call that announces the end.
    del mayfly, reference
    sys.unraisablehook = hook
    return type(caught[0])


def _refuse_introspection(exception_hook: Callable[[Any], None]) -> None:
    """Closes the ways from one thread to another one's objects, for the rest of this process."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    gc.disable()
    for name in ("enable", "set_threshold", "unfreeze", "callbacks"):
        vars(gc).pop(name, None)
    for name in ("_settraceallthreads", "_setprofileallthreads", "monitoring"):
        vars(sys).pop(name, None)
    # Extension modules that are not loaded yet, and fresh copies of those that are.
    _imp.create_builtin = _imp.create_dynamic = _refuse_module
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.addaudithook(functools.partial(_audit, exception_hook))


def _audit(exception_hook: Callable[[Any], None], event: str, arguments: tuple[Any, ...]) -> None:
    if event in {
        "sys.addaudithook",
        "sys._current_frames",
        "sys._current_exceptions",
        "sys.settrace",
        "sys.setprofile",
        "sys.monitoring.register_callback",
        "gc.get_objects",
        "gc.get_referrers",
        "gc.get_referents",
        "ctypes.cdata",
        "ctypes.cdata/buffer",
    }:
        raise RuntimeError("not available to a checker")
    if event == "sys.unraisablehook" and arguments[0] is not exception_hook:
        raise RuntimeError("not available to a checker")


def _refuse_module(spec: Any, *rest: Any) -> NoReturn:
    raise ImportError(f"{spec.name} is not available to a checker", name=spec.name)
