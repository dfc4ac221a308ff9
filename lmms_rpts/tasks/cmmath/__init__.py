"""CMMaTH: Chinese K12 mathematics with images, graded by rules that abstain or by a judge."""
