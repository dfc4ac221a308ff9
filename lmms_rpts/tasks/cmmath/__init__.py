"""CMMaTH: Chinese K12 maths with pictures, graded by rules that abstain rather than guess."""
