"""Find code that decides by a message: by its code, its facts or its rendered text.

``violations`` is a function of the source text of one module. It knows message codes by their import from
``closeknit.hub.sentences``, and problems by the names of variables, since it has no types: a value whose
name contains ``problem``, or a loop variable over such values. Choosing the code of a new problem is allowed,
and so is anything that only passes a text on or lays it out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum

from closeknit.hub.copying import replace

_CATALOGUE = "closeknit.hub.sentences"
_LOOKUPS = frozenset({"get", "pop", "setdefault", "index", "count", "add", "discard", "__contains__"})
_SEARCHES = frozenset(
    {"startswith", "endswith", "find", "rfind", "index", "rindex", "count", "partition", "rpartition"}
)
_SPLITS = frozenset({"split", "rsplit"})
"""Without a separator these only lay a text out anew."""
_PATTERNS = frozenset({"search", "match", "fullmatch", "findall", "finditer", "split", "sub"})
_COLLECTIONS = frozenset({"set", "frozenset", "tuple", "list"})
_TEXTS = frozenset({"message", "brief", "sentence"})
_API_ERRORS = frozenset({"error", "status"})
"""Names of API errors and of their status, the code of which is a number of HTTP."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Rule(Enum):
    """What must not be done with a message."""

    CODE_COMPARED = "a message code is compared"
    CODE_LOOKED_UP = "a message code is a key or an element of a collection"
    PROBLEM_READ = "the code, the facts or the message of a problem is read"
    TEXT_SEARCHED = "a rendered text is compared or searched"


@dataclass(frozen=True)
class Violation:
    """A place that decides by a message."""

    line: int
    source: str
    rule: Rule

    def __str__(self) -> str:
        return f"{self.line}: {self.rule.value}: {self.source}"


def violations(source: str) -> list[Violation]:
    """Every place of a module that decides by a message, in order."""
    checker = _Checker(ast.parse(source))
    checker.check()
    return sorted(
        checker.violations, key=lambda violation: (violation.line, violation.rule.value, violation.source)
    )


@dataclass(frozen=True)
class _Scope:
    """The names of variables that hold something of interest."""

    codes: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    """Collections of codes."""
    problems: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()


class _Checker:
    def __init__(self, tree: ast.Module) -> None:
        self.violations: set[Violation] = set()
        self._tree = tree
        self._modules: set[str] = set()
        """Names of imported catalogues."""
        self._scope = _Scope()

    def check(self) -> None:
        self._read_imports()
        self._scope = self._with_assignments(self._tree.body)
        self._visit(self._tree)

    def _read_imports(self) -> None:
        codes: set[str] = set()
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ImportFrom) and node.module == _CATALOGUE:
                self._modules.update(alias.asname or alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{_CATALOGUE}."):
                codes.update(alias.asname or alias.name for alias in node.names)
            elif isinstance(node, ast.Import):
                matching = (alias for alias in node.names if alias.name.startswith(f"{_CATALOGUE}."))
                self._modules.update(alias.asname or alias.name for alias in matching)
        self._scope = replace(self._scope, codes=frozenset(codes))

    def _with_assignments(self, nodes: Iterable[ast.AST]) -> _Scope:
        """The scope with the names to which these statements assign codes, collections of them or texts."""
        codes, groups, texts = set(self._scope.codes), set(self._scope.groups), set(self._scope.texts)
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    pass
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    pass
                case ast.NamedExpr(target=ast.Name(id=name), value=value):
                    pass
                case _:
                    continue
            if self._is_code(value):
                codes.add(name)
            elif self._is_group(value):
                groups.add(name)
            elif self._is_text(value) and not isinstance(value, ast.Tuple):
                texts.add(name)
        return replace(self._scope, codes=frozenset(codes), groups=frozenset(groups), texts=frozenset(texts))

    # ------------------------------------------------------------------------------ kinds of expressions

    def _is_code(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self._scope.codes
            case ast.Attribute(value=value, attr=attr):
                return attr.isupper() and ast.unparse(value) in self._modules
            case ast.IfExp(body=body, orelse=orelse):
                return self._is_code(body) and self._is_code(orelse)
            case _:
                return False

    def _is_group(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self._scope.groups
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                return bool(elements) and all(map(self._is_code, elements))
            case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _COLLECTIONS:
                return self._is_group(inner)
            case _:
                return False

    def _is_text(self, node: ast.expr) -> bool:
        """Whether an expression is a text that was rendered for people."""
        match node:
            case ast.Name(id=name):
                return name in self._scope.texts
            case ast.Attribute(attr=attr):
                return attr in _TEXTS
            case ast.Subscript(slice=ast.Constant(value="message")):
                return True
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value="message"), *_]):
                return True
            case ast.Call(func=ast.Name(id="str"), args=[inner]):
                return _last_word(inner) in _API_ERRORS or _is_problem(inner, self._scope.problems)
            case ast.Tuple(elts=elements):
                return any(self._is_text(element) for element in elements)
            case _:
                return False

    # --------------------------------------------------------------------------------------------- visit

    def _visit(self, node: ast.AST) -> None:
        """Check a node and all below it, with the names of its scope."""
        outer = self._scope
        if isinstance(node, ast.For | ast.AsyncFor):
            self._scope = _with_loops(outer, [(node.target, node.iter)])
        elif isinstance(node, _COMPREHENSIONS):
            self._scope = _with_loops(outer, [(inner.target, inner.iter) for inner in node.generators])
        elif isinstance(node, _FUNCTIONS):
            parameters = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
            self._scope = replace(outer, texts=outer.texts | (parameters & _TEXTS))
            self._scope = self._with_assignments(ast.walk(node))
        self._check(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(node, ast.Call) and child is node.func and isinstance(child, ast.Attribute):
                # A method is no attribute of a problem, but what it is called on may be one.
                self._visit(child.value)
            else:
                self._visit(child)
        self._scope = outer

    def _check(self, node: ast.AST) -> None:
        match node:
            case ast.Compare():
                self._check_comparison(node)
            case ast.Match():
                self._check_match(node)
            case ast.Dict(keys=keys):
                self._check_keys(node, [key for key in keys if key is not None])
            case ast.Set(elts=elements):
                self._check_keys(node, elements)
            case ast.Subscript(slice=key):
                self._check_keys(node, [key])
            case ast.Call():
                self._check_call(node)
            case ast.Attribute(ctx=ast.Load()):
                if self._reads_problem(node):
                    self._report(node, Rule.PROBLEM_READ)
            case _:
                pass

    def _report(self, node: ast.AST, rule: Rule) -> None:
        self.violations.add(Violation(getattr(node, "lineno", 0), ast.unparse(node).partition("\n")[0], rule))

    def _check_comparison(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        if any(self._is_code(operand) or self._is_group(operand) for operand in operands):
            self._report(node, Rule.CODE_COMPARED)
        against_none = any(
            isinstance(operand, ast.Constant) and operand.value is None for operand in operands
        )
        if not against_none and any(self._is_text(operand) for operand in operands):
            self._report(node, Rule.TEXT_SEARCHED)

    def _check_match(self, node: ast.Match) -> None:
        if self._is_text(node.subject):
            self._report(node.subject, Rule.TEXT_SEARCHED)
        for case in node.cases:
            for pattern in ast.walk(case.pattern):
                if isinstance(pattern, ast.MatchValue) and self._is_code(pattern.value):
                    self._report(pattern.value, Rule.CODE_COMPARED)

    def _check_keys(self, node: ast.expr, keys: Sequence[ast.expr]) -> None:
        if any(map(self._is_code, keys)):
            self._report(node, Rule.CODE_LOOKED_UP)
        if any(self._is_text(key) for key in keys):
            self._report(node, Rule.TEXT_SEARCHED)

    def _check_call(self, node: ast.Call) -> None:
        match node:
            case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _COLLECTIONS:
                if self._is_group(inner):
                    self._report(node, Rule.CODE_LOOKED_UP)
            case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(attr)), *_]):
                if self._reads_problem(ast.Attribute(value, attr, ast.Load())):
                    self._report(node, Rule.PROBLEM_READ)
            case ast.Call(func=ast.Attribute(value=value, attr=attr), args=arguments):
                if attr in _LOOKUPS and any(map(self._is_code, arguments)):
                    self._report(node, Rule.CODE_LOOKED_UP)
                on_text = self._is_text(value)
                searched = on_text and (attr in _SEARCHES or (attr in _SPLITS and arguments))
                matched = attr in (_PATTERNS | _LOOKUPS) - {"add"} and any(
                    self._is_text(argument) for argument in arguments
                )
                if searched or matched:
                    self._report(node, Rule.TEXT_SEARCHED)
            case _:
                pass

    def _reads_problem(self, node: ast.Attribute) -> bool:
        match node.attr:
            case "facts" | "sentence":
                return True
            case "code":
                word = _last_word(node.value)
                # The code of an API error, or of a class of them, is a number of HTTP.
                return word not in _API_ERRORS and not word[:1].isupper()
            case "message":
                return _is_problem(node.value, self._scope.problems)
            case "fields" | "name" | "severity" | "category":
                return self._is_code(node.value)
            case _:
                return False


def _with_loops(scope: _Scope, loops: Iterable[tuple[ast.expr, ast.expr]]) -> _Scope:
    """The scope with the variables of loops over problems."""
    problems = set(scope.problems)
    for target, iterated in loops:
        if isinstance(target, ast.Name) and _is_problem(iterated, problems):
            problems.add(target.id)
    return replace(scope, problems=frozenset(problems))


def _is_problem(node: ast.expr, problems: AbstractSet[str]) -> bool:
    """Whether a value is a problem or several, by its name."""
    if isinstance(node, ast.Name) and node.id in problems:
        return True
    return any("problem" in word.lower() for word in _words(node))


def _words(node: ast.expr) -> Iterator[str]:
    """The last name of an expression; of a call that of the function, or of an argument passed through."""
    yield _last_word(node)
    if isinstance(node, ast.Call) and _last_word(node.func) in ("tuple", "list", "sorted", "reversed"):
        yield from (_last_word(argument) for argument in node.args)


def _last_word(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=attr):
            return attr
        case ast.Call(func=ast.Attribute(value=value, attr="at")):
            return "problem" if _last_word(value).isupper() else "at"
        case ast.Call(func=function):
            return _last_word(function)
        case ast.Subscript(value=value):
            return _last_word(value)
        case _:
            return ""
