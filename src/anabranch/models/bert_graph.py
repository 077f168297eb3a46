"""A BERT sentence encoder as ONNX, written out by hand from ONNX Runtime's fused operators.

Neither torch nor transformers is needed. In three passes:

1. a float32 encoder with mean pooling and L2 normalisation inside the graph (``build_encoder``);
2. dynamic quantisation of the matrix products to int8, one scale for each output channel;
3. the word embedding table as int8, one scale for each row (a single scale for the whole table
   lowers the cosine to the float32 model from 0.993 to 0.959).

The ``onnx`` package is only needed to make a model, never to run one.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# ONNX Runtime's own operator set; its fused operators are what makes the encoder fast.
FUSED = "com.microsoft"
# Opset 17 is the first with LayerNormalization; a later one gains nothing and runs in fewer places.
OPSET = 17
IR_VERSION = 8


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of an encoder that its graph depends on."""

    layers: int
    width: int
    heads: int
    epsilon: float


@dataclass(slots=True)
class GraphWriter:
    """Collects the nodes and constants of a graph in the order in which they are written.

    Tensor names and their order are those of the shipped file, abbreviations included: they are
    stored in it, so any other would make a model of equal vectors but another sha256.
    """

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def constant(self, name: str, values: Any) -> str:
        import numpy as np
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def integer(self, name: str, value: int) -> str:
        import numpy as np

        return self.constant(name, np.array([value], dtype=np.int64))

    def node(
        self, operator: str, inputs: list[str], output: str, *, domain: str = "", **attributes: Any
    ) -> str:
        from onnx import helper

        self.nodes.append(
            helper.make_node(
                operator, inputs, [output], name=f"{output}_{operator}", domain=domain, **attributes
            )
        )
        return output


def build_encoder(weights: dict[str, Any], shape: Shape) -> Any:
    """The float32 encoder: token ids and mask in, sentence and token embeddings out."""
    from onnx import TensorProto, helper

    graph = GraphWriter()
    hidden = write_embeddings(graph, weights, shape)
    for layer in range(shape.layers):
        is_last = layer == shape.layers - 1
        output = "token_embeddings" if is_last else f"x{layer}"
        hidden = write_layer(graph, weights, shape, layer=layer, hidden=hidden, output=output)
    write_pooling(graph, hidden)

    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [*axes, shape.width])
        for name, axes in (("sentence_embedding", ["b"]), ("token_embeddings", ["b", "s"]))
    ]
    return helper.make_model(
        helper.make_graph(graph.nodes, "bert", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)],
        ir_version=IR_VERSION,
    )


def write_embeddings(graph: GraphWriter, weights: dict[str, Any], shape: Shape) -> str:
    """Word plus position embeddings, normalised.

    The encoder knows one segment only, so the embedding of segment 0 is added to the positions
    once, here. Words are looked up by a plain Gather, not by the fused EmbedLayerNormalization:
    that one would need the table in float32.
    """
    from onnx import TensorProto

    table = "embeddings.{}.weight".format
    words = graph.constant("word_emb", weights[table("word_embeddings")])
    positions = weights[table("position_embeddings")] + weights[table("token_type_embeddings")][0]
    graph.constant("pos_emb", positions)
    for name, value in (("zero", 0), ("one", 1), ("ax0", 0), ("ax1", 1), ("ax2", 2)):
        graph.integer(name, value)
    graph.node("Shape", ["input_ids"], "shp")
    graph.node("Slice", ["shp", "one", "ax2", "ax0"], "seqlen")
    graph.node("Slice", ["pos_emb", "zero", "seqlen", "ax0"], "pos")
    graph.node("Gather", [words, "input_ids"], "we")
    graph.node("Add", ["we", "pos"], "emb")
    scale = graph.constant("emb_g", weights["embeddings.LayerNorm.weight"])
    shift = graph.constant("emb_b", weights["embeddings.LayerNorm.bias"])
    hidden = graph.node(
        "LayerNormalization", ["emb", scale, shift], "h0", axis=-1, epsilon=shape.epsilon
    )
    graph.node("Cast", ["attention_mask"], "mask32", to=TensorProto.INT32)
    return hidden


def write_layer(
    graph: GraphWriter,
    weights: dict[str, Any],
    shape: Shape,
    *,
    layer: int,
    hidden: str,
    output: str,
) -> str:
    """One transformer layer (attention, then feed-forward), each closed by add and normalise."""
    import numpy as np

    def weight(name: str) -> Any:
        # Upstream stores (out, in); ONNX multiplies from the left, so (in, out).
        return weights[f"encoder.layer.{layer}.{name}.weight"].T

    def bias(name: str) -> Any:
        return weights[f"encoder.layer.{layer}.{name}.bias"]

    def add_and_normalise(product: str, skipped: str, *, names: str, part: str, to: str) -> str:
        scale_name, shift_name, bias_name = names.split()
        scale = graph.constant(f"{scale_name}{layer}", weight(f"{part}.LayerNorm"))
        shift = graph.constant(f"{shift_name}{layer}", bias(f"{part}.LayerNorm"))
        added = graph.constant(f"{bias_name}{layer}", bias(f"{part}.dense"))
        return graph.node(
            "SkipLayerNormalization",
            [product, skipped, scale, shift, added],
            to,
            domain=FUSED,
            epsilon=shape.epsilon,
        )

    parts = [f"attention.self.{name}" for name in ("query", "key", "value")]
    joined = graph.constant(f"qkv_w{layer}", np.concatenate([weight(part) for part in parts], 1))
    joined_bias = graph.constant(f"qkv_b{layer}", np.concatenate([bias(part) for part in parts]))
    attention = graph.node(
        "Attention",
        [hidden, joined, joined_bias, "mask32"],
        f"att{layer}",
        domain=FUSED,
        num_heads=shape.heads,
    )
    projection = graph.constant(f"ao_w{layer}", weight("attention.output.dense"))
    attended = graph.node("MatMul", [attention, projection], f"ao{layer}")
    middle = add_and_normalise(
        attended, hidden, names="aln_g aln_b ao_b", part="attention.output", to=f"x{layer}a"
    )
    widening = graph.constant(f"fi_w{layer}", weight("intermediate.dense"))
    widened = graph.node("MatMul", [middle, widening], f"fi{layer}")
    widened_bias = graph.constant(f"fi_b{layer}", bias("intermediate.dense"))
    active = graph.node("BiasGelu", [widened, widened_bias], f"fg{layer}", domain=FUSED)
    narrowing = graph.constant(f"fo_w{layer}", weight("output.dense"))
    narrowed = graph.node("MatMul", [active, narrowing], f"fo{layer}")
    return add_and_normalise(narrowed, middle, names="oln_g oln_b fo_b", part="output", to=output)


def write_pooling(graph: GraphWriter, hidden: str) -> None:
    """The unit vector of the mean over real tokens.

    Mask times tokens gives their sum; the division by their number would cancel in the
    normalisation, so it is left out.
    """
    from onnx import TensorProto

    graph.node("Cast", ["attention_mask"], "maskf", to=TensorProto.FLOAT)
    graph.node("Unsqueeze", ["maskf", "ax1"], "m1")
    graph.node("MatMul", ["m1", hidden], "sum3")
    graph.node("Squeeze", ["sum3", "ax1"], "pooled")
    graph.node("LpNormalization", ["pooled"], "sentence_embedding", axis=-1, p=2)


def quantize_products(model: Any) -> Any:
    """``model`` with int8 weights in MatMul and Attention, a scale for each output channel."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "float.onnx"), Path(folder, "int8.onnx")
        onnx.save(model, before)
        quantize_dynamic(
            before,
            after,
            op_types_to_quantize=["MatMul", "Attention"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            # The pooling multiplies two activations: only products with a constant are quantised.
            # The type is named because shapes behind the fused operators cannot be inferred.
            extra_options={
                "DefaultTensorType": onnx.TensorProto.FLOAT,
                "MatMulConstBOnly": True,
            },
        )
        return onnx.load(after)


def quantize_word_table(model: Any) -> Any:
    """``model`` with the word table as int8 rows, widened again after the look-up."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    graph = model.graph
    table = next(constant for constant in graph.initializer if constant.name == "word_emb")
    rows = numpy_helper.to_array(table)
    scales = (np.abs(rows).max(axis=1, keepdims=True) / 127).astype(np.float32)
    scales[scales == 0] = 1  # a row of zeros stays zeros instead of becoming NaN
    integers = np.clip(np.rint(rows / scales), -127, 127).astype(np.int8)

    graph.initializer.remove(table)
    graph.initializer.append(numpy_helper.from_array(integers, "word_emb_q"))
    graph.initializer.append(numpy_helper.from_array(scales, "word_emb_scale"))
    place = next(index for index, node in enumerate(graph.node) if "word_emb" in node.input)
    looked_up = graph.node[place].output[0]
    widened = [
        helper.make_node("Gather", ["word_emb_q", "input_ids"], ["we_q"], name="we_q"),
        helper.make_node("Cast", ["we_q"], ["we_f"], name="we_f", to=TensorProto.FLOAT),
        helper.make_node("Gather", ["word_emb_scale", "input_ids"], ["we_s"], name="we_s"),
        helper.make_node("Mul", ["we_f", "we_s"], [looked_up], name="we_mul"),
    ]
    nodes = [*graph.node[:place], *widened, *graph.node[place + 1 :]]
    del graph.node[:]
    graph.node.extend(nodes)
    return model
