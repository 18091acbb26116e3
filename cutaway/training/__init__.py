"""Training: objectives, optimizers, schedules, the loop, checkpoints and the run folder.

Nothing is imported before it is used: `import cutaway.training` does not import torch.
"""

from cutaway.lazy import lazy

_NAMES = {
    "Averaging": "callbacks",
    "BatchSizes": "optimizers.schedules",
    "Board": "tensorboard",
    "Callback": "callbacks",
    "DivergenceError": "failures",
    "EarlyStopping": "callbacks",
    "FlowCallback": "flow_log",
    "FolderError": "run_folder.checkpoints",
    "Job": "jobs",
    "Loop": "loop",
    "Muon": "optimizers.muon",
    "Plan": "plans",
    "RULES": "optimizers.equations",
    "RandomStream": "random_stream",
    "RunFolder": "run_folder.folder",
    "SURFACES": "optimizers.surfaces",
    "Schedule": "optimizers.schedules",
    "Stopped": "run_folder.interrupts",
    "Surface": "optimizers.surfaces",
    "adadelta_step": "optimizers.equations",
    "adagrad_step": "optimizers.equations",
    "adam_step": "optimizers.equations",
    "adamw_step": "optimizers.equations",
    "amsgrad_step": "optimizers.equations",
    "beale": "optimizers.surfaces",
    "bowl": "optimizers.surfaces",
    "build_optimizers": "optimizers.groups",
    "descend": "optimizers.equations",
    "gradient_step": "optimizers.equations",
    "growing_batch": "optimizers.schedules",
    "hidden_matrices": "optimizers.groups",
    "himmelblau": "optimizers.surfaces",
    "momentum_step": "optimizers.equations",
    "muon_step": "optimizers.equations",
    "nadam_step": "optimizers.equations",
    "nesterov_step": "optimizers.equations",
    "orthogonalise": "optimizers.muon",
    "read_flow": "flow_log",
    "rmsprop_step": "optimizers.equations",
    "rosenbrock": "optimizers.surfaces",
    "saddle": "optimizers.surfaces",
    "set_rate": "optimizers.groups",
}
__all__ = [*_NAMES]
__getattr__, __dir__ = lazy(__name__, _NAMES)
