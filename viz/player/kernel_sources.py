"""Which of our Triton kernels does what a walk does, and by which statements."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from viz.player.kernel_listing import KernelMark, KernelSource


def _marks(function: str, *marks: tuple[str, str, str]) -> tuple[KernelMark, ...]:
    """Each is steps, the call, and the names of the statement."""
    return tuple(
        KernelMark(tuple(steps.split()), function, call, tuple(names.split())) for steps, call, names in marks
    )


_SCORES = (  # a masked tile needs the mask as well
    ("scores.scores scores.scores.masked scores.scores.hidden", "dot", "scores q_tile k_tile"),
    ("scores.scores.masked scores.scores.hidden", "hide_unseen", "scores"),
)
_FLASH_V1 = (
    KernelSource(
        "kernels/flash_v1.py",
        ("launch_flash_v1", "flash_v1_kernel"),
        _marks(
            "launch_flash_v1",
            ("init.output store.output.start", "zeros", "held_out"),
            ("init.output store.statistics.start", "full_like", "running_max"),
            ("init.output store.statistics.start", "zeros_like", "running_sum"),
        )
        + _marks(
            "flash_v1_kernel",
            ("load.key", "load_tile", "k_tile k_ptr"),
            ("load.value", "load_tile", "v_tile v_ptr"),
            ("load.query", "load_tile", "q_tile q_ptr"),
            ("load.output", "load_tile", "out_tile held_out_ptr first_query"),
            ("load.statistics", "load", "running_max max_ptr"),
            ("load.statistics", "load", "running_sum sum_ptr"),
            *_SCORES,
            ("softmax.probabilities", "online_softmax_update", "scores"),
            ("values.output", "accumulate", "out_tile v_tile"),
            ("values.output", "where", "out_tile new_sum"),
            ("store.output", "store_tile", "held_out_ptr"),
            ("store.statistics", "store", "max_ptr new_max"),
            ("store.statistics", "store", "sum_ptr new_sum"),
        ),
    ),
)
_VISIT_KEY_TILES = _marks(
    "visit_key_tiles",
    ("load.key", "load_tile", "k_tile k_ptr"),
    ("load.value", "load_tile", "v_tile v_ptr"),
    *_SCORES,
    ("softmax.probabilities", "online_softmax_update", "scores"),
    ("values.output", "accumulate", "accumulator v_tile"),
)
_FLASH_V2 = (
    KernelSource(
        "kernels/flash_v2.py",
        ("visit_key_tiles", "flash_v2_kernel"),
        _VISIT_KEY_TILES
        + _marks(
            "flash_v2_kernel",
            ("load.query", "load_tile", "q_tile q_ptr"),
            ("init.output", "new_row_state", "row_state"),
            ("finish.output", "finish_softmax", "out_tile lse"),
            ("store.output", "store_tile", "out_ptr out_tile"),
            ("store.statistics", "store", "lse_ptrs lse"),
        ),
    ),
)
_STANDARD = (
    KernelSource(
        "kernels/standard.py",
        ("scores_kernel", "softmax_kernel", "values_kernel"),
        _marks(
            "scores_kernel",
            ("load.query", "load_tile", "q_tile q_ptr"),
            ("load.key", "load_tile", "k_tile k_ptr"),
            *_SCORES,
            ("store.scores", "store_tile", "scores_ptr scores"),
        )
        + _marks(
            "softmax_kernel",
            ("load.scores", "load", "scores row_ptrs"),
            ("softmax.probabilities", "online_softmax_update", "scores"),
            ("softmax.probabilities", "exp2", "weights scores"),
            ("store.probabilities", "store", "row_ptrs probabilities"),
        )
        + _marks(
            "values_kernel",
            ("init.output", "zeros", "accumulator"),
            ("load.probabilities", "load_tile", "p_tile p_ptr"),
            ("load.value", "load_tile", "v_tile v_ptr"),
            ("values.output", "add_product", "accumulator p_tile v_tile"),
            ("store.output", "store_tile", "out_ptr accumulator"),
        ),
    ),
)
_FLASH_DECODING = (
    KernelSource(
        "kernels/flash_decoding.py",
        ("split_kernel",),
        _marks(
            "split_kernel",
            ("load.query", "load", "q_tile q_ptrs"),
            ("init.output", "new_row_state", "row_state"),
            ("finish.partial_output", "finish_softmax", "out_tile lse"),
            ("store.partial_output", "store", "out_ptrs out_tile"),
            ("store.partial_statistics", "store", "lse_ptr lse"),
        ),
    ),
    KernelSource("kernels/flash_v2.py", ("visit_key_tiles",), _VISIT_KEY_TILES),
    KernelSource(
        "kernels/merge_splits.py",
        ("merge_kernel",),
        _marks(
            "merge_kernel",
            ("init.output.merge", "zeros", "accumulator"),
            ("init.output.merge", "full", "running_max"),
            ("init.output.merge", "zeros", "running_sum"),
            ("load.partial_statistics", "load", "split_lse partial_lse_ptr"),
            ("load.partial_output", "load", "partial partial_ptr"),
            ("merge.output", "online_softmax_update", "split_lse"),
            ("merge.output", "sum", "accumulator weights partial"),
            ("finish.output", "finish_softmax", "accumulator"),
            ("store.output", "store", "out_ptrs out"),
            ("store.statistics", "store", "lse_ptr lse"),
        ),
    ),
)
_FLASH_V2_BACKWARD = (
    KernelSource(
        "kernels/query_gradients.py",
        ("delta_kernel",),
        _marks(
            "delta_kernel",
            ("load.output", "load_tile", "out_tile out_ptr"),
            ("load.output_gradient.delta", "load_tile", "dout_tile dout_ptr"),
            ("delta.delta", "sum", "delta out_tile dout_tile"),
            ("store.delta", "store", "delta_ptr delta"),
            ("init.query_gradient_sum", "zeros", "zeros"),
            ("store.query_gradient_sum", "store_tile", "dq_sum_ptr zeros"),
        ),
        {"ATOMIC": True},
    ),
    KernelSource(
        "kernels/flash_v2_backward.py",
        ("_visit_query_tiles", "key_gradient_kernel"),
        _marks(
            "_visit_query_tiles",
            ("load.query", "load_tile", "q_tile q_ptr"),
            ("load.output_gradient", "load_tile", "dout_tile dout_ptr"),
            ("load.statistics load.delta", "query_statistics", "lse delta"),
            ("value_gradient.value_gradient", "add_product", "dv_tile weights dout_tile"),
            ("query_gradient.query_gradient_sum", "dot", "dscores k_tile"),
            ("add.query_gradient_sum", "atomic_add", "dq_ptrs dq_tile"),
            ("key_gradient.key_gradient", "add_product", "dk_tile dscores q_tile"),
        )
        + _marks(
            "key_gradient_kernel",
            ("load.key", "load_tile", "k_tile k_ptr"),
            ("load.value", "load_tile", "v_tile v_ptr"),
            ("init.key_gradient init.value_gradient", "zeros", "sums"),
            ("finish.key_gradient store.key_gradient", "store_tile", "dk_ptr sums"),
            ("store.value_gradient", "store_tile", "dv_ptr sums"),
        ),
        {"ATOMIC": True},
    ),
    KernelSource(
        "kernels/score_gradients.py",
        ("score_gradients",),
        _marks(
            "score_gradients",
            ("scores.scores", "dot", "scores q_tile k_tile"),
            ("probability_gradient.probability_gradient", "dot", "dweights dout_tile v_tile"),
            ("weights.probabilities", "exp2", "weights lse"),
            ("weights.probabilities", "where", "weights seen"),
            ("score_gradient.score_gradient", "expand_dims", "weights dweights delta"),
        ),
        {"KEYS_FIRST": True},
    ),
    KernelSource(
        "kernels/query_gradients.py",
        ("query_gradient_kernel",),
        _marks(
            "query_gradient_kernel",
            ("load.query_gradient_sum", "load_tile", "dq_tile dq_sum_ptr"),
            ("finish.query_gradient store.query_gradient", "store_tile", "dq_ptr dq_tile"),
        ),
        {"ATOMIC": True},
    ),
)
# In the order in which they run; of V1's backward we have no kernel.
KERNELS: Mapping[str, tuple[KernelSource, ...]] = MappingProxyType(
    {
        "standard": _STANDARD,
        "flash_v1": _FLASH_V1,
        "flash_v2": _FLASH_V2,
        "flash_decoding": _FLASH_DECODING,
        "flash_v1_backward": (),
        "flash_v2_backward": _FLASH_V2_BACKWARD,
    }
)
