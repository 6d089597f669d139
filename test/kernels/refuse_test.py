#!/usr/bin/env python3
"""refuse_test.py REFUSE CONFORMANCE_TESTS: the launcher that refuses system calls does so.

Exits with 77 where the system allows no filter of system calls.
"""
import ctypes
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SKIPPED = 77
NO_FILTER = 3
refuse = ""
conformance = ""

# A call of each of the suites' sets that succeeds, or fails with another error, without the filter.
ASKED = "membarrier=ENOSYS,madvise[2==102]=EIO,clone[0&0x1000]=EIO,prctl[0==29]=EIO,epoll_pwait2=ENOTTY"


def run(*arguments, **options):
    return subprocess.run([refuse, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


class Refuse(unittest.TestCase):
    def sets(self):
        return {line.split()[0]: line.split()[1:] for line in run("--list").stdout.splitlines()}

    def test_every_rule_of_every_set_is_in_force(self):
        for name, rules in self.sets().items():
            asked = run(name, "--", refuse, "--ask", name)
            self.assertEqual(asked.returncode, 0, f"{name}:\n{asked.stdout}{asked.stderr}")
            self.assertEqual(asked.stdout.count(" refused\n"), len(rules))

    def test_without_the_filter_the_same_question_says_no(self):
        asked = run("--ask", ASKED.replace("membarrier=ENOSYS", "getppid=ENOSYS"))
        self.assertEqual(asked.returncode, 1, asked.stdout)
        self.assertNotIn(" refused", asked.stdout)

    def test_each_kernel_lacks_what_the_newer_one_lacks(self):
        sets = self.sets()
        kernels = [name for name in sets if name.startswith("linux-")]
        self.assertEqual(kernels, ["linux-6.1", "linux-5.10", "linux-4.18", "linux-3.10"])
        for newer, older in zip(kernels, kernels[1:]):
            self.assertLess(set(sets[newer]), set(sets[older]))

    def test_all_contains_each_single_rule(self):
        sets = self.sets()
        self.assertLessEqual(set(sets["single"]), set(sets["all"]))

    def test_a_condition_lets_other_arguments_pass(self):
        # PR_GET_TIMERSLACK succeeds, PR_SET_TIMERSLACK does not.
        code = ("import ctypes, sys; c = ctypes.CDLL(None, use_errno=True)\n"
                "sys.exit(10 * (c.prctl(30) > 0) + (c.prctl(29, 1) == -1 and ctypes.get_errno() == 22))")
        self.assertEqual(run("prctl[0==29]=EINVAL", "--", sys.executable, "-c", code).returncode, 11)

    def test_two_conditions_must_both_hold(self):
        code = ("import errno, socket; s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)\n"
                "s.setsockopt(6, 1, 1)\n"
                "try: s.setsockopt(6, 2, 1400)\n"
                "except OSError as e: raise SystemExit(e.errno)")
        ended = run("setsockopt[1==6;2==2]=ENOPROTOOPT", "--", sys.executable, "-c", code)
        self.assertEqual(ended.returncode, 92, ended.stderr)

    def test_bits_are_refused_if_one_of_them_is_set(self):
        code = ("import ctypes; c = ctypes.CDLL(None, use_errno=True)\n"
                "def answer(flags): ctypes.set_errno(0); c.syscall(56, flags, 0, 0, 0, 0); return ctypes.get_errno()\n"
                "print(answer(0x1000 | 0x10000000), answer(0x02000000 | 17))")
        if ctypes.sizeof(ctypes.c_void_p) != 8 or subprocess.run(["uname", "-m"], stdout=subprocess.PIPE, text=True).stdout != "x86_64\n":
            self.skipTest("the number of clone is that of x86-64")
        ended = run("clone[0&0x7e020000]=EIO,clone[0&0x1000]=EPERM", "--", sys.executable, "-c", code)
        self.assertEqual(ended.stdout, "5 5\n", ended.stderr)

    def test_the_status_of_the_program_passes_through(self):
        self.assertEqual(run("membarrier=ENOSYS", "--", "sh", "-c", "exit 42").returncode, 42)

    def test_mistakes_are_named(self):
        for rules, message in (("membarier=ENOSYS", "there is no call membarier"), ("membarrier=EWHAT", "does not know the error EWHAT"),
                               ("linux-2.2", "there is no set linux-2.2"), ("madvise[9==1]=EINVAL", "counted from 0 to 5"),
                               ("madvise[2=1]=EINVAL", "a condition is ARGUMENT==VALUE"), ("madvise[2==x]=EINVAL", "not a number of 32 bits")):
            ended = run(rules, "--", "true")
            self.assertEqual(ended.returncode, 2)
            self.assertIn(message, ended.stderr)
        self.assertEqual(run("membarrier=ENOSYS", "true").returncode, 2)
        self.assertEqual(run("membarrier=ENOSYS", "--", "/nowhere/program").returncode, 127)

    def test_a_table_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "table"
            table.write_text("[small]\nmembarrier=EIO  # why\n[large]\nsmall\n500..=ENOSYS\n")
            self.assertEqual(run(f"--table={table}", "--list").stdout, "small membarrier=EIO\nlarge membarrier=EIO 500..=ENOSYS\n")
            table.write_text("membarrier=EIO\n")
            self.assertIn("before the first set", run(f"--table={table}", "--list").stderr)

    def test_a_program_that_needs_a_refused_call_fails(self):
        sockets = "--gtest_filter=*/Tcp.*/P2"
        self.assertEqual(subprocess.run([conformance, sockets, "--gtest_brief=1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode, 0)
        ended = run("epoll_create1=ENOSYS", "--", conformance, sockets, "--gtest_brief=1")
        self.assertEqual(ended.returncode, 1, ended.stdout[-2000:])
        self.assertIn("wait_fd: Function not implemented", ended.stdout)

    def test_weft_does_without_calls_that_it_can_do_without(self):
        for rules, tests in (("rt_tgsigqueueinfo=EPERM", "ThreadLimitOfOne.AnInterruptedGFinishes"),
                             ("membarrier=ENOSYS", "Idle.AnIdleProcessDoesNotWakeUp"),
                             ("all", "*/Tcp.*/P2")):
            ended = run(rules, "--", conformance, f"--gtest_filter={tests}", "--gtest_brief=1")
            self.assertEqual(ended.returncode, 0, ended.stdout[-2000:])
            self.assertRegex(ended.stdout, r"PASSED  . [1-9]")


if __name__ == "__main__":
    refuse, conformance = sys.argv.pop(1), sys.argv.pop(1)
    if run("membarrier=ENOSYS", "--", "true").returncode == NO_FILTER:
        print("this system allows no filter of system calls")
        sys.exit(SKIPPED)
    unittest.main()
