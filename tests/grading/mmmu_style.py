"""Answers to questions with ten options, in the words that models use (as in MMMU-Pro)."""

from __future__ import annotations

import string
from collections.abc import Iterator

from tests.grading.corpus import Row

ENGLISH = (
    ("mitral valve", "aortic valve", "left atrium", "right atrium", "left ventricle", "septum",
     "right ventricle", "pulmonary artery", "vena cava", "aorta"),
    ("12.5 kPa", "18 kPa", "25 kPa", "31.4 kPa", "50 kPa", "62.8 kPa", "75 kPa", "100 kPa",
     "125 kPa", "150 kPa"),
    ("$120,000", "$95,500", "$84,000", "$60,250", "$150,000", "$42,000", "$38,750", "$27,100",
     "$18,000", "$9,600"),
    ("$x^2+1$", "$x^2-1$", "$2x+1$", "$2x-1$", "$\\frac{1}{x}$", "$\\sqrt{x}$", "$x^3$", "$-x$",
     "$e^x$", "$\\ln x$"),
    ("Demand falls and supply stays the same.", "Supply falls and demand stays the same.",
     "Both curves shift to the left.", "Both curves shift to the right.", "The price is fixed.",
     "The market clears at once.", "Taxes rise.", "Imports stop.", "Exports double.",
     "None of the above."),
    ("The Kiss", "Water Lilies", "Guernica", "The Night Watch", "Sunflowers", "The Scream",
     "American Gothic", "Nighthawks", "Olympia", "The Hay Wain"),
)  # fmt: skip
CHINESE = (
    ("左心房", "右心房", "左心室", "右心室", "主动脉", "肺动脉", "上腔静脉", "二尖瓣", "三尖瓣",
     "室间隔"),
    ("1.5 m/s", "2 m/s", "3 m/s", "4.5 m/s", "6 m/s", "7.5 m/s", "9 m/s", "10 m/s", "12 m/s",
     "15 m/s"),
    ("需求减少，供给不变", "供给减少，需求不变", "两条曲线都左移", "两条曲线都右移", "价格固定",
     "税收增加", "进口停止", "出口翻倍", "利率下降", "以上都不是"),
)  # fmt: skip
# «L» is the letter that is chosen, «T» its text; «X», «Y» and «Z» are other letters with the texts
# «x», «y» and «z».
IN_ENGLISH = (
    "«L»", "(«L»)", "«L».", "**«L»**", "**(«L»)**", "\\boxed{«L»}", "$\\boxed{«L»}$",
    "$$\\boxed{\\text{«L»}}$$", "The answer is («L»).", "The answer is «L».", "**Answer: «L»**",
    "Answer: «L»", "Answer: $«L»$", "Answer: $\\boxed{«L»}$", "Final answer: \\boxed{«L»}",
    "Final Answer: «L»", "**Final Answer:** «L»", "### Final Answer\n\n**«L»**", "«L». «T»",
    "(«L») «T»", "**«L». «T»**", "The correct answer is **«L». «T»**.", "Answer: «L») «T»",
    "The correct option is «L»: «T»", "<answer>«L»</answer>", "Option «L»",
    "The best answer is «L».", "Therefore, the correct choice is «L».",
    # an explanation before
    "Option «X» is wrong because «x» doesn't match the figure. «Y» and «Z» can be ruled out too. "
    "So the answer is «L».",
    "Let's look at the options.\n\n- «X». «x»: not consistent with the diagram.\n- «Y». «y»: too "
    "general.\n- «L». «T»: consistent with everything that is shown.\n\n**Answer: «L»**",
    "I compare the options with the image. «X» would need a different label, and «Y» isn't shown "
    "at all.\n\nThe answer is («L»).",
    "Step 1: Read the figure.\nStep 2: Eliminate «X», «Y» and «Z».\nStep 3: Only «L» remains.\n\n"
    "Final answer: \\boxed{«L»}",
    "«Y» and «Z» show other cases, so they don't apply. Hence, («L») is correct.",
    "At first sight «X» seems plausible, but the legend rules it out. The correct answer is «L».",
    "<think>Could it be «X»? No. «Y»? The legend says no. So «L».</think>\n\n«L»",
    "The part marked 1 in the figure corresponds to «T». Therefore, the answer is «L». «T»",
    "Let's think step by step. The caption rules out «X» («x»), and the scale rules out «Y» («y»)."
    "\n\nTherefore, the answer is **«L»**.",
    # an explanation after
    "«L»\n\nExplanation: «X» and «Y» are shown elsewhere in the figure.",
    "The answer is «L». Option «X» is wrong because it confuses cause and effect.",
    "**Answer: «L»**\n\nOption «X» is wrong because «x» appears only in the other panel. Options "
    "«Y» and «Z» aren't supported by the figure.",
    "(«L») «T»\n\n«X» and «Y» show different structures.",
    "Answer: «L»\n\nReasoning: The arrow points to it. The other options («X», «Y», «Z») describe "
    "other parts.",
    "The correct answer is («L»). «X» is incorrect since the values don't add up, and «Y» is "
    "incorrect since the sign is wrong.",
    "\\boxed{«L»}\n\nThis is because the curve rises; «X» would require it to fall.",
    "«L». «T»\n\nThis is the only option that matches the figure.",
    "**«L»**\n\nOption «X» can be excluded because of the colour, option «Y» because of the shape.",
    "The answer is («L») «T», because the image shows its typical features.",
)  # fmt: skip
IN_CHINESE = (
    "«L»", "（«L»）", "答案：«L»", "**答案：«L»**", "答案是«L»。", "正确答案是（«L»）。",
    "故选«L»。", "故选：«L»", "选«L»", "本题选«L»。", "正确选项为«L»。", "答案是 «L». «T»",
    "«L». «T»",
    "**«L»．«T»**", "最终答案：\\boxed{«L»}", "$\\boxed{«L»}$", "综上所述，正确答案是«L»。",
    "因此，答案为«L»：«T»。",
    "选项«X»错误，因为«x»与图不符；«Y»、«Z»也可以排除。因此答案是«L»。",
    "观察图片可知，图中所示为«T»，所以选«L»。", "«X»项和«Y»项在图中没有出现，故选«L»。",
    "逐项分析：\n«X». «x»：与图不符\n«Y». «y»：没有出现\n«L». «T»：与图一致\n\n答案：«L»",
    "答案：«L»\n\n解析：«X»项错误，因为«x»不符合题意；«Y»项也不符合图中的信息。",
    "选«L»。选项«X»说法不正确，选项«Y»与图不符。", "«L»\n\n解释：«X»和«Y»是图中的其他部分。",
)  # fmt: skip


def answers() -> Iterator[Row]:
    """Each form for each question of its language: once right, once wrong."""
    for questions, forms in ((ENGLISH, IN_ENGLISH), (CHINESE, IN_CHINESE)):
        for question, options in enumerate(questions):
            for number, form in enumerate(forms):
                chosen = (3 * number + 7 * question) % 10
                others = [(chosen + step) % 10 for step in (3, 5, 8)]
                texts = [option.rstrip(".") for option in options]
                response = form.replace("«L»", string.ascii_uppercase[chosen])
                response = response.replace("«T»", texts[chosen])
                for name, other in zip("XYZ", others, strict=True):
                    response = response.replace(f"«{name}»", string.ascii_uppercase[other])
                    response = response.replace(f"«{name.lower()}»", texts[other])
                row = {"kind": "choice", "options": list(options), "response": response}
                right, wrong = string.ascii_uppercase[chosen], string.ascii_uppercase[others[0]]
                yield {**row, "gold": right, "expected": ["correct"]}
                yield {**row, "gold": wrong, "expected": ["incorrect"]}
