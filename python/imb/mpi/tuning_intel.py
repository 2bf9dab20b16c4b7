from imb.mpi.installations import Installation


class IntelTuner:
    def __init__(self, mpi: Installation, hosts: int = 1) -> None: ...
