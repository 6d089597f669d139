"""header_text.py: what a header says about its declarations: comments and signatures, as Markdown."""
import re
import textwrap

LABEL = re.compile(r"^(Invariants|Ordering|Locks|Protocol|Who|Threads|See):")
MACRO = re.compile(r"\s*\b(?:WEFT_(?!LEAKS)[A-Z_]+(?:\((?:[^()]|\([^()]*\))*\))?|RUN_NOEXCEPT|RUN_INT_ENUM)")
CODE = re.compile(r"(?<![\w`:])("
                  r"(?:\w+::)+\w+\(\{[^{}()]*\}[^{}()]*\)"  # a::b({.c = d}, e)
                  r"|"
                  r"(?:[A-Za-z_]\w*::)+~?\w+(?:<[^<>\s]{1,30}>)?(?:\(\))?"  # a::b, a::b<c>()
                  r"|[A-Za-z_]\w*<[A-Za-z_][^<>\n]{0,30}>(?:::\w+)*\*?(?:\(\))?"  # a<b>
                  r"|[A-Za-z_]\w*\((?:[\w:, ]{0,24})\)(?<!\(s\))"  # a(), a(b)
                  r"|\w+(?:_\w+)+\*?"  # a_b
                  r"|(?:NULL|nullptr|nullopt|noexcept)\b"
                  r")(?![\w`])")
NAMED = re.compile(r"(?:\bdocs/\w+\.md(?:#[\w-]+)?|\b(?:[a-z_]+/)*[a-z_]+\.h\b)")  # pages and headers: api.py makes links of them
DRAWN = re.compile(r"\S {3,}\S|[─-╿═]")


def escaped(text):
    return re.sub(r"([*_#\[\]])", r"\\\1", text).replace("<", "&lt;")


def prose(text):
    """Text of a comment, with what looks like code as code."""
    out, at = [], 0
    for part in re.finditer(rf"`[^`]+`|{NAMED.pattern}|{CODE.pattern}", text):
        found = part.group(0)
        out += [escaped(text[at:part.start()]), f"\x01{found}\x01" if NAMED.fullmatch(found) else "`" + found.strip("`") + "`"]
        at = part.end()
    return "".join(out + [escaped(text[at:])])


def markdown(lines):
    """Paragraphs, lists, and what is indented or drawn, which stays as it is."""
    out, block = [], []

    def flush():
        if not block:
            return
        if all(line.startswith("  ") for line in block) or any(DRAWN.search(line) for line in block):
            indent = min(len(line) - len(line.lstrip()) for line in block)
            out.extend(["```cpp", *(line[indent:] for line in block), "```", ""])
        else:
            items = [[]]
            for line in block:
                if re.match(r"\s*(-|\d\.) ", line):
                    items.append([])
                items[-1].append(line.strip())
            for item in items:
                text = " ".join(item)
                mark = re.match(r"(-|\d\.) +", text)
                if mark:
                    out.append(f"{mark.group(1):<4}" + prose(text[mark.end():]))
                elif text:
                    out.extend([prose(text), ""])
            out.append("")
        block.clear()

    for line in lines:
        indented = line.startswith("  ")
        if line.strip() == "" or (block and indented != block[0].startswith("  ") and not any(re.match(r"\s*(-|\d\.) ", b) for b in block)):
            flush()
        if line.strip():
            block.append(line)
    flush()
    text = re.sub(r"```\n\n```cpp\n", "\n", "\n".join(out))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


class header:
    def __init__(self, text):
        self.lines = text.splitlines()
        head = []
        for line in self.lines:
            if not line.startswith("//"):
                break
            head.append(line[3:])
        self.title = prose(re.sub(r"^[\w.]+: ", "", head[0])) if head else ""
        self.title = self.title[:1].upper() + self.title[1:]
        self.see, kept, label = [], [], None
        rest = head[1:]
        while rest and rest[0].strip():  # the rest of the first sentence
            self.title += " " + prose(rest.pop(0))
        for line in rest:
            self.see += re.findall(r"docs/\w+\.md", line) if "See:" in line else []
            line = re.sub(r"\s*See:\s.*$", "", line) if not line.startswith("See:") else line
            found = LABEL.match(line)
            if found:
                label = found.group(1)
            elif label and not line.startswith(" "):
                label = None
            if label == "Threads" or (label is None and re.match(r"[A-Z][a-z]+: {2,}", line)):  # aligned, which is no drawing
                kept += [""] if line[:1].isalpha() else []
                kept.append(re.sub(r"^(\w+): +", r"\1: ", line.strip()))
            elif label is None and not line.startswith("Written by tools/"):
                kept.append(line)
        self.head = markdown(kept)

    def opening(self, number):
        """The line on which what ends at line number, "} name;", begins; the same line for anything else."""
        if not self.lines[number - 1].lstrip().startswith("}"):
            return number
        depth = 0
        for at in range(number, 0, -1):
            depth += self.lines[at - 1].count("}") - self.lines[at - 1].count("{")
            if depth == 0:
                return at
        return number

    def start(self, number):
        """The first line of the declaration at line number: of its template, if it is one."""
        at = number - 1
        while at > 0:
            before = self.lines[at - 1].strip()
            if re.match(r"(template\b|requires\b|\[\[|typename |inline\b)", before) and not before.endswith((";", "}", ":", "{")):
                at -= 1
            elif before.endswith((",", "(", "&&", "||")) and not before.startswith("//") and "///<" not in before and before.count("(") != before.count(")"):
                at -= 1
            else:
                break
        return at

    def comment(self, number):
        """The comment of the declaration at line number, as Markdown; None if it has none."""
        at = self.start(number)
        found = []
        while at > 0 and re.match(r"\s*//", self.lines[at - 1]) and "clang-format" not in self.lines[at - 1] and "// ----" not in self.lines[at - 1]:
            at -= 1
            found.insert(0, re.sub(r"^\s*///? ?", "", self.lines[at]))
        behind = re.search(r"///< (.*)", self.lines[number - 1])
        if behind:
            found.append(behind.group(1))
        return markdown(found) or None

    def signature(self, number, kind, with_comment=False):
        """The declaration at line number, without its body."""
        at = self.start(number)
        if kind == "define":
            line = self.lines[at].lstrip("# ")
            return "#" + (re.match(r"define \w+\([^)]*\)", line) or re.match(r"define \w+(?=.*\\$)|.*", line)).group(0)
        if kind == "enum" or (kind == "typedef" and self.lines[at].lstrip().startswith("typedef") and "{" in self.lines[at]):
            return self.block(number)
        out, depth, done = [], 0, False
        indent = len(self.lines[at]) - len(self.lines[at].lstrip())
        for line in self.lines[at:at + 40]:
            code, kept = re.sub(r"\s*//.*", "", line), ""
            for i, c in enumerate(code):
                after = code[i - 1:i + 2]
                if depth == 0 and (c in "{;" or (c == ":" and kind != "variable" and "::" not in after and "?" not in kept and i > 0)):
                    if c == "{" and kind == "variable":
                        kept += code[i:].split(";")[0]
                    done = True
                    break
                depth += (c in "(") - (c in ")")
                kept += c
            if kept.strip() or not done:
                out.append(kept[indent:].rstrip() if kept[:indent].strip() == "" else kept.strip())
            if done:
                break
        text = MACRO.sub("", "\n".join(out)).rstrip()
        text = re.sub(r"\b(?:weft::)?detail::\w+(<(?:[^<>]|<[^<>]*>)*>)?(::\w+)*", "/* unspecified */", text)
        return text + ("" if kind == "class" else ";")

    def block(self, number):
        """The declaration at line number with its body: a structure of members, an enumeration."""
        at = self.start(number)
        indent = len(self.lines[at]) - len(self.lines[at].lstrip())
        out, depth, opened = [], 0, False
        for line in self.lines[at:]:
            code = re.sub(r"//.*", "", line)
            depth += code.count("{") - code.count("}")
            opened = opened or "{" in code
            out.append(re.sub(r"///<? ", "// ", line[indent:]).rstrip())
            if (opened and depth == 0) or (not opened and ";" in code):
                break
        text = MACRO.sub("", "\n".join(out))
        if len(out) == 1 and len(text) > 88 and "{" in text and "//" not in text:
            before, inside, behind = re.match(r"(.*?\{) (.*) (\}.*)", text).groups()
            text = "\n".join([before, *textwrap.wrap(inside, 84, initial_indent="    ", subsequent_indent="    "), behind])
        return text

    def follows(self, line, next_line):
        """Whether the second declaration comes right after the first, without an empty line."""
        between = self.lines[line - 1:next_line - 1]
        return all(text.strip() for text in between) and len(between) < 12

    def is_forward(self, number):
        return bool(re.match(r"\s*(class|struct|template.*) \w+;$", self.lines[number - 1]))

    def is_unusable(self, number, kind):
        """Whether the member at line number is public for the runtime only: a friend that is a class, or an
        operation on objects of the runtime."""
        declared = self.lines[number - 1].split("{")[0].strip()
        if kind == "friend" and re.match(r"friend (class|struct) ", declared):
            return True
        if kind != "function" or not re.search(r"\(.*\bdetail::", declared):
            return False
        return self.comment(number) is None or bool(re.search(r"\(detail::\w+\*", declared))

    def is_private(self, number):
        """Whether the class at line number is in the private part of another one."""
        own = len(self.lines[number - 1]) - len(self.lines[number - 1].lstrip())
        if own == 0:
            return False
        for line in reversed(self.lines[:number - 1]):
            indent = len(line) - len(line.lstrip())
            if line.strip() and indent < own:
                if line.strip() in ("private:", "protected:"):
                    return True
                if line.strip() == "public:":
                    return False
                if not line.rstrip().endswith((":", ",")):
                    return bool(re.match(r"\s*class\b", line))
        return False
