#include "options.h"

#include <stdexcept>
#include <string_view>

#include "../flags.h"

namespace cluster_wordcount {

namespace {

constexpr std::size_t chunk_size_min = std::size_t{8} * 1024;    // above wordcount::long_word
constexpr std::size_t chunk_size_max = std::size_t{256} * 1024;  // a result has to fit into a message of 1 MiB
static_assert(chunk_size_min > wordcount::long_word);

void parse_flag(std::string_view a, options& o) {
    using flags::take;
    if (a == "--help" || a == "-h") {
        o.help = true;
    } else if (a == "--check") {
        o.check = true;
    } else if (!take(a, "--server", o.at.server) && !take(a, "--stream", o.at.stream) &&
               !take(a, "--ack-wait", o.at.ack_wait) && !take(a, "--patience", o.at.patience) &&
               !take(a, "--chunk", chunk_size_min, chunk_size_max, o.count.chunk_size) &&
               !take(a, "--window", 1, 10'000, o.count.window) && !take(a, "--top", 0, 100'000, o.top) &&
               !take(a, "--threads", 1, 256, o.worker.threads) &&
               !take(a, "--deliveries", 1, 1'000'000, o.worker.deliveries_max) &&
               !take(a, "--crash-on", o.worker.crash_on) && !take(a, "--pause", o.worker.pause)) {
        throw std::invalid_argument("unknown flag \"" + std::string(a) + "\"");
    }
}

void check_stream(const std::string& name) {
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (name.find_first_not_of(allowed) != std::string::npos)
        throw std::invalid_argument("--stream needs letters, digits, - and _, not \"" + name + "\"");
}

}  // namespace

options parse_options(const std::vector<std::string>& arguments) {
    options chosen;
    std::vector<std::string> words;
    for (const std::string& a : arguments) {
        if (a.starts_with('-')) {
            parse_flag(a, chosen);
        } else {
            words.push_back(a);
        }
    }
    if (chosen.help) return chosen;
    check_stream(chosen.at.stream);
    if (words.empty()) throw std::invalid_argument("a command is missing; use coordinator, worker, remove or demo");
    chosen.what = words[0];
    const bool has_folder = chosen.what == "coordinator" || chosen.what == "demo";
    if (!has_folder && chosen.what != "worker" && chosen.what != "remove")
        throw std::invalid_argument("unknown command \"" + chosen.what + "\"; use coordinator, worker, remove or demo");
    if (words.size() > (has_folder ? 2U : 1U))
        throw std::invalid_argument(chosen.what + (has_folder ? " takes one folder" : " takes no arguments"));
    if (words.size() == 2) chosen.count.root = words[1];
    return chosen;
}

const char* usage() noexcept {
    return "usage: cluster_wordcount [FLAG...] coordinator [FOLDER]   counts the words of all files below FOLDER\n"
           "                                                          (/usr/include) with the workers that there are\n"
           "       cluster_wordcount [FLAG...] worker                 counts for coordinators, until the count ends\n"
           "       cluster_wordcount [FLAG...] remove                 removes the streams of a count that was given "
           "up\n"
           "       cluster_wordcount [FLAG...] demo [FOLDER]          a broker and four workers on this machine; some\n"
           "                                                          are killed; compares with a serial count\n"
           "  --server=URL          the NATS server, with JetStream (nats://127.0.0.1:4222)\n"
           "  --stream=NAME         the first part of the names of the streams (wordcount)\n"
           "  --patience=SECONDS    without an answer of the broker (60)\n"
           "  --ack-wait=SECONDS    until a chunk is given to another worker (10; demo: 1); the same everywhere\n"
           "of coordinator and demo:\n"
           "  --check               counts serially as well, and compares\n"
           "  --chunk=BYTES         of text in a chunk, at least; less than twice as many (131072)\n"
           "  --window=N            chunks that are sent and not counted (64)\n"
           "  --top=N               show the N most frequent words (10)\n"
           "of worker:\n"
           "  --threads=N           chunks that are counted at once (1)\n"
           "  --deliveries=N        of one chunk, after which it is reported as a failure (5)\n"
           "  --crash-on=WORD       to try it out: the worker kills itself over text with this word\n"
           "  --pause=SECONDS       to try it out: the worker waits after it has counted a chunk (0)\n"
           "Exit status: 0; 1 if a chunk could not be counted, or the result is not the serial one; 2 if an\n"
           "argument is invalid; 3 if the broker fails; 128 + N after signal N.\n";
}

}  // namespace cluster_wordcount
