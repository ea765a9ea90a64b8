"""Parameters and states as nested dicts, lists and tuples of arrays and numbers (pytrees), and as one flat array."""
from __future__ import annotations

from typing import Any, Tuple

import numpy as np


def flatten(tree: Any, name: str = "params") -> np.ndarray:
    """All numbers of the tree; dicts are in the order of their sorted keys, as in jax."""
    leaves: list = []

    def walk(node: Any, place: str) -> None:
        if isinstance(node, dict):
            for key in sorted(node):
                walk(node[key], f"{place}[{key!r}]")
        elif isinstance(node, (list, tuple)):
            for i, child in enumerate(node):
                walk(child, f"{place}[{i}]")
        elif node is not None:
            leaf = np.asarray(node)
            if leaf.dtype.kind not in "biuf":
                raise TypeError(f"{place} has to be a number or an array of real numbers, and is {type(node).__name__}")
            leaves.append(np.asarray(leaf, dtype=float).ravel())
    walk(tree, name)
    return np.concatenate(leaves) if leaves else np.zeros(0)


def unflatten(tree: Any, flat: np.ndarray) -> Any:
    """A tree of the same structure whose leaves are views of flat [n] or [n, k], with the dimension k after their own."""
    def walk(node: Any, at: int) -> Tuple[Any, int]:
        if isinstance(node, dict):
            made = {}
            for key in sorted(node):
                made[key], at = walk(node[key], at)
            return {key: made[key] for key in node}, at
        if isinstance(node, (list, tuple)):
            children = []
            for child in node:
                one, at = walk(child, at)
                children.append(one)
            if hasattr(node, "_fields"):
                return type(node)(*children), at
            return type(node)(children), at
        if node is None:
            return None, at
        shape = np.shape(node)
        size = int(np.prod(shape))
        return flat[at:at + size].reshape(shape + flat.shape[1:]), at + size
    return walk(tree, 0)[0]


def is_tree(value: Any) -> bool:
    """Is value a tree, and not a list of numbers? A tree is a dict, or a list or tuple that contains an array or a dict."""
    if isinstance(value, (list, tuple)):
        return any(isinstance(one, np.ndarray) and one.ndim > 0 or is_tree(one) for one in value)
    return isinstance(value, dict)


def flatten_like(tree: Any, value: Any, name: str) -> np.ndarray:
    """All numbers of value, which has to have the structure of tree; `name` names it in messages."""
    def compare(node: Any, other: Any, place: str) -> None:
        if isinstance(node, dict):
            if not isinstance(other, dict) or set(node) != set(other):
                raise ValueError(f"{place} has to be a dict with the keys {', '.join(map(repr, sorted(node)))}, and is {described(other)}")
            for key in node:
                compare(node[key], other[key], f"{place}[{key!r}]")
        elif isinstance(node, (list, tuple)) and (is_tree(node) or not isinstance(other, np.ndarray)):
            if not isinstance(other, (list, tuple)) or len(node) != len(other):
                raise ValueError(f"{place} has to be a {type(node).__name__} of {len(node)}, and is {described(other)}")
            for i, (one, its) in enumerate(zip(node, other)):
                compare(one, its, f"{place}[{i}]")
        elif (node is None) != (other is None) or (node is not None and np.shape(node) != np.shape(other)):
            raise ValueError(f"{place} has to have the shape {np.shape(node)}, and is {described(other)}")

    def described(other: Any) -> str:
        if isinstance(other, dict):
            return f"a dict with {', '.join(map(repr, sorted(other)))}"
        if isinstance(other, (list, tuple)):
            return f"a {type(other).__name__} of {len(other)}"
        return "None" if other is None else f"of shape {np.shape(other)}"
    compare(tree, value, name)
    return flatten(value, name)
