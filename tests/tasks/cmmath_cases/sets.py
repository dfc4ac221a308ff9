"""Sets: in any order, missing and extra members, the empty set."""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, NO_OR_OPEN, YES, YES_OR_OPEN, Case, asked

CASES: list[Case] = [
    *asked(
        "finite",
        r"已知集合$$A=\left\{ 0,1,4,6 \right\}$$，$$B=\left\{ "
        r"1,3,4,6 \right\}$$，则$$A\cap B=$$ $$\underline{}$$ ．",
        r"$$\left\{ 1,4,6 \right\}$$",
        ("same", YES, r"$A\cap B=\{1,4,6\}$"),
        ("order", YES, r"$\left\{6,1,4\right\}$"),
        ("plain", YES, "A∩B={1, 4, 6}"),
        ("full-width", YES, "｛1，4，6｝"),
        ("boxed", YES, r"$$\boxed{\{1,4,6\}}$$"),
        ("no-braces", YES_OR_OPEN, "公共元素为1，4，6。"),
        ("missing", NO, r"$\{1,4\}$"),
        ("union", NO, r"$A\cup B=\{0,1,3,4,6\}$"),
        ("extra", NO, r"$\{0,1,4,6\}$"),
        ("one-other", NO, r"$\{1,3,6\}$"),
        ("right-on-the-way", NO, r"$A\cap B$ 的元素有 3 个，所以答案是 $\{3\}$。"),
        ("empty", NO, r"$\varnothing$"),
    ),
    *asked(
        "builder",
        r"已知$$M=\left\{ x|x>1 \right\}$$，$$N=\left\{ x|x\le "
        r"3 \right\}$$，则$$M\cap N=$$ $$\underline{}$$ ．",
        r"$$\left\{ x|1<x\le 3 \right\}$$",
        ("same", YES, r"$\{x\mid 1<x\leqslant 3\}$"),
        ("interval", YES, r"$(1,3]$"),
        ("real", YES_OR_OPEN, r"$\{x\in\mathbf{R}\mid 1<x\le3\}$"),
        ("inequality", YES_OR_OPEN, "1<x≤3"),
        ("dummy-letter", YES_OR_OPEN, r"$\{t\mid 1<t\le3\}$"),
        ("integers", NO, r"$\{2,3\}$"),
        ("closed", NO, r"$[1,3]$"),
        ("union", NO, r"$\mathbb{R}$"),
        ("open", NO, r"$(1,3)$"),
    ),
    *asked(
        "disjoint",
        r"设$$P$$为正整数集，$$Q=\left\{ -3,-1 \right\}$$，则$$P\cap Q=$$ $$\underline{}$$ ．",
        r"$$\varnothing $$",
        ("sign", YES, "P∩Q=∅"),
        ("words", YES, "P与Q没有公共元素，交集为空集。"),
        ("emptyset", YES, r"$P\cap Q=\emptyset$"),
        ("braces", YES, r"$\{\}$"),
        ("zero", NO, "0"),
        ("set-of-zero", NO, r"$\{0\}$"),
        ("other", NO, r"$\{-3,-1\}$"),
        ("set-of-empty", NO_OR_OPEN, r"$\{\varnothing\}$"),
    ),
    *asked(
        "point-set",
        r"集合$$\left\{ (x,y)|x+y=3,x-y=-1 \right\}$$用列举法表示为 $$\underline{}$$ ．",
        r"$$\left\{ (1,2) \right\}$$",
        ("same", YES, r"解得 $x=1$，$y=2$，所以集合为 $\{(1,2)\}$。"),
        ("numbers", NO, r"$\{1,2\}$"),
        ("swapped", NO, r"$\{(2,1)\}$"),
        ("no-braces", NO_OR_OPEN, "(1,2)"),
    ),
    *asked(
        "complement",
        r"全集$$U=\left\{ 1,2,3,4,5 \right\}$$，$$A=\left\{ 1,3,5 "
        r"\right\}$$，则$${{\complement }_{U}}A=$$ $$\underline{}$$ ．",
        r"$$\left\{ 2,4 \right\}$$",
        ("same", YES, "∁UA={2,4}"),
        ("order", YES, r"$\complement_U A=\{4,2\}$"),
        ("itself", NO, r"$\{1,3,5\}$"),
        ("open-interval", NO_OR_OPEN, "(2,4)"),
    ),
]
