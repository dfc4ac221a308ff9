"""Any generate_until task of lmms-eval, scored by RPTS under the name ``NAME_rpts``."""
