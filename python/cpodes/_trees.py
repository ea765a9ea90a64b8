"""Parameters and states as nested dicts, lists and tuples of arrays and numbers (pytrees), and as one flat array."""
from __future__ import annotations

from typing import Any, Tuple

import numpy as np


def flatten(tree: Any, name: str = "params") -> np.ndarray:
    """All numbers of the tree, dicts in the order of their sorted keys, as jax has it."""
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
    """A tree of the same structure whose leaves are views of flat."""
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
        return flat[at:at + size].reshape(shape), at + size
    return walk(tree, 0)[0]
