// top_terminal.cc: see top_terminal.h. Compiled where ncurses is found.
#include "top_terminal.h"

#include <curses.h>
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using clock = std::chrono::steady_clock;

constexpr int escape = 27;
constexpr int tick_ms = 50;  // keys are waited for this long

// The terminal is as it was when this ends.
class terminal {
public:
    terminal() {
        if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) {
            throw std::runtime_error("weft: top needs a terminal; without one: --once");
        }
        std::setlocale(LC_CTYPE, "");
        is_utf8_ = std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
        if (::newterm(nullptr, stdout, stdin) == nullptr) {
            throw std::runtime_error("weft: ncurses does not know this terminal (TERM); without it: --once");
        }
        ::cbreak();
        ::noecho();
        ::keypad(stdscr, TRUE);
        ::set_escdelay(25);
        ::curs_set(0);
        ::timeout(tick_ms);
    }

    ~terminal() { ::endwin(); }

    terminal(const terminal&) = delete;
    terminal& operator=(const terminal&) = delete;

    // What does not fit is left out.
    void put(int row, const std::string& text, attr_t how = A_NORMAL) const {
        if (row < 0 || row >= LINES) return;
        ::move(row, 0);
        ::clrtoeol();
        ::attrset(static_cast<int>(how));
        ::addnstr(shown(text).c_str(), -1);
        ::attrset(A_NORMAL);
    }

private:
    // Cut at the width, and without what the terminal cannot show.
    [[nodiscard]] std::string shown(const std::string& text) const {
        std::string cut;
        int width = 0;
        for (const char c : text) {
            const auto byte = static_cast<unsigned char>(c);
            const bool continues = (byte & 0xc0) == 0x80;
            if (!continues && width++ == COLS) break;
            if (byte < 0x80 || is_utf8_) {
                cut += c;
            } else if (!continues) {
                cut += '?';
            }
        }
        return cut;
    }

    bool is_utf8_ = false;
};

class display {
public:
    display(top_source& from, const top_settings& settings) : from_(from), settings_(settings) {}

    int run() {
        json_value now = from_.state();  // before the terminal changes, so that an error is seen
        const terminal screen;
        take(std::move(now));
        for (;;) {
            draw(screen);
            const int key = ::getch();
            if (key == 'q' || key == 'Q') return 0;
            handle(key);
            if (!is_paused_ && stacks_.empty() && clock::now() - read_at_ >= settings_.every) read();
        }
    }

private:
    void take(json_value now) {
        before_ = std::move(now_);
        now_ = std::move(now);
        read_at_ = clock::now();
        make();
    }

    void read() {
        try {
            take(from_.state());
            error_.clear();
        } catch (const std::exception& e) {  // the last state stays
            error_ = e.what();
            read_at_ = clock::now();
        }
    }

    void make() {
        screen_ = make_screen(now_, before_, settings_.view, settings_.order);
        move_to(chosen_);
    }

    void move_to(std::ptrdiff_t row) {
        const auto last = static_cast<std::ptrdiff_t>(lines()) - 1;
        chosen_ = std::max<std::ptrdiff_t>(0, std::min(row, last));
    }

    [[nodiscard]] std::size_t lines() const noexcept { return stacks_.empty() ? screen_.rows.size() : stacks_.size(); }

    void handle(int key) {
        const int page = std::max(1, LINES / 2);
        switch (key) {
            case KEY_UP:
                return move_to(chosen_ - 1);
            case KEY_DOWN:
                return move_to(chosen_ + 1);
            case KEY_PPAGE:
                return move_to(chosen_ - page);
            case KEY_NPAGE:
                return move_to(chosen_ + page);
            case KEY_HOME:
                return move_to(0);
            case KEY_END:
                return move_to(static_cast<std::ptrdiff_t>(lines()));
            case '\n':
            case '\r':
            case KEY_ENTER:
                return stacks_.empty() ? open_stacks() : close_stacks();
            case escape:
                return close_stacks();
            case ' ':
                is_paused_ = !is_paused_;
                return;
            case 's':
                settings_.order = next(settings_.order, top_order::name);
                return make();
            case 'v':
                close_stacks();
                settings_.view = next(settings_.view, top_view::objects);
                chosen_ = 0;
                return make();
            default:
                return;
        }
    }

    template <typename E>
    static E next(E now, E last) noexcept {
        return now == last ? E{} : static_cast<E>(static_cast<int>(now) + 1);
    }

    void open_stacks() {
        if (screen_.rows.empty()) return;
        try {
            const top_row& row = screen_.rows[static_cast<std::size_t>(chosen_)];
            stacks_ = stacks_of(from_.stacks(row.which), row.which);
            title_ = row.text;
            row_of_stacks_ = chosen_;
            chosen_ = 0;
        } catch (const std::exception& e) {
            error_ = e.what();
        }
    }

    void close_stacks() {
        if (stacks_.empty()) return;
        stacks_.clear();
        move_to(row_of_stacks_);
    }

    void draw(const terminal& to) {
        ::erase();
        if (stacks_.empty()) {
            draw_rows(to);
        } else {
            draw_stacks(to);
        }
        std::string last = "q end  space " + std::string(is_paused_ ? "go on" : "pause") +
                           "  s sort: " + text_of(settings_.order) + "  v rows by: " + text_of(settings_.view) +
                           "  enter " + (stacks_.empty() ? "stacks" : "back");
        if (is_paused_) last = "PAUSED  " + last;
        to.put(LINES - 1, error_.empty() ? last : error_, A_REVERSE);
        ::refresh();
    }

    void draw_rows(const terminal& to) {
        int row = 0;
        for (const std::string& line : screen_.head) {
            to.put(row, line, row == 0 ? A_BOLD : A_NORMAL);
            ++row;
        }
        to.put(++row, screen_.columns, A_BOLD);
        const int room = std::max(1, LINES - 2 - row);
        const int first = std::max(0, static_cast<int>(chosen_) - room + 1);
        for (int i = first; i < static_cast<int>(screen_.rows.size()) && i < first + room; ++i) {
            to.put(++row, screen_.rows[static_cast<std::size_t>(i)].text, i == chosen_ ? A_REVERSE : A_NORMAL);
        }
    }

    void draw_stacks(const terminal& to) {
        to.put(0, title_, A_BOLD);
        const int room = std::max(1, LINES - 3);
        const int most = std::max(0, static_cast<int>(stacks_.size()) - room);
        chosen_ = std::min<std::ptrdiff_t>(chosen_, most);
        for (int i = 0; i < room && i + chosen_ < static_cast<std::ptrdiff_t>(stacks_.size()); ++i) {
            to.put(i + 2, stacks_[static_cast<std::size_t>(i + chosen_)]);
        }
    }

    top_source& from_;
    top_settings settings_;
    json_value now_;
    json_value before_;
    clock::time_point read_at_;
    top_screen screen_;
    std::ptrdiff_t chosen_ = 0;        // a row; in stacks, the first line that is shown
    std::vector<std::string> stacks_;  // empty: the rows are shown
    std::string title_;
    std::ptrdiff_t row_of_stacks_ = 0;
    std::string error_;
    bool is_paused_ = false;
};

}  // namespace

int show_in_terminal(top_source& from, const top_settings& settings) { return display(from, settings).run(); }
