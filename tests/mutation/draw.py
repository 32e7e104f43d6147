# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# The mutants of a C file: each replaces a part of one line in the body of a function. The scanner knows tokens and
# braces, no types: what does not compile is drawn again, so it may propose too much.
import bisect
import collections
import hashlib
import re

# `text` is the line and `mutated` what replaces it, both without indentation; `occurrence` counts equal proposals in a
# function, so that the id depends on neither line numbers nor other functions.
Mutant = collections.namedtuple("Mutant", "id file line function operator text mutated")

TOKEN = re.compile(
    r"[A-Za-z_]\w*|(?:0[xX][0-9a-fA-F]+|\d+\.\d*(?:[eE][-+]?\d+)?|\d+(?:[eE][-+]?\d+)?)[uUlLfF]*"
    r"|->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\S")
SKIPPED = re.compile(r"//.*?$|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S | re.M)
DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*$", re.M)
KEYWORDS = {"if", "while", "for", "switch", "return", "sizeof", "else", "do", "case", "goto", "_Alignof", "defined"}
# Checks at compile time and of our own bugs: a fault in them is none of the product's.
EXEMPT = re.compile(r"^(assert|static_assert|_Static_assert|default:|case [^:]*:$)")

COMPARE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&"}
ASSIGN = {"+=": "-=", "-=": "+=", "|=": "&=", "&=": "|=", "++": "--", "--": "++"}
SYMMETRIC = {"min", "max", "fmin", "fmax", "calloc"} # of two arguments
COMPARISONS = {"strcmp", "strncmp", "memcmp", "strcasecmp"}
WORD = {"true": "false", "false": "true", "break": "continue", "continue": "break",
        "min": "max", "max": "min", "fmin": "fmax", "fmax": "fmin"}


def blank(source):
    """The source with comments, texts and directives as spaces; a text keeps its quotes, as one token each."""
    def spaces(match):
        inner = re.sub(r"[^\n]", " ", match.group())
        return inner if match.group()[0] in "/#" or len(inner) < 2 else '"' + inner[1:-1] + '"'
    source = SKIPPED.sub(spaces, source)
    source = DIRECTIVE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), source)
    return source.replace('extern "C" {', "            ").replace('extern " " {', "            ")


def functions(code):
    """Which function each line's code is in: {line from 0: name}, for the lines between the braces of bodies."""
    starts = [0] + [m.end() for m in re.finditer("\n", code)]
    inside, depth, parens, name, candidate, last, begin = {}, 0, 0, None, None, "", 0
    for match in TOKEN.finditer(code):
        token = match.group()
        if token == "{":
            if depth == 0:
                name, begin = (candidate if last == ")" else None), match.start()
            depth += 1
        elif token == "}":
            depth = max(0, depth - 1)
            if depth == 0 and name:
                first, end = (bisect.bisect_right(starts, at) - 1 for at in (begin, match.start()))
                inside.update(dict.fromkeys(range(first if first == end else first + 1, max(end, first + 1)), name))
            if depth == 0:
                name = candidate = None
        elif depth == 0 and token == ";":
            candidate = None
        elif depth == 0 and token == "(":
            if parens == 0 and re.match(r"[A-Za-z_]", last) and not last.startswith("__attribute"):
                candidate = last
            parens += 1
        elif depth == 0 and token == ")":
            parens -= 1
        last = token
    return inside


class Line:
    """A line of code: its tokens with their places."""

    def __init__(self, raw, code, before):
        self.raw, self.code, self.before = raw, code, before # `before`: the code before it, to its last character
        found = list(TOKEN.finditer(code))
        self.tokens = [m.group() for m in found]
        self.at = [m.start() for m in found]
        self.end = [m.end() for m in found]

    def replace(self, first, last, text):
        """The line with tokens first..last replaced."""
        return self.raw[:self.at[first]] + text + self.raw[self.end[last]:]

    def closing(self, i):
        """The token that closes the bracket at token i, or None where another line has it."""
        depth = 0
        for j in range(i, len(self.tokens)):
            depth += (self.tokens[j] in "([{") - (self.tokens[j] in ")]}")
            if depth == 0:
                return j
        return None

    def spaced(self, i):
        """Whether token i stands between spaces, as only a binary operator does."""
        return 0 < self.at[i] and self.end[i] < len(self.raw) and self.raw[self.at[i] - 1] == self.raw[self.end[i]] == " "


def tables(line, i, token):
    """Operators that are a table from token to token."""
    if token in COMPARE and line.spaced(i):
        yield "compare", i, i, COMPARE[token]
    elif token in ("&&", "||"):
        yield "logic", i, i, "||" if token == "&&" else "&&"
    elif token in ARITHMETIC and line.spaced(i):
        yield "arithmetic", i, i, ARITHMETIC[token]
    elif token in ASSIGN:
        yield "assign", i, i, ASSIGN[token]
    elif token in WORD and (token in ("true", "false", "break", "continue") or line.tokens[i + 1:i + 2] == ["("]):
        yield "word", i, i, WORD[token]
    elif token == "!" and i + 1 < len(line.tokens):
        yield "not", i, i, ""


def constant(line, i, token):
    """Another constant: one more, one less, twice as much."""
    match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|0|[1-9]\d*)([uUlL]*)", token)
    if match:
        value, size = int(match.group(1), 0), match.group(2)
        yield "constant", i, i, str(value + 1) + size
        if value > 0:
            yield "constant", i, i, str(value - 1) + size
    elif re.match(r"\d+[.e]", token):
        yield "constant", i, i, "(2 * " + token + ")" if float(token.rstrip("fFlL")) else "1.0"


def conditions(line, i, token):
    """A negated condition, and a branch that is never taken."""
    if token in ("if", "while") and line.tokens[i + 1:i + 2] == ["("]:
        end = line.closing(i + 1)
        if end is None:
            return
        inner = line.raw[line.end[i + 1]:line.at[end]]
        if token == "if":
            yield "never", i + 1, end, "(0 && (" + inner + "))"
            yield "negate", i + 1, end, "(!(" + inner + "))"


def terms(line, i, token):
    """One side of && or || is gone, where the whole of it is on this line."""
    if token not in ("&&", "||"):
        return
    stop = {"?", ":", ",", ";", "=", "return", "||"} | ({"&&"} if token == "&&" else set())
    for step, openers, closers in ((-1, ")]", "(["), (1, "([", ")]")):
        depth, j = 0, i + step
        while 0 <= j < len(line.tokens):
            here = line.tokens[j]
            if depth == 0 and (here in closers or here in stop):
                break
            depth += (here in openers) - (here in closers)
            j += step
        if 0 <= j < len(line.tokens) and j != i + step:
            yield ("term", j + 1, i, "") if step < 0 else ("term", i, j - 1, "")


def arguments(line, i, token):
    """Neighbouring arguments of a call change places, but for the first two of a comparison that only asks for equality."""
    if not re.match(r"[A-Za-z_]", token) or token in KEYWORDS or line.tokens[i + 1:i + 2] != ["("]:
        return
    end, depth, cuts = line.closing(i + 1), 0, [i + 1]
    for j in range(i + 2, end or 0):
        depth += (line.tokens[j] in "([{") - (line.tokens[j] in ")]}")
        if depth == 0 and line.tokens[j] == ",":
            cuts.append(j)
    cuts.append(end)
    if token in SYMMETRIC or (token in COMPARISONS and end and line.tokens[end + 1:end + 2] in (["=="], ["!="])):
        cuts = cuts[1:]
    for a, b, c in zip(cuts, cuts[1:], cuts[2:]):
        left, right = line.raw[line.end[a]:line.at[b]].strip(), line.raw[line.end[b]:line.at[c]].strip()
        if left and right and left != right:
            yield "arguments", a + 1, c - 1, right + ", " + left


def statements(line):
    """A whole statement is gone; a function returns 0 in place of what it found."""
    first, last = line.tokens[0], len(line.tokens) - 1
    if line.tokens[last] != ";" or line.tokens.count(";") != 1 or line.before not in ";{})e:":
        return # `e` ends an `else`
    if first == "return" and last > 1 and line.tokens[1:last] not in (["0"], ["false"], ["NULL"]):
        yield "return", 1, last - 1, "0"
    declares = re.match(r"(struct|const|static|enum|union|unsigned)\b|\w+ \*?\w+( =|;|\[|,)", line.code.strip())
    if first in ("break", "continue", "goto") or line.tokens[:2] == ["return", ";"]:
        yield "drop", 0, last, ";"
    elif first not in KEYWORDS and not declares and re.match(r"[\w*(+-]", first):
        yield "drop", 0, last, ";"


def counters(line, siblings):
    """A counter of the same file in place of another; a code of an error in place of another."""
    for i, token in enumerate(line.tokens):
        if i > 0 and line.tokens[i - 1] in ("->", ".") and line.tokens[i + 1:i + 2] and line.tokens[i + 1] in ASSIGN:
            others = siblings["counter"]
        elif token.startswith("BEZEL_E") and token in siblings["code"]:
            others = siblings["code"]
        else:
            continue
        if token in others and len(others) > 1:
            yield "other", i, i, others[(others.index(token) + 1) % len(others)]


def is_of_descriptor_0(line, i):
    """Whether the proposal at token i tells descriptor 0 from the others: `fd >= 0`, `fd < 0`. The programs hold 0 to 2 from
    their start (base/file.h), so no other file has it. In libbezel one may: its host closes what it likes."""
    at = i - 1 if line.tokens[i] == "0" else i
    return (0 < at < len(line.tokens) - 1 and line.tokens[at] in ("<", ">=") and line.tokens[at + 1] == "0"
            and re.fullmatch(r"(\w+_)?fd|signals", line.tokens[at - 1]) is not None)


def is_of_equals(line, i):
    """Whether the comparison at token i only says which of two equal values is taken: `a < b ? a : b`."""
    t = line.tokens
    return (i >= 1 and i + 5 < len(t) and t[i] in ("<", "<=", ">", ">=") and t[i + 2] == "?" and t[i + 4] == ":"
            and {t[i - 1], t[i + 1]} == {t[i + 3], t[i + 5]} and t[i + 6:i + 7] in ([";"], [")"], [","])
            and (i == 1 or t[i - 2] in ("return", "=", "(", ",")))


def proposals(line, siblings, in_program):
    """All (operator, first token, last token, replacement) of a line."""
    # a buffer that is larger by one is no fault
    array = re.match(r"\s*[\w ]+\*?\w+(\[\w+\])?(, \*?\w+(\[\w+\])?)*;", line.code) and "[" in line.code
    for i, token in enumerate(line.tokens):
        held = in_program and is_of_descriptor_0(line, i)
        if not held and not is_of_equals(line, i):
            yield from tables(line, i, token)
        yield from conditions(line, i, token)
        yield from terms(line, i, token)
        yield from arguments(line, i, token)
        if not array and not held:
            yield from constant(line, i, token)
    yield from statements(line)
    yield from counters(line, siblings)


def fingerprint(*parts):
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:10]


def mutants_of(file, source):
    """The mutants of a file, in the order of its lines."""
    code = blank(source)
    lines, raws, where = code.split("\n"), source.split("\n"), functions(code)
    siblings = {"counter": sorted(set(re.findall(r"(?:->|\.)(\w+) ?(?:\+\+|--|[-+]=)", code))),
                "code": sorted(set(re.findall(r"\bBEZEL_E[A-Z]+\b", code)))}
    seen, result, before = collections.Counter(), [], ";"
    for n, name in sorted(where.items()):
        text = raws[n].strip()
        if not lines[n].strip():
            continue
        line = Line(raws[n], lines[n], before)
        before = lines[n].rstrip()[-1]
        if EXEMPT.match(text):
            continue
        for operator, first, last, new in proposals(line, siblings, not file.startswith("sensor/")):
            mutated = line.replace(first, last, new).strip()
            key = (file, name, text, operator, mutated)
            seen[key] += 1
            result.append(Mutant(fingerprint(*key, seen[key]), file, n + 1, name, operator, text, mutated))
    return result


def line_keys(file, source):
    """Names that lines of code keep where their numbers change: {line: (name of the line, name of its function)}."""
    texts, seen, keys = source.split("\n"), collections.Counter(), {}
    for n, function in sorted(functions(blank(source)).items()):
        line = (file, function, texts[n].strip())
        seen[line] += 1
        keys[n + 1] = fingerprint(*line, seen[line]), fingerprint(file, function)
    return keys
