"""Work of loading that is known to be cheaper in another way, and how it is recognised by the functions that were seen.

A place in a stack is written as ``Image.resize PIL/Image.py``: function, space, file. What is not written in Python has
the name by which the program calls it, and the file of that call.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from underfed_server.advice.sketches import JOINING, in_collate, on_whole_batch
from underfed_server.facts.costly_lines import IsMeant
from underfed_server.facts.loading import LoaderHotspots, Place
from underfed_server.model import Stage

Operands = Literal["arrays", "tensors"]


@dataclass(frozen=True, slots=True)
class KnownCost:
    name: str
    """Of the cheaper way."""
    title: str
    why: str
    write: str
    """Lines as of a diff."""
    risk: str
    source: str
    """Where it is said."""
    seen_as: re.Pattern[str]
    """Any place of a stack."""
    is_innermost: bool = False
    """Only the innermost place counts."""
    is_own: bool = False
    """Only places in the program's own files count."""
    stage: Stage | None = None
    needs: re.Pattern[str] | None = None
    """Also seen, in any stack: else another way is advised for the same functions."""
    is_lazy_in: re.Pattern[str] | None = None
    """Calls that do this work as the first to need its result: what else they do at that line counts, too."""
    operands: Operands | None = None
    """Operators and methods count, too, where what calls them was seen to work on these alone: their names say nothing
    of that."""
    needs_gpu: bool = False
    """Without a GPU the training process would do the work, in its own time."""
    needs_larger: bool = False
    """What is resized is at least twice as large as what it is resized to, as far as that was seen."""
    needs_smaller_use: bool = False
    """What is resized becomes smaller, as far as that was seen."""
    shrinks: bool = False
    """What is done to the pictures afterwards takes less, too."""
    needs_floats: bool = False
    """A batch has floating-point numbers, as far as that was seen."""
    needs_float64: bool = False
    """A batch has numbers in float64, as far as that was seen."""
    needs_bytes: bool = False
    """A batch holds no more different values than a byte has, as far as that was seen."""

    def within(self, loading: LoaderHotspots, places: Collection[Place]) -> IsMeant | None:
        """Which stacks show it. ``places``: all that were seen. ``None``: it was not seen, or not what it ``needs``."""
        shown = {place for place in places if self.seen_as.search(_text(place))}
        if self.is_own:
            shown = {place for place in shown if place[1] in loading.own_files}
        applied = self._applied(loading, shown)
        if not (shown or applied) or (
            self.needs is not None and not any(self.needs.search(_text(place)) for place in places)
        ):
            return None

        lazy = self._lazy_calls(loading, shown)

        def is_meant(stage: Stage, stack: tuple[Place, ...]) -> bool:
            looked_at = stack[-1:] if self.is_innermost else stack
            is_shown = any(place in shown for place in looked_at) or (bool(lazy) and not lazy.isdisjoint(_calls(stack)))
            return self.stage in (None, stage) and (is_shown or stack in applied)

        return is_meant

    def _applied(self, loading: LoaderHotspots, shown: Collection[Place]) -> frozenset[tuple[Place, ...]]:
        """Stacks that end in an operator on the ``operands`` or a method of theirs, or at a line of such work:
        comparisons have no name."""
        if self.operands is None:
            return frozenset()
        known = _operands(loading)
        stacks = {stack for _stage, stack in loading.samples}
        calls = {stack for stack in stacks if len(stack) > 1 and stack[-1][1:] == stack[-2][1:]}
        applied = {
            stack
            for stack in calls
            if APPLIED[self.operands].search(_text(stack[-1])) and _operands_at(stack, known) == self.operands
        }
        lines = {stack[:-1] for stack in calls if stack in applied or stack[-1] in shown}
        return frozenset(applied | (stacks & lines))

    def _lazy_calls(self, loading: LoaderHotspots, shown: Collection[Place]) -> frozenset[_Call]:
        if self.is_lazy_in is None:
            return frozenset()
        return frozenset(
            call
            for _stage, stack in loading.samples
            for at, call in enumerate(_calls(stack))
            if self.is_lazy_in.search(_text(stack[at])) and any(place in shown for place in stack[at:])
        )


def _operands(loading: LoaderHotspots) -> dict[tuple[str, str], set[Operands]]:
    """What each function of the program, by its name and file, was seen to work on."""
    known: dict[tuple[str, str], set[Operands]] = defaultdict(set)
    for _stage, stack in loading.samples:
        for caller, called in pairwise(stack):
            if caller[1] in loading.own_files:
                known[caller[:2]] |= {kind for kind, works in WORKS_ON.items() if works.search(_text(called))}
    return known


def _operands_at(stack: tuple[Place, ...], known: Mapping[tuple[str, str], set[Operands]]) -> Operands | None:
    """Of the innermost function that shows any; ``None``: none does, or it works on both."""
    seen = next((kinds for place in reversed(stack[:-1]) if (kinds := known.get(place[:2]))), set[Operands]())
    return next(iter(seen)) if len(seen) == 1 else None


_Call = tuple[tuple[Place, ...], str, str]
"""The places that lead to a function, its name and its file: at whichever of its lines."""


def _calls(stack: tuple[Place, ...]) -> list[_Call]:
    return [(stack[:at], place[0], place[1]) for at, place in enumerate(stack)]


def _text(place: Place) -> str:
    return f"{place[0]} {place[1]}"


DECODES = re.compile(
    r"^\w*ImageFile\.load\w* PIL/|^(\w+\.)?(imread|imdecode) |^(decode_image|decode_jpeg|read_image) torchvision/io/"
)
RESIZES = re.compile(
    r"^Image\.(resize|thumbnail|reduce) PIL/|^cv2\.resize |^(resize|resized_crop)\w* (torchvision|albu\w+)/"
)

AUGMENTS = re.compile(
    r"^(adjust_\w+|gaussian_blur|blur|rotate|affine|perspective|elastic\w*|solarize|posterize|autocontrast"
    r"|equalize|shift_hsv|clahe) (torchvision|albu\w+|kornia)"
    r"|^Image\.(rotate|filter|transform) PIL/| PIL/ImageEnhance\.py$"
    r"|^(autocontrast|equalize|posterize|solarize) PIL/ImageOps\.py$"
    r"|^cv2\.(GaussianBlur|blur|medianBlur|warpAffine|warpPerspective|remap) "
)

CONVERTS = re.compile(r"^Image\.(convert|copy) PIL/")
"""Pillow decodes a picture when it is first needed."""


APPLIED: Mapping[Operands, re.Pattern[str]] = {
    "arrays": re.compile(r"^operator "),
    "tensors": re.compile(
        r"^(operator \S+|abs|mean|std|var|median|norm|clamp_?|clip|exp|log(2|10|1p)?|sqrt|square|pow|sin|cos|tanh"
        r"|sigmoid|softmax|cumsum|cumprod|diff|roll|flip|sign|floor|ceil|argmax|argmin|argsort|topk|unsqueeze|squeeze|permute"
        r"|transpose|reshape|view|contiguous|clone|expand|repeat|gather|index_select|masked_fill_?|fill_|zero_"
        r"|(add|sub|mul|div|copy)_) "
    ),
}
"""How operators and methods are named. ``max``, ``min``, ``sum`` and ``round`` are Python's own as well, which may be
given lists."""

CONVERTS_ARRAYS = r"^((\w+\.)*astype|(np|numpy)\.(asarray|array|ascontiguousarray|float64)) "
"""Which type they make is not seen: the call may ask for float32 already."""

COMPUTES_ON_ARRAYS = (
    r"^((?!copy\.)(\w+\.)*copy|(np|numpy)\.(divide|multiply|subtract|add|clip|concatenate|stack|where|pad)) "
)

IN_FLOAT32_AND_IN_PLACE = """\
+mean, deviation = 255 * np.float32(mean), 255 * np.float32(deviation)  # once, in __init__
+image = np.array(image, dtype=np.float32)  # the only copy
+image -= mean
+image /= deviation"""

RISK_IN_PLACE = "What is computed in place must not be used elsewhere. Sums over many numbers lose digits in float32."

ON_COPIES_AND_TYPES = (
    "https://numpy.org/doc/stable/user/basics.copies.html, https://numpy.org/doc/stable/user/basics.types.html"
)

TENSOR_CALLS = r"^(torch|F)\.(?!tensor |as_tensor |from_numpy )[\w.]+ "

WORKS_ON: Mapping[Operands, re.Pattern[str]] = {
    "arrays": re.compile(r"^(\w+\.)*astype |^(np|numpy)\.[\w.]+ | numpy/"),
    "tensors": re.compile(rf"{TENSOR_CALLS}| torch/(_tensor|functional|nn/functional)\.py$"),
}
"""Calls that show it; making a tensor of an array is the end of work on arrays."""


PICTURES = 4, "pictures of one size; labels and texts stay"


def decoded_at(size: str, by: int) -> str:
    """``size``: width and height that are needed, as arguments. ``by``: 2, 4 or 8, of what is decoded now."""
    return f"""\
 with Image.open(path) as image:
+    image.draft("RGB", ({size}))  # the smallest scale that is not below; only the first draft counts
     image = image.convert("RGB")
 # Where only a part is used, as in a random crop: a size of the whole picture whose part is still large enough.
 # OpenCV: cv2.IMREAD_REDUCED_COLOR_{by}; where the flag reduces already, by {by} times as much (8 at most).
 # simplejpeg, libjpeg-turbo itself: decode_jpeg(data, min_height=side, min_width=side)
 # Any format: save copies of the data set once, at the size that is used."""


def copies_at(size: str) -> str:
    """``size``: width and height that are used, as arguments."""
    return f"""\
+for path in paths:  # once, before training
+    with Image.open(path) as image:
+        image.convert("RGB").resize(({size}), Image.Resampling.BICUBIC).save(copies / path.name, quality=95)
 # In __getitem__:
-image = Image.open(path).convert("RGB").resize(({size}))
+image = Image.open(copies / path.name).convert("RGB")"""


KNOWN_COSTS: tuple[KnownCost, ...] = (
    KnownCost(
        name="reduced decoding",
        title="Decode pictures at about the size that is used",
        why="A JPEG that is decoded at least twice as wide and high as what it is resized to can be decoded smaller, "
        "down to 1/8 of its file's size, for a fraction of the work; copies that were resized once avoid most of it.",
        write=decoded_at("needed_width, needed_height", 2),
        risk="Crops are then of the smaller picture, so give their size in parts of it and ask for a size that leaves "
        "them large enough; pixels differ a little. "
        "Nothing is gained where pictures are hardly larger than what is used.",
        source="https://pillow.readthedocs.io/en/stable/reference/Image.html#PIL.Image.Image.draft",
        seen_as=DECODES,
        is_lazy_in=CONVERTS,
        needs=RESIZES,
        needs_larger=True,
        shrinks=True,
    ),
    KnownCost(
        name="another decoder",
        title="Decode straight into arrays or tensors",
        why="Pillow decodes into an image of its own, which is then copied into an array and a tensor. Decoders on "
        "libjpeg-turbo that write tensors or arrays avoid the copies, and the precision that training does not need.",
        write="""\
-image = to_tensor(Image.open(path).convert("RGB"))
+image = torchvision.io.decode_image(path, mode="RGB")  # uint8; from torchvision 0.29 on in torchcodec
 # Or NumPy: simplejpeg.decode_jpeg(data, fastdct=True, fastupsample=True)""",
        risk="Decoders differ by a few grey levels. Compare both on your pictures before all of them.",
        source="https://docs.pytorch.org/vision/stable/io.html, https://pypi.org/project/simplejpeg/",
        seen_as=re.compile(r"^\w*ImageFile\.load\w* PIL/"),
        is_lazy_in=CONVERTS,
    ),
    KnownCost(
        name="resized copies",
        title="Save resized copies once",
        why="Every epoch resizes the same pictures again. Copies that are saved once at the size that is used leave "
        "nothing to resize, and less to decode.",
        write=copies_at("width, height"),
        risk="Copies take storage, fix the resolution, and as JPEG lose a little. Where a random crop comes before the "
        "resize, they have to be of the whole picture, and large enough for the smallest crop.",
        source="https://pillow.readthedocs.io/en/stable/reference/Image.html#PIL.Image.Image.resize, "
        "https://pillow.readthedocs.io/en/stable/handbook/image-file-formats.html#jpeg-saving",
        seen_as=RESIZES,
        needs_smaller_use=True,
    ),
    KnownCost(
        name="augmenting batches",
        title="Augment whole batches on the GPU",
        why="Colours, blurs and rotations are computed picture by picture in the workers; on the GPU they take a whole "
        "batch with one call. What is random cannot be computed once.",
        write=f"""\
 # augment: of torchvision.transforms.v2 or kornia.augmentation, in place of what the data set does
{on_whole_batch("augment", *PICTURES)}
 for batch in loader:
+    batch = changed(batch)  # once it is on the device""",
        risk="A transform of torchvision draws its random numbers once for a batch, kornia for each picture. "
        "Masks and boxes have to be changed with their pictures, by one call. It takes time of the GPU.",
        source="https://kornia.readthedocs.io/en/latest/augmentation.html",
        seen_as=AUGMENTS,
        needs_gpu=True,
    ),
    KnownCost(
        name="augmenting in collate_fn",
        title="Augment whole batches with one call",
        why="Colours, blurs and rotations are computed picture by picture. What is random cannot be computed once, but "
        "torchvision.transforms.v2 and kornia take a whole batch of tensors with one call, in the worker that joins "
        "it.",
        write=f"""\
 # augment: of torchvision.transforms.v2 or kornia.augmentation, in place of what the data set does
{in_collate("augment", *PICTURES)}""",
        risk="A transform of torchvision draws its random numbers once for a batch, kornia for each picture. Masks and "
        "boxes have to be changed with their pictures, by one call. On a CPU a batch may take as long as its pictures "
        "one by one, a blur longer: time both.",
        source="https://docs.pytorch.org/vision/stable/transforms.html#performance-considerations, "
        "https://kornia.readthedocs.io/en/latest/augmentation.html",
        seen_as=AUGMENTS,
    ),
    KnownCost(
        name="bytes to the device",
        title="Convert to floating-point numbers on the device",
        why="Samples are converted and normalised in the workers, and handed over and copied at four times their size.",
        write="""\
-image = normalize(to_tensor(image))
+image = torchvision.transforms.v2.functional.to_image(image)  # uint8, of a picture of Pillow or an array
 for images, labels in loader:
-    images = images.to(device)
+    images = normalize(images.to(device, non_blocking=True).float().div_(255))  # a whole batch, on the device""",
        risk="What is done to samples as floating-point numbers then follows the copy: compare a batch.",
        source="https://docs.pytorch.org/vision/stable/transforms.html#performance-considerations",
        seen_as=re.compile(
            r"^(to_tensor|normalize\w*|convert_image_dtype|to_dtype\w*|(Normalize|ToTensor)\.\w+) "
            r"(torchvision|albu\w+)/"
            r"|^(float|half|F\.normalize|F\.to_tensor) "
        ),
        needs_gpu=True,
        needs_bytes=True,
    ),
    KnownCost(
        name="arrays in float32",
        title="Compute on arrays in float32 and in place",
        why="Each operator and each conversion makes another array, and one float64 in an expression makes all that "
        "follows twice as large.",
        write=f"""\
-image = (np.asarray(image) / 255.0 - mean) / deviation  # float64, three copies
{IN_FLOAT32_AND_IN_PLACE}""",
        risk=RISK_IN_PLACE,
        source=ON_COPIES_AND_TYPES,
        seen_as=re.compile(rf"{CONVERTS_ARRAYS}|{COMPUTES_ON_ARRAYS}"),
        operands="arrays",
        is_innermost=True,
        is_own=True,
        needs_float64=True,
    ),
    KnownCost(
        name="arrays in place",
        title="Compute on arrays in place",
        why="Each operator makes another array. Where an operand is float64, as an array of Python's numbers is, all "
        "that follows is twice as large.",
        write=f"""\
-image = (np.asarray(image) / 255.0 - mean) / deviation  # three copies; of float64, where mean is an array of that
{IN_FLOAT32_AND_IN_PLACE}""",
        risk=RISK_IN_PLACE,
        source=ON_COPIES_AND_TYPES,
        seen_as=re.compile(COMPUTES_ON_ARRAYS),
        operands="arrays",
        is_innermost=True,
        is_own=True,
        needs_floats=True,
    ),
    KnownCost(
        name="a generator of random numbers",
        title="Draw random numbers from a NumPy generator, as float32",
        why="The functions of np.random draw float64 by older methods; a Generator draws normal numbers several times "
        "as fast, and in float32.",
        write="""\
-wave = wave + 0.01 * np.random.randn(len(wave))
+# once in each worker: self.generator = np.random.default_rng(torch.initial_seed())
+wave = wave + np.float32(0.01) * self.generator.standard_normal(np.shape(wave), dtype=np.float32)""",
        risk="Other random numbers for the same seed. Each worker needs its own seed, as torch.initial_seed() is.",
        source="https://numpy.org/doc/stable/reference/random/new-or-different.html",
        seen_as=re.compile(r"^(np|numpy)\.random\.(?!default_rng |[A-Z])\w+ "),
        is_innermost=True,
        is_own=True,
    ),
    KnownCost(
        name="tokens prepared",
        title="Tokenise once, or a batch with one call",
        why="Each sample is tokenised by a call of its own, again in every epoch. A fast tokenizer takes a list of "
        "texts several times as fast as one text at a time.",
        write="""\
 # Once, before training; the result is kept on disk:
+dataset = dataset.map(lambda texts: tokenizer(texts["text"], truncation=True), batched=True, num_proc=4)
 # Or in the collate function, all texts of a batch together:
-return tokenizer(text, truncation=True)
+return tokenizer([sample["text"] for sample in samples], truncation=True, padding=True, return_tensors="pt")""",
        risk="Prepared tokens are those of one tokenizer and one length; random changes of the text come before them.",
        source="https://huggingface.co/learn/llm-course/chapter6/3, https://huggingface.co/docs/datasets/nlp_process",
        seen_as=re.compile(
            r" (transformers/(tokenization_|models/[^/]+/tokenization_)|tokenizers/|sentencepiece/|tiktoken/)"
            r"|^(\w+\.)*(tokenizer(\.\w+)?|tokenize|encode_batch\w*|encode_plus) "
        ),
        stage="getitem",
    ),
    KnownCost(
        name="one array to one tensor",
        title="Make tensors of arrays, not of lists",
        why="A tensor made of a list is filled number by number, or array by array with a copy of each.",
        write="""\
     def __init__(self, rows):
-        self.rows = rows  # lists of numbers
+        self.rows = [np.asarray(row) for row in rows]  # each once
     def __getitem__(self, index):
-        return torch.tensor(self.rows[index])  # or torch.as_tensor(np.asarray(self.rows[index]))
+        return torch.as_tensor(self.rows[index])  # no copy
     # What is computed anew for each sample: as an array from the beginning, in place of a list of numbers; and of
     # a list of arrays torch.as_tensor(np.stack(arrays)), which is one copy.""",
        risk="The tensor shares the array's memory and has its type: float64 of a list of floats, of which "
        "torch.tensor makes float32 (np.asarray(row, dtype=np.float32) does, too).",
        source="https://github.com/pytorch/pytorch/issues/13918",
        seen_as=re.compile(r"^torch\.(tensor|as_tensor|Tensor|FloatTensor|LongTensor|DoubleTensor|IntTensor) "),
        is_own=True,
    ),
    KnownCost(
        name="regular expressions",
        title="Match patterns once",
        why="Regular expressions go over the same texts in every epoch.",
        write="""\
-words = re.findall(pattern, text)  # in __getitem__
+words = self.words[index]  # found once, in __init__ or before training
 # What has to be matched each time: compile the pattern once; str.split, in and str.translate need none.""",
        risk="What is prepared takes memory in each worker, unless it is an array or a table on disk.",
        source="https://docs.python.org/3/howto/regex.html#use-string-methods",
        seen_as=re.compile(
            r" (re/|re\.py|regex/)|^(\w+\.)*(findall|finditer|fullmatch|subn?|re\.(search|match|split)) "
        ),
    ),
    KnownCost(
        name="archive opened once",
        title="Open the archive once in each worker",
        why="The archive is opened for each sample, and its list of contents is read each time.",
        write="""\
+    archive = None  # of the class: no __init__ is needed
     def __getitem__(self, index):
-        with zipfile.ZipFile(self.path) as archive:
-            return decode(archive.read(self.names[index]))
+        if self.archive is None:  # in the worker, not before it starts: processes must not share a file position
+            self.archive = zipfile.ZipFile(self.path)
+        return decode(self.archive.read(self.names[index]))""",
        risk="An archive that is open before workers are forked is shared by them, and reads go wrong.",
        source="https://docs.python.org/3/library/zipfile.html#zipfile-objects, "
        "https://docs.h5py.org/en/stable/high/file.html",
        seen_as=re.compile(
            r"^(ZipFile\.(__init__|_RealGetContents)|TarFile\.(__init__|open|\w+open|getmembers|_load)) "
            r"|^File\.__init__ h5py/|^make_fid h5py/|^NpzFile\.__init__ numpy/"
            r"|^(lmdb\.open|lmdb\.Environment|h5py\.File) "
            r"|^(ParquetFile|RecordBatchFileReader)\.__init__ pyarrow/"
        ),
    ),
    KnownCost(
        name="no deep copies",
        title="Copy only what is changed",
        why="deepcopy goes through every object within, in Python, and remembers each.",
        write="""\
-sample = copy.deepcopy(self.samples[index])
+sample = copy.copy(self.samples[index])  # a shallow copy, of a dict, a list or an object
+sample["boxes"] = copy.deepcopy(sample["boxes"])  # and of it what is changed in place""",
        risk="What is changed in place without a copy is changed for all later epochs.",
        source="https://docs.python.org/3/library/copy.html",
        seen_as=re.compile(r"^(deepcopy|_deepcopy_\w+|_reconstruct) copy\.py$|^(copy\.)?deepcopy "),
    ),
    KnownCost(
        name="parsed once",
        title="Parse once, before training",
        why="The same texts are parsed in every epoch.",
        write="""\
-label = json.loads(self.path(index).read_text())  # in __getitem__
+label = self.labels[index]  # an array or a table that was written once; memory-mapped where it is large""",
        risk="What is prepared has to be made anew when the data change.",
        source="https://docs.python.org/3/library/json.html, https://arrow.apache.org/docs/python/memory.html",
        seen_as=re.compile(
            r" (json/(decoder|__init__)\.py|yaml/|csv\.py|xml/|ast\.py)|^(json\.loads?|yaml\.\w+|csv\.reader|ET\.\w+"
            r"|ast\.literal_eval|orjson\.loads|pd\.read_\w+) "
        ),
    ),
    KnownCost(
        name="columns as arrays",
        title="Take rows from arrays, not from a table of pandas",
        why="A row of a pandas table is put together in Python each time, for tens of microseconds and more.",
        write="""\
     def __init__(self, table):
-        self.table = table
+        self.paths, self.labels = table["path"].to_numpy(), table["label"].to_numpy()
     def __getitem__(self, index):
-        row = self.table.iloc[index]
+        path, label = self.paths[index], self.labels[index]""",
        risk="None for the values; columns of mixed types stay arrays of objects.",
        source="https://pandas.pydata.org/docs/user_guide/indexing.html#fast-scalar-value-getting-and-setting",
        seen_as=re.compile(r" pandas/"),
        stage="getitem",
    ),
    KnownCost(
        name="collating with one call",
        title="Join samples without a loop in Python",
        why="The collate function goes through samples in Python.",
        write=f"""\
-for row, sample in enumerate(samples):
-    batch[row, : len(sample)] = sample
{JOINING}""",
        risk="The new function has to give the same batches: compare one of each.",
        source="https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_sequence.html",
        seen_as=re.compile(""),
        is_innermost=True,
        is_own=True,
        stage="collate",
    ),
    KnownCost(
        name="fewer tensor operations",
        title="Fewer and larger operations on tensors",
        why="Each operation of torch takes some microseconds before it computes anything, which is most of it for the "
        "tensors of one sample.",
        write="""\
 # Per sample, in __getitem__: NumPy, or nothing at all.
-sample = torch.clamp(torch.roll(sample, shift) * scale, 0, 1)
 # Per batch, in the training loop after the copy to the device:
+samples = torch.clamp(samples * scales, 0, 1)""",
        risk="Random numbers have to be drawn for each sample of a batch.",
        source="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
        seen_as=re.compile(TENSOR_CALLS),
        operands="tensors",
        is_innermost=True,
        is_own=True,
        stage="getitem",
    ),
)
"""In the order in which they are tried: of two that the same functions show, the first that fits."""
