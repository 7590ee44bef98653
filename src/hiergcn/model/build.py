"""From settings to a method: inputs, scaling and ensembles wrap the method itself."""

from dataclasses import replace
from typing import Any

from hiergcn.model.inputs import INPUTS, WithInputs, inputs_of
from hiergcn.model.method import Method
from hiergcn.settings.registry import method_class


def build_method(name: str, config: Any) -> Method:
    """Make the method; `networks` above 1 and the settings of `InputConfig` wrap it, as does `scaling="standard"`."""
    if getattr(config, "networks", 1) > 1:
        from hiergcn.model.ensemble import EnsembleMethod

        return EnsembleMethod(build_method(name, replace(config, networks=1)), config.networks)
    for kind in INPUTS:
        kind.check(config)
    inputs = inputs_of(config)
    for kind in inputs:
        if kind.beside_network:
            return kind.wrap(build_method(name, kind.without(config)), config)
    standardised = getattr(config, "scaling", "none") == "standard" or any(kind.replaces_features for kind in inputs)
    if inputs:
        inner = replace(config, scaling="standard" if standardised else "none")  # after the columns joined
        for kind in inputs:
            inner = kind.without(inner)
        rows = replace(config, scaling="none") if standardised else config
        return WithInputs(build_method(name, inner), inputs, rows)
    if standardised:
        from hiergcn.model.features import Standardised

        return Standardised(method_class(name)(replace(config, scaling="none")))
    method: Method = method_class(name)(config)
    return method
