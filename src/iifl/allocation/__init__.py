"""The allocation policy ω of Eq. (2): priority (who needs help), threshold (how unsure is too unsure), assign.

A new order of priority is one frozen dataclass (see `priority.Order`) and one line here.
"""

from iifl.registry import Registry

ORDERS = Registry(
    "priority order",
    {
        "constraint": "iifl.allocation.priority:Constraint",
        "uncertainty_constraint": "iifl.allocation.priority:UncertaintyConstraint",
        "constraint_uncertainty_risk": "iifl.allocation.priority:ConstraintUncertaintyRisk",
        "thrifty": "iifl.allocation.priority:Thrifty",
        "random_budget": "iifl.allocation.priority:RandomBudget",
    },
)
