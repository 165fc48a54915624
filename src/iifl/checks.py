"""What every configuration checks of itself."""


class ConfigError(ValueError):
    """A configuration that cannot be run; the message says which field, what it is, and what is allowed."""


def at_least(config: object, minimum: float, *names: str) -> None:
    """Refuse a configuration in which one of these fields is below the minimum, or no number."""
    for name in names:
        value = getattr(config, name)
        if not minimum <= value < float("inf"):
            raise ConfigError(f"{type(config).__name__}.{name} is {value}; it must be at least {minimum}, and finite")


def above(config: object, bound: float, *names: str) -> None:
    """Refuse a configuration in which one of these fields is not above the bound, or no number."""
    for name in names:
        value = getattr(config, name)
        if not bound < value < float("inf"):
            raise ConfigError(f"{type(config).__name__}.{name} is {value}; it must be above {bound}, and finite")
