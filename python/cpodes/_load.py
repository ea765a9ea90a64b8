"""Mechanisms from files: models from shared objects, and bodies from YAML, MJCF, URDF and SDF."""
from __future__ import annotations

import os
from typing import Any, Union

from ._bodies import FILES, Bodies
from ._mechanism import Model, text
from ._native import ffi, lib


def load(path: Any, **parameters: float) -> Union[Model, Bodies]:
    """The mechanism of a file: Bodies from YAML (.yaml, .yml), MJCF (.xml, .mjcf), URDF (.urdf), SDF (.sdf, .world), a model of OpenSim (.osim) or an
    assembly of FreeCAD (.asmt); otherwise the model of a
    shared object, as `cpodes new` makes it, with these values of its parameters. The code of the object runs in this
    process."""
    if os.path.splitext(os.fspath(path))[1] in FILES:
        if parameters:
            raise TypeError("parameters of bodies have names with a dot: set them by `values` of what load returns")
        return Bodies.read(path)
    import ctypes
    place = os.path.abspath(path)
    try:
        library = ctypes.CDLL(place)
        address = ctypes.addressof(ctypes.c_char.in_dll(library, "cpodes_plugin"))
    except OSError as error:
        raise ValueError(f"{place} cannot be loaded: {error}") from None
    except ValueError:
        raise ValueError(f"{place} has no symbol cpodes_plugin: CP_PLUGIN_MODULE makes a type the model of an object") from None
    message = ffi.new("char[400]")
    type_ = lib.glue_module(ffi.cast("void *", address), message, 400)
    if not type_ or lib.glue_check_type(type_, message, 400):
        raise ValueError(f"{place}: {text(message) or 'its cpodes_plugin names no model'}")
    return Model(type_, library, parameters)
