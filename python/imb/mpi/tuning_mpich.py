from imb.mpi.installations import Installation


class MpichTuner:
    def __init__(self, mpi: Installation, hosts: int = 1) -> None: ...
