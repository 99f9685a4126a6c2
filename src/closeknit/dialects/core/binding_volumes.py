"""Binding volumes to claims whose class waits for the first pod: which volume, or where one is to be made."""

from __future__ import annotations

from typing import TypeAlias

from closeknit.dialects.core.allocating import Reservation

Preparation: TypeAlias = Reservation
