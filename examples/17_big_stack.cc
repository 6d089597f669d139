// 17_big_stack: a recursion that is deeper than a green thread's stack.
//
// Green threads have small stacks, because there are many of them. A few calls need a large one: weft::on_big_stack runs them on another
// stack, as the same green thread: it may wait there, and exceptions leave it as they leave any function.
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <weft/weft.h>

namespace {

// A parser that calls itself for each bracket. Its frames are small, but the text decides how many there are.
class brackets {
public:
    explicit brackets(const std::string& text) : text_(text) {}

    // Parses "(…)", returns how deep it goes.
    std::size_t parse() {
        if (at_ == text_.size() || text_[at_] != '(') return 0;
        ++at_;
        const std::size_t inside = go_deeper();
        if (at_ == text_.size()) throw std::runtime_error("a bracket is open at the end");
        ++at_;
        return inside + 1;
    }

    [[nodiscard]] int more_stacks() const { return stacks_; }

private:
    // On the stack there is, as long as there is enough; then on another one.
    std::size_t go_deeper() {
        if (weft::this_g::stack_left() > 32 * 1024) return parse();
        ++stacks_;
        return weft::on_big_stack(4 << 20, [this] { return parse(); });
    }

    const std::string& text_;
    std::size_t at_ = 0;
    int stacks_ = 0;
};

}  // namespace

int main() {
    return weft::main([] {
        const std::string text = std::string(100'000, '(') + std::string(100'000, ')');
        brackets deep(text);
        std::printf("%zu brackets deep\n", deep.parse());
        std::printf("needed more than one stack: %s\n", deep.more_stacks() > 0 ? "yes" : "no");

        const std::string wrong(100'000, '(');
        try {
            brackets(wrong).parse();
        } catch (const std::runtime_error& e) {
            std::printf("error: %s\n", e.what());
        }
    });
}
