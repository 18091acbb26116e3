"""Training: objectives, optimizers, schedules, the loop, checkpoints and the run folder.

Nothing is imported before it is used: `import cutaway.training` does not import torch.
"""

from cutaway.lazy import lazy

_NAMES = {
    "Averaging": "callbacks",
    "BatchSizes": "schedules",
    "Board": "boards",
    "Callback": "callbacks",
    "DivergenceError": "failures",
    "EarlyStopping": "callbacks",
    "FlowCallback": "flow_callback",
    "FolderError": "checkpoints",
    "Job": "jobs",
    "Loop": "loop",
    "Muon": "muon",
    "Plan": "plans",
    "RULES": "equations",
    "RandomStream": "streams",
    "RunFolder": "folders",
    "SURFACES": "surfaces",
    "Schedule": "schedules",
    "Stopped": "interrupts",
    "Surface": "surfaces",
    "adadelta_step": "equations",
    "adagrad_step": "equations",
    "adam_step": "equations",
    "adamw_step": "equations",
    "amsgrad_step": "equations",
    "beale": "surfaces",
    "bowl": "surfaces",
    "build_optimizers": "optimizers",
    "descend": "equations",
    "gradient_step": "equations",
    "growing_batch": "schedules",
    "hidden_matrices": "optimizers",
    "himmelblau": "surfaces",
    "momentum_step": "equations",
    "muon_step": "equations",
    "nadam_step": "equations",
    "nesterov_step": "equations",
    "orthogonalise": "muon",
    "read_flow": "flow_callback",
    "rmsprop_step": "equations",
    "rosenbrock": "surfaces",
    "saddle": "surfaces",
    "set_rate": "optimizers",
}
__all__ = [*_NAMES]
__getattr__, __dir__ = lazy(__name__, _NAMES)
