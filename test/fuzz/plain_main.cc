// plain_main.cc: main() of a fuzz target without libFuzzer: it runs the corpus, and mutations of
// it.
//
// It does not use coverage, so it does not find much. But every compiler checks the same
// properties, and a seed gives the same run everywhere. Its command line is libFuzzer's: -seed=N
// -runs=N [-artifact_prefix=P] FOLDER... Other flags are ignored. An input that fails is saved as
// Pcrash.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/check.h"

extern "C" std::size_t LLVMFuzzerMutate(uint8_t* data, std::size_t size, std::size_t most);

// Some targets have one. Changes data, which has room for most bytes, and returns the new size.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(uint8_t* data,
                                                                     std::size_t size,
                                                                     std::size_t most,
                                                                     unsigned seed);

namespace {

using input = std::vector<uint8_t>;

constexpr std::size_t longest = 4096;
constexpr unsigned most_changes = 5;

std::mt19937_64 chance;  // NOLINT: the seed is given
std::vector<input> corpus;

std::size_t below(std::size_t n) { return static_cast<std::size_t>(chance() % n); }

// Copies a piece of an input of the corpus to a random place.
std::size_t insert_piece(uint8_t* data, std::size_t size, std::size_t most) {
    const input& from = corpus[below(corpus.size())];
    if (from.empty() || size == most) return size;
    const std::size_t begin = below(from.size());
    const std::size_t length = std::min(1 + below(from.size() - begin), most - size);
    const std::size_t at = below(size + 1);
    std::memmove(data + at + length, data + at, size - at);
    std::memcpy(data + at, from.data() + begin, length);
    return size + length;
}

std::size_t erase_piece(uint8_t* data, std::size_t size) {
    if (size == 0) return size;
    const std::size_t at = below(size);
    const std::size_t length = 1 + below(std::min<std::size_t>(size - at, 1 + below(16)));
    std::memmove(data + at, data + at + length, size - at - length);
    return size - length;
}

std::size_t mutate(input& in, std::size_t size) {
    if (LLVMFuzzerCustomMutator == nullptr) return LLVMFuzzerMutate(in.data(), size, longest);
    return LLVMFuzzerCustomMutator(in.data(), size, longest, static_cast<unsigned>(chance()));
}

void read_corpus(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
        std::ifstream in(file, std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
        if (corpus.back().size() > longest) corpus.back().resize(longest);
    }
}

// For the signal handler: the current input.
const input* tried = nullptr;
std::string kept_in = "crash";

void keep_and_end(int signal) {
    std::ofstream(kept_in, std::ios::binary)
        .write(reinterpret_cast<const char*>(tried->data()), static_cast<std::streamsize>(tried->size()));
    std::fprintf(stderr, "fuzz: the input is in %s\n", kept_in.c_str());
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void attempt(const input& in) {
    tried = &in;
    LLVMFuzzerTestOneInput(in.data(), in.size());
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(uint8_t* data, std::size_t size, std::size_t most) {
    switch (below(4)) {
        case 0:
            if (size != 0) data[below(size)] ^= static_cast<uint8_t>(1U << below(8));
            return size;
        case 1:
            if (size != 0) data[below(size)] = static_cast<uint8_t>(chance());
            return size;
        case 2:
            return erase_piece(data, size);
        default:
            return insert_piece(data, size, most);
    }
}

int main(int argc, char** argv) {
    uint64_t runs = 0;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        if (argument.starts_with("-seed=")) {
            chance.seed(std::strtoull(argv[i] + 6, nullptr, 10));
        } else if (argument.starts_with("-runs=")) {
            runs = std::strtoull(argv[i] + 6, nullptr, 10);
        } else if (argument.starts_with("-artifact_prefix=")) {
            kept_in = std::string(argument.substr(17)) + "crash";
        } else if (!argument.starts_with('-')) {
            read_corpus(argv[i]);
        }
    }
    if (corpus.empty()) {
        std::fputs("fuzz: no corpus\n", stderr);
        return 2;
    }
    std::signal(SIGABRT, keep_and_end);
    for (const input& in : corpus) attempt(in);
    for (uint64_t i = 0; i < runs; ++i) {
        input in = corpus[below(corpus.size())];
        std::size_t size = in.size();
        in.resize(longest);
        for (std::size_t changes = 1 + below(most_changes); changes > 0; --changes) size = mutate(in, size);
        in.resize(size);
        in.shrink_to_fit();
        attempt(in);
    }
    std::printf("fuzz: %zu inputs of the corpus, and %llu mutations of them\n", corpus.size(),
                static_cast<unsigned long long>(runs));
    return 0;
}
