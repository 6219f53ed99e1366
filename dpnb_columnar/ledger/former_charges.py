"""Find releases that earlier programs charged too little for, and compute by their noise what they cost.

Until gradients of attribute weights were reckoned right (docs/privacy.md, Lemma 2.9), a concentrated release with
rounds of them, stated for replaced rows, cost more than the rho that its entry charges. No entry is ever changed, so
the chain of digests and the totals in it stay as they were recorded. What an account *has spent* is the recorded total
plus what these releases cost beyond their charge. It can be more than the limit: then the promise of the account was
broken when these models were released, nothing can mend it, and whatever is released next would only break it further.
So the account says so and admits nothing more. To count what was charged would keep a limit on paper that does not
hold for the persons in the data; to raise the limit would change what was promised to them.

A run that was charged and has released nothing needs no correction: the noise that it will draw is the right one.

Of a document the composition table is read alone: for each query what it costs and the noise that it is made with.
These are amounts, and how they add up is in ``budget``: what else a model is the ledger does not know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpnb_columnar.budget import Concentrated, PrivacyCost
from dpnb_columnar.budget.composition import recorded_effect
from dpnb_columnar.budget.costs import cost_by_noise, cost_of_numbers
from dpnb_columnar.domain.numbers import exact_number
from dpnb_columnar.ledger import records
from dpnb_columnar.ledger.records import Charge, Correction
from dpnb_columnar.ledger.storage import Entries


def corrections(entries: Entries, dataset: str) -> Iterator[Correction]:
    """Yield the releases of a data set that cost more than they were charged, in order.

    Raises:
        DataError: if a model that was charged so is missing, or states no guarantee.
    """
    for row in entries.rows("concentrated_spends", dataset=dataset):
        spend = entries.entry(row)
        charge = entries.decode(spend, records.charge_of)
        if "attribute_weights" not in charge.inputs:
            continue
        model = entries.select_one("model", run=charge.run)
        if model is None:
            continue
        try:
            true = true_cost(charge, entries.document(model))
        except (ValueError, RecursionError) as error:
            raise entries.malformed_error(model, f"its model states no guarantee that was charged: {error}") from None
        assert isinstance(charge.cost, Concentrated)
        if true.rho > charge.cost.rho:
            yield Correction(charge.run, charge.cost, true)


def true_cost(charge: Charge, document: str) -> Concentrated:
    """Return what a release cost, by the noise of the shares that its document names.

    Args:
        charge: Its concentrated charge.
        document: What it released. A release of weights alone, given a model, names the shares of that model as well.

    Raises:
        ValueError: if the document has no composition table, or its shares do not add up to the charge.
    """
    charged, true = Fraction(0), Fraction(0)
    try:
        shares = json.loads(document)["guarantee"]["composition"]
        for share in shares[-1:] if "given" in charge.inputs else shares:
            stated, effect = _cost(share, ""), recorded_effect(share["query"])
            spent = cost_by_noise(stated, _cost(share, "row_"), charge.neighbours.rows, effect)
            if not isinstance(stated, Concentrated) or not isinstance(spent, Concentrated):
                raise ValueError("one of its shares is not concentrated")
            charged, true = charged + stated.rho, true + spent.rho
    except (LookupError, TypeError, AttributeError):
        raise ValueError("it has no composition table") from None
    if Concentrated(charged) != charge.cost:
        raise ValueError("its shares do not add up to it")
    return Concentrated(true)


def _cost(share: Mapping[str, Any], prefix: str) -> PrivacyCost:
    """Read the cost whose parameters stand in a share under names with this prefix."""
    names = [name for name in ("epsilon", "delta", "rho") if prefix + name in share]
    return cost_of_numbers({name: exact_number(share[prefix + name]) for name in names})
