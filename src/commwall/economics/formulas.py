"""The sums of a buyer, each for numbers or for arrays of draws.

Layer: economics. Reads and writes no file. Money is in one currency, whichever it is.
"""

from typing import TypeAlias

import numpy as np

from commwall.economics.uncertain import Draws

Value: TypeAlias = float | Draws
"""One number, or one of each draw, shape (count,)."""
MONTHS_PER_YEAR = 12
HOURS_PER_MONTH = 365.25 * 24 / MONTHS_PER_YEAR
"""Chosen: a twelfth of a year with its share of leap days."""
SECONDS_PER_HOUR = 3600


def months_worth(years: Value, discount_rate: Value) -> Value:
    """What one a month, paid at each month's end for so long, is worth today [month].

    Args:
        years: how long it is paid [year].
        discount_rate: of a year [1]; 0 makes it the number of months.

    Source: the present value of an annuity, Brealey, Myers and Allen, Principles of Corporate
        Finance, chapter 2; the month's rate is the twelfth root of the year's.
    """
    months = np.asarray(years, dtype=float) * MONTHS_PER_YEAR
    rate = np.asarray((1 + discount_rate) ** (1 / MONTHS_PER_YEAR) - 1, dtype=float)
    safe = np.where(rate > 0, rate, 1.0)
    return _plain(np.where(rate > 0, (1 - (1 + safe) ** -months) / safe, months))


def net_present_value(extra_price: Value, saved_per_month: Value, worth_months: Value) -> Value:
    """What is left of the savings, as of today, after the extra price [money]."""
    return saved_per_month * worth_months - extra_price


def payback_months(extra_price: Value, saved_per_month: Value) -> Value:
    """After how many months savings make up for the extra price, without interest [month].

    Returns:
        Infinity where nothing is saved, 0 where nothing more is paid.
    """
    extra, saved = np.asarray(extra_price, dtype=float), np.asarray(saved_per_month, dtype=float)
    safe = np.where(saved > 0, saved, 1.0)
    return _plain(np.where(extra <= 0, 0.0, np.where(saved > 0, extra / safe, np.inf)))


def capital_per_hour(price: Value, worth_months: Value, utilisation: Value) -> Value:
    """What an hour of work of a bought machine bears of its price and the interest [money/h].

    Args:
        price: of the machine [money].
        worth_months: of `months_worth` over its time of use [month].
        utilisation: share of all hours in which it works [1].
    """
    return price / worth_months / (HOURS_PER_MONTH * utilisation)


def energy_kwh(power_w: Value, hours: Value, pue: Value) -> Value:
    """Energy at the meter of the data centre [kWh].

    Args:
        power_w: of what was measured [W].
        hours: how long [h].
        pue: all power of the centre relative to that of its computers [1].
    """
    return power_w * hours * pue / 1000


def rent_break_even(speedup: Value, waiting_per_h: Value, rent_per_h: Value) -> Value:
    """Rent of the faster side relative to the other's at which a training costs the same [1].

    Without anybody who waits it is the speed-up itself; who waits is worth more rent:
    speedup x (rent + waiting) = ratio x rent + waiting, per hour of the faster side.

    Args:
        speedup: throughput relative to the slower side's [1].
        waiting_per_h: cost of those who wait [money/h].
        rent_per_h: of all GPUs of the slower side [money/h].
    """
    return speedup + (speedup - 1) * waiting_per_h / rent_per_h


def _plain(value: Draws) -> Value:
    """A number where there is one only."""
    return float(value) if value.ndim == 0 else value
