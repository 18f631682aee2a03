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
"""Hostile checkers: none does harm, none is believed without a returned verdict, and none disturbs the next check."""

from __future__ import annotations

import contextlib
import os
import time

import pytest

from genenv_verl.tasks.sandbox.jail import ISOLATED, Jail, JailUnavailable, Limits, Mode, NoReply

HONEST = "def check(response):\n    return response == 'right'"
LIMITS = Limits(memory_mb=128, scratch_mb=4, reply_bytes=4096)
NEXT_CHECK_SECONDS = 15.0  # Two checks take milliseconds; the margin is for busy machines.

# Each returns True only if it gets what it is after.
HARM = {
    "reads a system file": "def check(r): return bool(open('/etc/passwd').read())",
    "reads its own environment": "def check(r): return bool(open('/proc/self/environ', 'rb').read())",
    "reads others' environments": """
import glob
def check(r): return any(open(path, 'rb').read() for path in glob.glob('/proc/*/environ'))
""",
    "lists processes": "import os\ndef check(r): return bool(os.listdir('/proc'))",
    "sees more than its scratch folder": "import os\ndef check(r): return os.listdir('/') != ['jail']",
    "climbs up": "import os\ndef check(r): return os.listdir('../../../../..') != ['jail']",
    "finds variables": "import os\ndef check(r): return bool(os.environ) or os.getenv('PATH') is not None",
    "reads the harness": """
import sys
def check(r):
    modules = [getattr(module, '__file__', None) or '' for module in [*sys.modules.values()]]
    names = [sys.argv[0], sys.executable, *sys.path, *modules]
    for name in names:
        try:
            return bool(open(name, 'rb').read())
        except OSError:
            pass
    return False
""",
    "inspects the harness": """
import inspect, sys
def check(r): return any(inspect.getsource(m) for name, m in [*sys.modules.items()] if 'genenv' in name)
""",
    "imports the harness": "def check(r):\n    import genenv_verl.tasks.sandbox.worker as w\n    return bool(w.main)",
    "finds the harness as main": "import __main__\ndef check(r): return hasattr(__main__, 'main')",
    "writes outside": "def check(r): return bool(open('/canary', 'w').write('x'))",
    "writes to /tmp": "def check(r): return bool(open('/tmp/genenv_verl_canary', 'w').write('x'))",
    "writes to shared memory": "def check(r): return bool(open('/dev/shm/genenv_verl_canary', 'w').write('x'))",
    "links to a system file": """
import os
def check(r):
    os.symlink('/etc/passwd', 'link')
    return bool(open('link').read())
""",
    "links a folder": """
import os
def check(r):
    os.symlink('/', 'root')
    return bool(os.listdir('root/etc'))
""",
    "links hard": "import os\ndef check(r):\n    os.link('/etc/passwd', 'link')\n    return True",
    "opens by descriptor": """
import os
def check(r):
    for number in range(256):
        try:
            if 'etc' in os.listdir(number):
                return True
        except OSError:
            pass
    return False
""",
    "opens devices": "def check(r): return any(open(f'/dev/{name}') for name in ('null', 'mem', 'tty', 'kmsg'))",
    "connects": "import socket\ndef check(r): return bool(socket.create_connection(('127.0.0.1', 22)))",
    "asks for a name": "import socket\ndef check(r): return bool(socket.getaddrinfo('example.org', 80))",
    "loads sockets by hand": "import _socket\ndef check(r): return bool(_socket.socket())",
    "kills its parent": "import os\ndef check(r):\n    os.kill(os.getppid(), 9)\n    return True",
    "kills everything": "import os\ndef check(r):\n    os.kill(-1, 9)\n    return True",
    "signals its group": "import os\ndef check(r):\n    os.killpg(0, 0)\n    return True",
    "forks": "import os\ndef check(r):\n    if os.fork() == 0: os._exit(0)\n    return True",
    "forks with a terminal": "import pty\ndef check(r): return pty.fork()[0] > 0",
    "runs a program": "import os\ndef check(r): return os.system('id') == 0",
    "replaces itself": "import os\ndef check(r): os.execv('/bin/sh', ['sh', '-c', 'exit'])",
    "spawns": "import os\ndef check(r): return os.posix_spawn('/bin/true', ['true'], {}) > 0",
    "uses subprocess": "import subprocess\ndef check(r): return subprocess.run(['id']).returncode == 0",
    "uses multiprocessing": """
import multiprocessing
def check(r):
    process = multiprocessing.Process(target=print)
    process.start()
    return True
""",
    "starts a thread": """
import _thread
def check(r):
    _thread.start_new_thread(print, ())
    return True
""",
    "loads ctypes": "import ctypes\ndef check(r): return ctypes.CDLL(None).getpid() > 0",
    "loads ctypes' core": "import _ctypes\ndef check(r): return bool(_ctypes.dlopen)",
    "loads an extension by hand": """
import importlib.machinery, importlib.util, sys
def check(r):
    for name in ('_ctypes', '_socket', '_posixsubprocess'):
        for spec in (importlib.machinery.BuiltinImporter.find_spec(name),
                     importlib.machinery.ModuleSpec(name, importlib.machinery.ExtensionFileLoader(name, '/lib/x.so'))):
            try:
                return bool(importlib.util.module_from_spec(spec))
            except Exception:
                pass
    return False
""",
    "finds ctypes among all classes": """
import types
def all_classes():
    todo, seen = [object], {object}
    while todo:
        for found in type.__subclasses__(todo.pop()):
            if found not in seen:
                seen.add(found)
                todo.append(found)
    return seen
def name_spaces():
    found = {}
    for cls in all_classes():
        for value in vars(cls).values():
            space = getattr(getattr(value, '__func__', value), '__globals__', None)
            if isinstance(space, dict):
                found[id(space)] = space
    todo = [*found.values()]
    while todo:
        for value in [*todo.pop().values()]:
            space = vars(value) if isinstance(value, types.ModuleType) else getattr(value, '__globals__', None)
            if isinstance(space, dict) and id(space) not in found:
                found[id(space)] = space
                todo.append(space)
    return found.values()
def check(r):
    named = {cls.__module__ for cls in all_classes()}
    values = [value for space in name_spaces() for value in space.values()]
    modules = {value.__name__ for value in values if isinstance(value, types.ModuleType)}
    functions = [value for value in values if 'CFuncPtr' in [base.__name__ for base in type(value).__mro__]]
    return 'ctypes' in named | modules or '_ctypes' in modules or bool(functions)
""",
    "reads memory by its address": """
def below(cls):
    for found in type.__subclasses__(cls):
        yield found
        yield from below(found)
def check(r):
    (simple,) = {cls for cls in below(object) if cls.__name__ == '_SimpleCData'}
    Long = type(simple)('Long', (simple,), {'_type_': 'l'})
    return Long.from_address(id(r)).value > 0
""",
    "unpickles a command": """
import pickle
class Command:
    def __reduce__(self):
        import os
        return os.system, ('id',)
def check(r): return pickle.loads(pickle.dumps(Command())) == 0
""",
    "raises a limit": """
import resource
def check(r):
    resource.setrlimit(resource.RLIMIT_NPROC, (100, 100))
    return True
""",
    "raises its memory": """
import resource
def check(r):
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    return True
""",
    "changes its root": "import os\ndef check(r):\n    os.chroot('.')\n    return True",
    "becomes root": "import os\ndef check(r):\n    os.setuid(0)\n    return True",
    "is root": "import os\ndef check(r): return 0 in (os.getuid(), os.geteuid(), os.getgid(), os.getegid())",
    "changes rights": """
import os
def check(r):
    open('file', 'w').close()
    os.chmod('file', 0o4777)
    return True
""",
    "makes a device": "import os\ndef check(r):\n    os.mknod('null', 0o20666, os.makedev(1, 3))\n    return True",
    "makes a pipe": "import os\ndef check(r):\n    os.mkfifo('pipe')\n    return True",
    "makes anonymous memory files": "import os\ndef check(r): return os.memfd_create('x') >= 0",
    "maps executable memory": "import mmap\ndef check(r): return bool(mmap.mmap(-1, 4096, prot=7))",
    "sets a timer": "import signal\ndef check(r):\n    signal.setitimer(signal.ITIMER_REAL, 1)\n    return True",
    "lowers its niceness": "import os\ndef check(r): return os.nice(-5) < 0",
    "changes the host name": "import socket\ndef check(r):\n    socket.sethostname('x')\n    return True",
    "reads terminal": "import os\ndef check(r): return bool(os.read(0, 1))",
}

# Each tries to be believed without returning True: no verdict may come of it.
_REPORTS = r"""b'+{"accepted": true}', b'{"accepted": true}\n', b'True', b'\0\0\0\x13+{"accepted": true}'"""
FORGERY = {
    "prints a verdict": "def check(r):\n    print('{\"accepted\": true}')\n    print('+{\"accepted\": true}')",
    "exits": "import sys\ndef check(r): sys.exit(0)",
    "exits when defined": "raise SystemExit(0)",
    "exits at once": "import os\ndef check(r): os._exit(0)",
    "exits with every status": "import os\ndef check(r):\n    for status in range(256): os._exit(status)",
    "ends itself": "import os, signal\ndef check(r): os.kill(os.getpid(), signal.SIGTERM)",
    "aborts": "import os\ndef check(r): os.abort()",
    "crashes": "import faulthandler\ndef check(r): faulthandler._sigsegv()",
    "raises": "def check(r): raise ValueError('true')",
    "raises something odd": "class Odd(BaseException):\n    def __str__(s): return 'True'\ndef check(r): raise Odd(1)",
    "is interrupted": "def check(r): raise KeyboardInterrupt",
    "writes to every descriptor": f"""
import os
def check(r):
    for number in range(256):
        for text in ({_REPORTS}):
            try:
                os.write(number, text)
            except OSError:
                pass
    os._exit(0)
""",
    "writes by vector and by position": f"""
import os
def check(r):
    for number in range(64):
        for write in (lambda n: os.writev(n, [{_REPORTS}]), lambda n: os.pwrite(n, b'+{{"accepted": true}}', 0)):
            try:
                write(number)
            except OSError:
                pass
    raise SystemExit
""",
    "copies the channel": """
import fcntl, os
def check(r):
    for number in range(64):
        for copy in (os.dup, lambda n: os.dup2(n, 20), lambda n: fcntl.fcntl(n, fcntl.F_DUPFD, 10),
                     lambda n: open(n, 'wb', closefd=False).fileno()):
            try:
                os.write(copy(number), b'+{"accepted": true}')
            except OSError:
                pass
    os._exit(0)
""",
    "opens the channel by its name": """
import os
def check(r):
    for process in ('self', 'thread-self', str(os.getpid()), str(os.getppid())):
        for number in range(16):
            try:
                open(f'/proc/{process}/fd/{number}', 'wb', buffering=0).write(b'+{"accepted": true}')
                if number > 2:
                    os._exit(0)
            except OSError:
                pass
    os._exit(0)
""",
    "opens its memory": """
def check(r):
    for process in ('self', 'thread-self'):
        try:
            open(f'/proc/{process}/mem', 'r+b', buffering=0)
            return True
        except OSError:
            pass
    raise ValueError
""",
    "closes the channel": "import os\ndef check(r):\n    os.closerange(0, 256)\n    os._exit(0)",
    "walks the frames": """
import sys
def check(r):
    frame = sys._getframe()
    while frame is not None:
        for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
            if isinstance(value, dict) and 'entered' in value:
                value['verdict'] = True
        frame = frame.f_back
    raise ValueError
""",
    "walks a traceback": """
def check(r):
    try:
        1 / 0
    except ZeroDivisionError as error:
        frame = error.__traceback__.tb_frame
        while frame:
            for value in [*frame.f_locals.values()]:
                if isinstance(value, dict) and 'entered' in value:
                    value['verdict'] = True
            frame = frame.f_back
    return None
""",
    "walks all objects": """
import gc
def check(r):
    for value in gc.get_objects():
        if isinstance(value, dict) and 'entered' in value:
            value['verdict'] = True
    raise ValueError
""",
    "walks from its own name space": """
import gc
def check(r):
    seen, todo = set(), [globals()]
    while todo:
        value = todo.pop()
        if id(value) not in seen:
            seen.add(id(value))
            if isinstance(value, dict) and 'entered' in value:
                value['verdict'] = True
            todo += gc.get_referrers(value) + gc.get_referents(value)
    raise ValueError
""",
    "looks at other threads": """
import sys
def check(r):
    for frame in sys._current_frames().values():
        while frame:
            for value in [*frame.f_locals.values()]:
                if isinstance(value, dict) and 'entered' in value:
                    value['verdict'] = True
            frame = frame.f_back
    raise ValueError
""",
    "traces": """
import sys, threading
def trace(frame, event, argument): return trace
def check(r):
    threading.settrace(trace)
    sys.settrace(trace)
    raise ValueError
""",
    "profiles every thread": """
import threading
def check(r):
    def profile(frame, event, argument):
        for value in [*frame.f_locals.values()]:
            if isinstance(value, dict) and 'entered' in value:
                value['verdict'] = True
    threading.setprofile_all_threads(profile)
    raise ValueError
""",
    "takes the exception hook": """
import sys
def hook(report):
    report.object.args[0]['verdict'] = True
def check(r):
    sys.unraisablehook = hook
    raise ValueError
""",
    "reports through the exception hook": """
import sys
def check(r):
    for value in (True, b'+{"accepted": true}', None):
        sys.unraisablehook(value)
    raise ValueError
""",
    "leaves a finalizer in the queue": """
import os, sys
class Late:
    def __del__(self):
        for number in range(64):
            try:
                os.write(number, b'+{"accepted": true}')
            except OSError:
                pass
        os._exit(0)
def check(r):
    sys.unraisablehook.__self__.put(Late())
    raise ValueError
""",
    "leaves garbage with a finalizer": """
import gc, os
class Late:
    def __del__(self):
        for number in range(64):
            try:
                os.write(number, b'+{"accepted": true}')
            except OSError:
                pass
def check(r):
    for _ in range(2000):
        late = Late()
        late.itself = late
    return None
""",
    "returns a finalizer": """
import os
class Late:
    def __del__(self):
        for number in range(64):
            try:
                os.write(number, b'+{"accepted": true}')
            except OSError:
                pass
def check(r): return Late()
""",
    "adds an audit hook": """
import sys
def check(r):
    sys.addaudithook(lambda event, arguments: None)
    sys.audit('sys.unraisablehook', None, None)
    raise ValueError
""",
    "replaces every builtin": """
import builtins
def check(r):
    for name in dir(builtins):
        if name not in ('True', 'False', 'None', '__debug__'):
            setattr(builtins, name, lambda *a, **k: True)
    raise builtins.__dict__['__build_class__']
""",
    "replaces json": """
import json, json.encoder
def check(r):
    json.dumps = json.JSONEncoder.encode = lambda *a, **k: '{"accepted": true}'
    return 'no'
""",
    "replaces os": """
import os
def check(r):
    real = os.write
    os.write = lambda number, text: real(number, b'+{"accepted": true}')
    os._exit = lambda status: None
    return 'no'
""",
    "poisons the modules": """
import sys
def check(r):
    for name in [*sys.modules]:
        sys.modules[name] = None
    return 1
""",
    "registers a codec error handler": """
import codecs
class Namé(Exception): pass
Namé.__name__ = 'x'
def check(r):
    for name in ('strict', 'replace', 'ignore', 'surrogateescape'):
        codecs.register_error(name, lambda error: (True, 0))
    raise Namé
""",
    "has an evil class name": """
class Evil(str):
    def encode(self, *a): return b'+{"accepted": true}'
    def __eq__(self, other): return True
    __hash__ = str.__hash__
class Wrong(Exception): pass
Wrong.__name__ = Evil('MemoryError')
def check(r): raise Wrong
""",
    "has an evil metaclass": """
class Meta(type):
    __name__ = property(lambda cls: 1 / 0)
    def __eq__(cls, other): return True
    __hash__ = type.__hash__
class Wrong(Exception, metaclass=Meta): pass
def check(r): raise Wrong
""",
    "exits late": "import atexit, os\natexit.register(os._exit, 0)\ndef check(r): return None",
    "catches signals": """
import signal
def check(r):
    signal.signal(signal.SIGTERM, lambda *a: True)
    return True
""",
    "interrupts the main thread": "import _thread\ndef check(r):\n    _thread.interrupt_main()\n    return 1",
    "is equal to everything": """
class Any:
    def __eq__(self, other): return True
    def __bool__(self): return True
def check(r): return Any()
""",
    "claims to be a bool": """
class Bool(int):
    __class__ = bool
    def __eq__(self, o): return True
    __hash__ = int.__hash__
    def __repr__(self): return 'True'
def check(r): return Bool(1)
""",
    "returns 1": "def check(r): return 1",
    "returns a word": "def check(r): return 'True'",
    "returns a list": "def check(r): return [r]",
    "returns nothing": "def check(r): pass",
    "returns what is no verdict yet": "def check(r): yield True",
    "returns a promise": "async def check(r): return True",
    "returns an exception": "def check(r): return NotImplemented",
    "returns a report": "def check(r): return b'+{\"accepted\": true}'",
    "returns a dictionary": "def check(r): return {'accepted': True, 'verdict': True}",
    "is no function": "check = True",
    "is missing": "def judge(r): return True",
    "does not parse": "def check(r) return True",
    "holds a zero byte": "def check(r): return True\0",
    "is nested too deep": "def check(r): return " + "(" * 5000 + "True" + ")" * 5000,
    "is empty": "",
    "defines under an evil key": """
class Key(str):
    def __hash__(self): return hash('check')
    def __eq__(self, other): raise SystemExit
globals()[Key('x')] = lambda r: True
""",
}

# What uses up a resource: name -> source, reasons that are expected, and the time limit in seconds.
LONG = 20.0
EXHAUSTION = {
    "loops": ("def check(r):\n    while True: pass", {"timeout"}, 1.0),
    "loops when defined": ("while True: pass", {"timeout"}, 1.0),
    "sleeps": ("import time\ndef check(r): time.sleep(999)", {"timeout"}, 1.0),
    "loops in C": ("def check(r): return 9 ** 9 ** 9 > 0", {"timeout", "memory"}, 1.0),
    "matches for ever": ("import re\ndef check(r): return bool(re.match(r'(a+)+$', 'a' * 40 + '!'))", {"timeout"}, 1.0),
    "ignores signals": (
        "import signal\nfor s in (15, 2, 14): signal.signal(s, signal.SIG_IGN)\ndef check(r): pass",
        {"exception"},
        LONG,
    ),
    "blocks signals": (
        "import signal, time\ndef check(r):\n    signal.pthread_sigmask(0, range(1, 65))\n    time.sleep(999)",
        {"timeout"},
        1.0,
    ),
    "waits for a lock": (
        "import threading\ndef check(r): threading.Lock().acquire() and threading.Event().wait()",
        {"timeout", "exception"},
        1.0,
    ),
    "catches everything": (
        "def check(r):\n    while True:\n        try:\n            while 1: pass\n        except BaseException: pass",
        {"timeout"},
        1.0,
    ),
    "prints for ever": ("def check(r):\n    while True: print('x' * 1000000)", {"timeout", "output_limit"}, 1.0),
    "allocates": ("def check(r):\n    x = []\n    while True: x.append(bytearray(10 ** 8))", {"memory"}, LONG),
    "allocates slowly": (
        "def check(r):\n    x = []\n    while True: x.append(x[-1:] * 2 + [0] * 9999)",
        {"memory"},
        LONG,
    ),
    "allocates once": ("def check(r): return len('a' * (10 ** 11)) > 0", {"memory"}, LONG),
    "maps memory": ("import mmap\ndef check(r): return bool(mmap.mmap(-1, 1 << 40))", {"exception", "memory"}, LONG),
    "survives its memory limit": (
        "def check(r):\n    try:\n        bytearray(10 ** 10)\n    except MemoryError:\n        return None",
        {"bad_verdict"},
        LONG,
    ),
    "forks for ever": (
        "import os\ndef check(r):\n    while True:\n        try: os.fork()\n        except OSError: pass",
        {"timeout"},
        1.0,
    ),
    "starts threads": (
        "import _thread, time\ndef check(r):\n    for _ in range(99): _thread.start_new_thread(time.sleep, (9,))",
        {"exception"},
        LONG,
    ),
    "opens files": ("def check(r):\n    x = [open(f'{i}', 'w') for i in range(999)]", {"exception"}, LONG),
    "fills its folder": (
        "def check(r):\n    for i in range(999): open(f'{i}', 'w').write('x' * 1000000)",
        {"exception"},
        LONG,
    ),
    "makes many files": ("def check(r):\n    for i in range(99999): open(f'{i}', 'w').close()", {"exception"}, LONG),
    "makes a deep tree": (
        "import os\ndef check(r):\n    for i in range(200):\n        os.mkdir('d'); os.chdir('d')\n    open('x', 'w')",
        {"bad_verdict"},
        LONG,
    ),
    "makes a locked tree": (
        "import os\ndef check(r):\n    os.mkdir('d', 0)\n    os.mkdir('e'); open('e/x', 'w').close()",
        {"bad_verdict"},
        LONG,
    ),
    "makes a sparse file": ("def check(r): open('x', 'wb').truncate(1 << 50)", {"exception", "crash"}, LONG),
    "recurses": ("def check(r): return check(r)", {"exception"}, LONG),
    "recurses without limit": (
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef check(r): return check(r)",
        {"crash", "memory", "exception"},
        LONG,
    ),
    "recurses in C": (
        "def check(r):\n    x = []\n    for _ in range(10 ** 6): x = [x]\n    return bool(repr(x))",
        {"crash", "memory", "exception"},
        LONG,
    ),
    "prints a huge number": ("def check(r): return len(str(10 ** 10 ** 7)) > 0", {"exception", "timeout"}, 1.0),
    "compiles for ever": (
        "def check(r): return bool(compile('-' * 10 ** 6 + '1', '', 'eval'))",
        {"exception", "crash", "memory"},
        LONG,
    ),
}


class Judge:
    """A warm jail, as the local backend has it."""

    def __init__(self, mode: Mode):
        self.jail = Jail("genenv_verl.tasks.sandbox.checker_program", LIMITS, modes=[mode])

    def __call__(self, source: str, answer: str = "right", timeout_s: float = LONG) -> tuple[bool | None, str]:
        try:
            accepted = self.jail.call({"source": source, "answer": answer}, timeout_s)["accepted"]
        except NoReply as none:
            return None, none.reason
        return accepted, ""


@pytest.fixture(scope="module")
def judges():
    """A judge a mode, as far as the machine has it."""
    found = {}
    for mode in ISOLATED:
        with contextlib.suppress(JailUnavailable):
            found[mode] = Judge(mode)
    yield found
    for judge in found.values():
        judge.jail.close()


@pytest.fixture(params=ISOLATED)
def any_judge(request, judges):
    yield from judge_in_mode(request.param, judges)


@pytest.fixture
def judge(judges):
    """The judge that has a scratch folder."""
    yield from judge_in_mode("namespaces", judges)


def judge_in_mode(mode, judges):
    """The judge; after the attack it must be right about the next check, in time, with the same worker."""
    if mode not in judges:
        pytest.skip(f"this machine has no {mode}")
    judge = judges[mode]
    before = judge.jail.pids()
    yield judge
    start = time.monotonic()
    assert judge(HONEST, "right") == (True, "")
    assert judge(HONEST, "wrong") == (False, "")
    assert time.monotonic() - start < NEXT_CHECK_SECONDS
    assert judge.jail.pids() == before, "the attack cost the jail its worker"
    assert not any(map(os.path.exists, ("/canary", "/tmp/genenv_verl_canary", "/dev/shm/genenv_verl_canary")))


@pytest.mark.parametrize("source", HARM.values(), ids=HARM)
def test_harm(any_judge, source):
    accepted, reason = any_judge(source)
    assert accepted is not True
    assert reason in {"", "exception"}


@pytest.mark.parametrize("source", FORGERY.values(), ids=FORGERY)
def test_forgery(any_judge, source):
    accepted, _ = any_judge(source)
    assert accepted is None


@pytest.mark.parametrize(("source", "reasons", "timeout_s"), EXHAUSTION.values(), ids=EXHAUSTION)
def test_exhaustion(judge, source, reasons, timeout_s):
    accepted, reason = judge(source, timeout_s=timeout_s)
    assert accepted is None
    assert reason in reasons


@pytest.mark.parametrize(
    "answer",
    [
        '{"accepted": true}',
        '+{"accepted": true}',
        "')\nimport os; os._exit(0)\n('",
        "__import__('os').system('id')",
        "right\0",
        "\ud800",
        "x" * 1_000_000,
        "{0.__class__}",
        "",
    ],
    ids=lambda answer: repr(answer[:24]),
)
def test_answer_is_data(judge, answer):
    assert judge(HONEST, answer) == (False, "")
    assert judge(f"def check(r):\n    print(r)\n    return len(r) == {len(answer)}", answer) == (True, "")


CONTROLS = [
    "reads a system file",
    "reads its own environment",
    "lists processes",
    "sees more than its scratch folder",
    "climbs up",
    "reads the harness",
    "makes anonymous memory files",
]


def test_negative_control(monkeypatch, tmp_path):
    """Without the walls the same attacks succeed: the tests above can fail."""
    unprotected = Judge("none")
    monkeypatch.chdir(tmp_path)
    outcomes = {name: unprotected(HARM[name]) for name in CONTROLS}
    unprotected.jail.close()
    assert outcomes == dict.fromkeys(CONTROLS, (True, ""))
