"""The codes of all rules, without their modules: what reading a configuration needs to know. A test compares the registry."""

from __future__ import annotations

CODES = tuple(
    (
        "TDV001 TDV002 TDV003 TDV004 TDV005 TDV006 TDV007 TDV008 TDV009 TDV010 TDV011 TDV012 TDV013 TDV014 TDV015 TDV016 TDV017 "
        "TDV018 TDV019 TDV020 TDV021 TDV101 TDV102 TDV103 TDV104 TDV105 TDV106 TDV107 TDV108 TDV109 TDV110"
    ).split()
)
OFF_BY_DEFAULT = frozenset(
    {
        "TDV101",
        "TDV102",
        "TDV103",
        "TDV104",
        "TDV105",
        "TDV106",
        "TDV107",
        "TDV108",
        "TDV109",
        "TDV110",
    }
)
