"""Privacy budgets, their division, and the table that proves the total."""

from dpnb_columnar.core.budget.amounts import Budget as Budget
from dpnb_columnar.core.budget.amounts import Division as Division
from dpnb_columnar.core.budget.amounts import Neighbours as Neighbours
from dpnb_columnar.core.budget.amounts import SharesRule as SharesRule
from dpnb_columnar.core.budget.amounts import is_rule as is_rule
from dpnb_columnar.core.budget.amounts import parse_delta as parse_delta
from dpnb_columnar.core.budget.amounts import parse_division as parse_division
from dpnb_columnar.core.budget.amounts import parse_epsilon as parse_epsilon
from dpnb_columnar.core.budget.amounts import parse_rows as parse_rows
from dpnb_columnar.core.budget.amounts import parse_shares as parse_shares
from dpnb_columnar.core.budget.composition import Parallel as Parallel
from dpnb_columnar.core.budget.composition import Request as Request
from dpnb_columnar.core.budget.composition import Share as Share
from dpnb_columnar.core.budget.composition import compose as compose
from dpnb_columnar.core.budget.composition import total as total
from dpnb_columnar.core.budget.costs import Approximate as Approximate
from dpnb_columnar.core.budget.costs import Concentrated as Concentrated
from dpnb_columnar.core.budget.costs import PrivacyCost as PrivacyCost
from dpnb_columnar.core.budget.costs import Pure as Pure
from dpnb_columnar.core.budget.costs import Remaining as Remaining
from dpnb_columnar.core.budget.costs import RowEffect as RowEffect
from dpnb_columnar.core.budget.costs import Spent as Spent
from dpnb_columnar.core.budget.costs import admits as admits
from dpnb_columnar.core.budget.costs import remaining as remaining
