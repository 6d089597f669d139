// 24_processes: runs other programs to their end, talks with one through pipes, and kills those
// that take too long. Prints their output and how each one ended.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>

#include <weft/process.h>
#include <weft/weft.h>

using namespace std::chrono_literals;

// A calculator process that answers one question after the other.
class calculator {
public:
    std::string ask(const std::string& question) {
        program_.in().write_all(question + '\n');
        std::string answer;
        for (char c = 0; program_.out().read({&c, 1}) == 1 && c != '\n';) answer += c;
        return answer;
    }

    weft::exit_status end() {
        program_.in().close();  // end of input, which ends the program
        return program_.wait();
    }

private:
    weft::process program_{{"sh", "-c", "while read question; do echo $(($question)); done"},
                           {.in = weft::stdio::pipe, .out = weft::stdio::pipe}};
};

// Waits for at most 20 ms, then ends the process.
void give_up_on_a_slow_one() {
    weft::process slow({"sleep", "1000"});
    if (!slow.wait_for(20ms)) {
        slow.kill(SIGTERM);
        std::printf("the slow one %s\n", slow.wait().to_string().c_str());
    }
}

// The shell has started two programs. All three are in a process group of their own, and end
// together.
void end_a_command_with_its_children() {
    weft::process shell({"sh", "-c", "sleep 1000 & sleep 1000 & echo started; wait"},
                        {.out = weft::stdio::pipe, .group = weft::process_group::own});
    char line[8];
    static_cast<void>(shell.out().read(line));
    shell.kill_group(SIGTERM);
    static_cast<void>(shell.out().read(line));  // until the end of the pipe: no process has its other side open
    std::printf("the shell %s\n", shell.wait().to_string().c_str());
}

// run_process also ends the whole group when it is interrupted.
void give_up_on_a_slow_command() {
    try {
        weft::with_timeout(20ms, [] { static_cast<void>(weft::run_process({"sh", "-c", "sleep 1000 | cat"})); });
    } catch (const weft::timed_out&) {
        std::printf("the slow command is gone, with its children\n");
    }
}

int main() {
    return weft::main([] {
        const weft::process_output sorted = weft::run_process({"sort", "-n"}, "20\n3\n100\n");
        std::printf("%s", sorted.out.c_str());

        calculator c;
        std::printf("6 * 7 = %s\n", c.ask("6 * 7").c_str());
        std::printf("1 << 10 = %s\n", c.ask("1 << 10").c_str());
        std::printf("the calculator %s\n", c.end().to_string().c_str());

        give_up_on_a_slow_one();
        end_a_command_with_its_children();
        give_up_on_a_slow_command();
        try {
            const weft::process none({"no-such-program"});
        } catch (const std::system_error& e) {
            std::printf("%s\n", e.what());
        }
    });
}
