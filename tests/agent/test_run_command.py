"""``underfed run``: the command behaves as it does without, and is recorded as a run even where nothing was
measured."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.jobs import ROOT
from tests.fakes.launching import UNDERFED, finish, others, own_lines, run_ready, run_under, start, start_under
from tests.fakes.service import Service, wait_until
from underfed.commands import cli
from underfed.exchange import launch
from underfed.exchange.config import read_config
from underfed.host import procfs
from underfed.host.clock import now_ns, wall_clock
from underfed.launcher.command import StartedCommand, name_of
from underfed.launcher.command_end import report_end
from underfed.launcher.run import split
from underfed.trainer.settings.wanted import encode

COUNTING = """
import signal, sys, time
got = []
for each in "SIGINT SIGTERM SIGHUP SIGUSR1 SIGUSR2 SIGWINCH SIGRTMIN".split():
    signal.signal(getattr(signal, each), lambda number, frame: got.append(number))
print("ready", flush=True)
deadline = time.monotonic() + 20
while not got and time.monotonic() < deadline:
    time.sleep(0.01)
time.sleep(0.3)
print(got)
sys.exit(len(got))
"""
"""Its exit code is the number of signals it got."""


def counting(**options: Any) -> subprocess.Popen[bytes]:
    """Under ``underfed run``, at the head of a process group, and ready."""
    job = start_under("--", sys.executable, "-c", COUNTING, start_new_session=True, **options)
    assert job.stdout is not None
    assert job.stdout.readline() == b"ready\n"
    return job


# The command's end is its own.


@pytest.mark.parametrize("code", [0, 255])
def test_the_exit_code_is_the_commands(code: int) -> None:
    assert run_ready("--", "sh", "-c", f"exit {code}").returncode == code


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGPIPE])
def test_it_dies_of_the_signal_that_the_command_died_of(number: signal.Signals) -> None:
    assert run_ready("--", "sh", "-c", f"kill -{int(number)} $$").returncode == -number


@pytest.mark.parametrize(
    ("word", "mode", "code", "why"),
    [
        ("absent", None, 127, "there is no such command"),
        ("plain", 0o644, 126, "Permission denied"),
        ("train.py", 0o644, 126, "underfed run -- python "),
    ],
)
def test_a_command_that_cannot_be_started_has_the_shells_exit_code(
    word: str, mode: int | None, code: int, why: str, tmp_path: Path
) -> None:
    if mode is not None:
        (tmp_path / word).touch(mode)
    done = run_ready("--", str(tmp_path / word))
    assert done.returncode == code
    assert done.stderr.startswith(b"underfed run: ")
    assert why in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


def test_a_script_without_its_first_line_is_given_to_the_shell(tmp_path: Path) -> None:
    (tmp_path / "script").write_text('echo "$1 $2"\n')
    (tmp_path / "script").chmod(0o755)
    assert run_ready("--", str(tmp_path / "script"), "one", "two").stdout == b"one two\n"


def test_disabled_it_becomes_the_command_and_nothing_else() -> None:
    program = "import os, sys; print(os.getpid(), os.environ.get('UNDERFED_LAUNCH'), os.environ['PYTHONPATH'])"
    job = start_under("--set", "nonsense", "--", sys.executable, "-c", program, variables={"UNDERFED_DISABLED": "1"})
    done = finish(job)
    assert done.stdout.decode().split() == [str(job.pid), "None", str(ROOT)]
    assert done.stderr == b""


# What it reads and writes is its own.


def test_output_is_the_commands_byte_for_byte() -> None:
    program = "import os; [os.write(1 + n % 2, bytes(range(256)) * 40 + b'\\n') for n in range(20)]"
    command = (sys.executable, "-c", program)
    bare, done = finish(start(*command)), run_under("--", *command)
    assert (done.returncode, done.stdout, others(done.stderr)) == (0, bare.stdout, bare.stderr)


def test_input_goes_to_the_command() -> None:
    given = os.urandom(1 << 20)
    assert run_under("--", "cat", given=given).stdout == given


def test_who_reads_the_output_sees_it_end_when_the_command_closes_it() -> None:
    job = start_under("--", "sh", "-c", "echo one; exec >&-; read line; exit 4")
    assert job.stdout is not None
    assert job.stdout.read() == b"one\n"
    assert job.poll() is None
    assert finish(job, b"go on\n").returncode == 4


def test_who_writes_the_input_sees_that_nobody_reads_it() -> None:
    job = start_under("--", "sh", "-c", "exec <&-; echo closed; exec sleep 60")
    assert job.stdin is not None
    assert job.stdout is not None
    assert job.stdout.readline() == b"closed\n"
    with pytest.raises(BrokenPipeError):
        while True:
            os.write(job.stdin.fileno(), b"x" * 65536)
    job.terminate()
    job.communicate()


def test_files_that_were_handed_down_reach_it() -> None:
    reading, writing = os.pipe()
    program = f"import os; os.write({writing}, b'through')"
    done = run_under("--", sys.executable, "-c", program, pass_fds=(writing,))
    os.close(writing)
    assert (done.returncode, os.read(reading, 100)) == (0, b"through")
    os.close(reading)


def test_it_starts_with_no_signal_blocked_or_ignored() -> None:
    """Except those that were so before us, and two of the C library's own."""

    def masks(shown: bytes) -> list[int]:
        return [int(line.split()[1], 16) & ~(3 << 31) for line in shown.splitlines()]

    command = ("grep", "^Sig[BI]", "/proc/self/status")
    bare = masks(finish(start(*command)).stdout)
    assert masks(run_under("--", *command).stdout) == bare
    assert len(bare) == 2


# Signals reach it once.


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        signal.SIGRTMIN,
        # Passed on by the same lines as those two, and sent to the whole group below.
        pytest.param(signal.SIGINT, marks=pytest.mark.soak),
        pytest.param(signal.SIGHUP, marks=pytest.mark.soak),
    ],
)
def test_a_signal_to_the_launcher_is_passed_on(number: signal.Signals) -> None:
    job = counting()
    job.send_signal(number)
    done = finish(job)
    assert (done.returncode, done.stdout) == (1, f"[{int(number)}]\n".encode())


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGWINCH, marks=pytest.mark.soak)])
def test_a_signal_to_the_whole_group_is_not_doubled(number: signal.Signals) -> None:
    job = counting()
    os.killpg(job.pid, number)
    assert finish(job).returncode == 1


def test_one_to_the_group_and_one_to_the_launcher_are_two() -> None:
    job = counting()
    os.killpg(job.pid, signal.SIGUSR1)
    job.send_signal(signal.SIGUSR2)
    assert finish(job).returncode == 2


def test_a_terminated_command_ends_as_it_would_have() -> None:
    job = start_under("--", "sh", "-c", "echo ready; exec sleep 30")
    assert job.stdout is not None
    job.stdout.readline()
    job.terminate()
    assert finish(job).returncode == -signal.SIGTERM


def test_killing_the_launcher_kills_the_command() -> None:
    job = start_under("--", "sh", "-c", "echo $$; exec sleep 30")
    assert job.stdout is not None
    command = int(job.stdout.readline())
    # Only then is it more than just about to wait.
    wait_until(lambda: str(Path(f"/proc/{job.pid}/fd/0").readlink()) == os.devnull, "it let go of its pipes")
    job.kill()
    assert job.wait() == -signal.SIGKILL
    wait_until(lambda: not procfs.is_running(command, None), "the command is gone")
    finish(job)
    run_ready("--", "true")  # clears up


def test_a_job_stops_and_goes_on_with_its_terminal() -> None:
    """A shell's part is played by a program with a terminal of its own."""
    shell = f"""
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
command = {[*UNDERFED, "run", "--", "sh", "-c", "tty >/dev/null && echo begun; read line; echo got $line; exit 9"]!r}
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(command[0], command)
status = os.waitpid(job, os.WUNTRACED)[1]
print("stopped by", os.WSTOPSIG(status), flush=True)
os.tcsetpgrp(0, job)
os.killpg(job, signal.SIGCONT)
print("exit code", os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]), flush=True)
"""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.environ["PYTHONPATH"] = str(ROOT)
        os.execv(sys.executable, [sys.executable, "-c", shell])
    seen = read_until(terminal, b"begun")
    os.write(terminal, b"\x1a")
    seen += read_until(terminal, f"stopped by {int(signal.SIGTSTP)}".encode())
    os.write(terminal, b"word\n")
    seen += read_until(terminal, b"exit code 9")
    os.close(terminal)
    os.waitpid(pid, 0)
    assert b"got word" in seen


def read_until(terminal: int, wanted: bytes) -> bytes:
    seen = b""
    while wanted not in seen:
        try:
            seen += os.read(terminal, 4096)
        except OSError as error:
            raise AssertionError(f"the terminal closed after {seen!r}") from error
    return seen


def test_a_notebooks_kernel_finds_the_parent_it_was_given() -> None:
    program = "import os; print(os.environ['JPY_PARENT_PID'] == str(os.getppid()))"
    command = ("--", sys.executable, "-c", program)
    assert run_under(*command, variables={"JPY_PARENT_PID": str(os.getpid())}).stdout == b"True\n"


def test_a_profile_is_asked_for_by_a_variable() -> None:
    program = "import os; print(os.environ.get('UNDERFED_PROFILE'))"
    assert run_ready("--profile", sys.executable, "-c", program).stdout == b"1\n"
    assert run_ready("--", sys.executable, "-c", program).stdout == b"None\n"


# Options are checked before anything is started.


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--set", "workers=4"], "num_workers"),
        (["--set", "num_workers=many"], "num_workers=many"),
        (["--set", "num_workers=-1"], "num_workers=-1"),
        (["--set", "pin_memory=perhaps"], "true or false"),
        (["--set", "num_workers=0", "--set", "prefetch_factor=4"], "prefetch_factor=4 needs workers"),
        (["--set", "num_workers=0", "--set", "persistent_workers=true"], "persistent_workers=true needs workers"),
        (["--set", "num_workers=1", "--set", "num_workers=2"], "given twice"),
        (["--replay", "0"], "--replay 0"),
        (["--tag", "=nothing"], "--tag =nothing"),
        (["--tag", "a=b,c"], "without a comma"),
        (["--url", "nowhere"], "nowhere"),
        (["--name", "a\nb"], "name: "),
        (["--apply", "latest", "--url", "http://127.0.0.1:9"], "no service answers at http://127.0.0.1:9"),
        (["--wrong", "x"], "--wrong"),
        (["--set"], "--set"),
    ],
)
def test_an_option_that_cannot_be_used_stops_it(
    options: list[str], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(*options, "--", "touch", str(tmp_path / "started")) == 2
    assert named in capsys.readouterr().err
    assert not (tmp_path / "started").exists()


def test_without_a_command_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("--name", "x") == 2
    assert "there is no command to run" in capsys.readouterr().err


def code_of(*words: str) -> object:
    """Of a launcher that does not come to its command, and so can be called here."""
    try:
        return cli.main(["run", *words])
    except SystemExit as ended:
        return ended.code


@pytest.mark.parametrize(
    ("words", "own", "command"),
    [
        (["--", "a"], [], ["a"]),
        (["a", "--name", "b"], [], ["a", "--name", "b"]),
        (["--name", "x", "a", "--", "b"], ["--name", "x"], ["a", "--", "b"]),
        (["--name=x", "a"], ["--name=x"], ["a"]),
        (["--set", "k=v", "--", "--odd"], ["--set", "k=v"], ["--odd"]),
        (["--help", "a"], ["--help"], ["a"]),
        (["--profile", "a", "--profile"], ["--profile"], ["a", "--profile"]),
        (["--name"], ["--name"], []),
    ],
)
def test_the_command_begins_where_our_options_end(words: list[str], own: list[str], command: list[str]) -> None:
    assert split(words) == (own, command)


def test_what_a_run_is_called_reaches_every_process_of_it() -> None:
    options = ["--name", "n", "--project", "p", "--tag", "a=1", "--tag", "b=2", "--url", "http://127.0.0.1:9/x/"]
    program = "import os; print(*(os.environ['UNDERFED_' + name] for name in ('NAME', 'PROJECT', 'TAGS', 'URL')))"
    variables = {"UNDERFED_TAGS": "a=0,c=3", "UNDERFED_LINGER_S": "0"}  # no service is there
    done = run_ready(*options, "--", sys.executable, "-c", program, **variables)
    assert done.stdout == b"n p a=1,c=3,b=2 http://127.0.0.1:9/x/\n"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python train.py --lr 1", "train"),
        ("python -m pkg.training", "training"),
        ("torchrun --nproc-per-node 2 scripts/resnet.py", "resnet"),
        ("/usr/bin/env", "env"),
        ("python -c pass", "python"),
    ],
)
def test_a_run_is_called_as_its_python_program(command: str, name: str) -> None:
    assert name_of(command.split()) == name


# A command in which nothing was measured is recorded as a run.


def unseen_run(service: Service, *command: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts and the end of the run that was recorded for the command."""
    done = run_ready(*command)
    wait_until(service.ends, "the end arrives")
    facts = next(window["run"] for window in service.windows if "run" in window)
    assert facts["not_measured"]["loader"] in own_lines(done.stderr)[0]
    return facts, service.ends()[0]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["true"], "no Python ran here"),
        ([sys.executable, "-I", "-c", ""], "no Python ran here"),
        ([sys.executable, "-c", ""], "PyTorch was not imported"),
        pytest.param(
            [sys.executable, "-c", "import torch"],
            "PyTorch was imported, and no DataLoader was iterated",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_the_run_says_why_no_loader_was_seen(service: Service, command: list[str], reason: str) -> None:
    facts, end = unseen_run(service, "--", *command)
    assert facts["not_measured"]["loader"].startswith("no loader seen: ")
    assert reason in facts["not_measured"]["loader"]
    assert (facts["started_by"], facts["command"], end["status"], end["exit_code"]) == ("run", command, "finished", 0)


def test_a_run_without_a_loader_has_the_reason_that_came_nearest_to_one() -> None:
    reports: dict[str, list[str]] = {}
    reasons = []
    for report in (None, launch.PYTHON, launch.TORCH, launch.UNHOOKED):
        if report is not None:
            reports[report] = ["no such hook"]
        reasons.append(launch.why_no_loader(reports))
    assert ["no Python" in reasons[0], "not imported" in reasons[1], "was imported" in reasons[2]] == [True] * 3
    assert reasons[3] == "no loader seen: no such hook"


@pytest.mark.parametrize(
    ("script", "code", "reason"), [("exit 3", 3, "exit code 3"), ("kill -9 $$", -9, "killed by SIGKILL")]
)
def test_the_run_says_how_the_command_ended(service: Service, script: str, code: int, reason: str) -> None:
    facts, end = unseen_run(service, "--name", "failing", "--tag", "a=b", "--", "sh", "-c", script)
    assert (facts["name"], facts["tags"]) == ("failing", {"a": "b"})
    assert (end["status"], end["exit_code"]) == ("crashed", code)
    assert reason in end["exit_reason"]
    assert all(not window.get("steps") for window in service.windows)


def test_a_command_in_a_command_is_reported_once(service: Service) -> None:
    done = run_ready("--", *UNDERFED, "run", "--name", "inner", "--", "sh", "-c", "exit 5")
    assert done.returncode == 5
    wait_until(service.ends, "the end arrives")
    assert [window["run"]["name"] for window in service.windows if "run" in window] == ["inner"]


def test_where_nothing_can_be_recorded_the_command_runs(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run_ready("--", "sh", "-c", "echo fine; exit 6", UNDERFED_RINGS=str(tmp_path / "file"))
    assert (done.returncode, done.stdout) == (6, b"fine\n")
    assert own_lines(done.stderr)[0].startswith("underfed: nothing is recorded: ")


def test_launchers_leave_nothing_and_clear_up_after_those_that_were_killed() -> None:
    own = Path(os.environ["UNDERFED_RINGS"]) / f"underfed-{os.getuid()}"
    job = start_under("--", "sh", "-c", "echo $UNDERFED_LAUNCH $$; exec sleep 300")
    assert job.stdout is not None
    left, command = job.stdout.readline().decode().split()
    assert Path(left).parent == own
    job.kill()
    os.kill(int(command), signal.SIGKILL)
    finish(job)
    assert Path(left).exists()
    run_ready("--", "true")
    assert list(own.glob("launch-*")) == []


def test_the_directory_of_a_launcher_in_another_container_is_left_alone() -> None:
    """They may share /dev/shm, and not their pids."""
    directory = Path(os.environ["UNDERFED_RINGS"], f"underfed-{os.getuid()}", "launch-99999999-1")
    directory.mkdir(mode=0o700, parents=True)
    directory.parent.chmod(0o700)
    file = os.open(directory, os.O_RDONLY)
    fcntl.flock(file, fcntl.LOCK_SH)
    run_ready("--", "true")
    assert directory.exists()
    os.close(file)
    run_ready("--", "true")
    assert not directory.exists()


def test_a_word_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / launch.PYTHON).mkdir()
    launch.report({launch.LAUNCH: str(tmp_path)}, launch.RECORDING, "run-1")
    assert launch.read_reports(tmp_path) == {launch.RECORDING: ["run-1"]}


def test_a_recording_that_began_was_seen_even_if_its_name_is_lost(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk a file is made, and nothing goes into it."""
    monkeypatch.setenv(launch.LAUNCH, str(tmp_path))
    report_end(read_config({}), StartedCommand(["train"], wall_clock(), now_ns()), 0, {launch.RECORDING: []}, None)
    assert capsys.readouterr().err == ""
    assert launch.RECORDING in launch.read_reports(tmp_path)


ENCODED = encode({"num_workers": 2}, [])


@pytest.mark.parametrize(
    ("settings", "reports", "said"),
    [
        (ENCODED, {}, ["--set num_workers=2: no training loader was iterated, so nothing was set"]),
        (ENCODED, {launch.SETTLED: [""]}, []),
        (None, {}, []),
    ],
)
def test_settings_that_came_to_no_loader_are_reported(
    settings: str | None,
    reports: dict[str, list[str]],
    said: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(launch.LAUNCH, str(tmp_path))
    report_end(
        read_config({}),
        StartedCommand(["train"], wall_clock(), now_ns()),
        0,
        {launch.RECORDING: ["run-1"], **reports},
        settings,
    )
    assert capsys.readouterr().err.splitlines() == [f"underfed: {line}" for line in said]
    assert launch.read_reports(tmp_path) == {launch.RECORDING: ["run-1"]}, "an outer launcher learns of the run"


def test_reports_have_a_bound(tmp_path: Path) -> None:
    environ = {launch.LAUNCH: str(tmp_path)}
    for number in range(5000):
        launch.report(environ, launch.RECORDING, f"run-{number}")
    assert launch.read_reports(tmp_path)[launch.RECORDING][:2] == ["run-0", "run-1"]
    assert (tmp_path / launch.RECORDING).stat().st_size < 2 * launch.REPORT_BYTES


def test_reports_without_a_launcher_are_dropped_silently(tmp_path: Path) -> None:
    launch.report({}, launch.TORCH)
    launch.report({launch.LAUNCH: str(tmp_path / "gone")}, launch.TORCH)
    assert launch.read_reports(tmp_path / "gone") == {}
