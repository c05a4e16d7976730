# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What people run, small and built from a configuration: no weights are fetched. `packages.py` runs each by its name.

    package_programs.py NAME             as a rank: under torchrun

A program prints its peak of reserved bytes at its end.
"""
import os
import sys

import torch
from torch import nn

STEPS, WIDTH = 4, 512
RANK, RANKS = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
CARD = torch.device("cuda", RANK)


def train(model, loss_of, optimizer=None):
    model.train()
    optimizer = optimizer or torch.optim.AdamW(p for p in model.parameters() if p.requires_grad)
    for _ in range(STEPS):
        loss_of(model).backward()
        optimizer.step()
        optimizer.zero_grad()


def tokens(batch=4, length=128, words=8000):
    return torch.randint(0, words, (batch, length), device=CARD)


# ---- Hugging Face ----

def llama_model():
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=4,
                                        num_attention_heads=8, vocab_size=8000))


def gpt2_model():
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(n_embd=512, n_layer=4, n_head=8, vocab_size=8000))


def llama_loop():
    train(llama_model().to(CARD), lambda m: m(input_ids=tokens(), labels=tokens()).loss)


def llama_bf16_checkpointing():
    model = llama_model().to(CARD, torch.bfloat16)
    model.gradient_checkpointing_enable()
    train(model, lambda m: m(input_ids=tokens(), labels=tokens()).loss)


def llama_generate():
    model = llama_model().to(CARD).eval()
    with torch.no_grad():
        assert model.generate(tokens(2, 16), max_new_tokens=32, do_sample=False).shape[1] == 48


def gpt2_autocast():
    def loss(model):
        with torch.autocast("cuda", torch.bfloat16):
            return model(input_ids=tokens(), labels=tokens()).loss
    train(gpt2_model().to(CARD), loss)


def bert_loop():
    from transformers import BertConfig, BertForMaskedLM
    train(BertForMaskedLM(BertConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                                     intermediate_size=1024, vocab_size=8000)).to(CARD),
          lambda m: m(input_ids=tokens(), attention_mask=torch.ones_like(tokens()), labels=tokens()).loss)


class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        ids = torch.randint(0, 8000, (128,), generator=torch.Generator().manual_seed(i))
        return {"input_ids": ids, "labels": ids}


def trainer(model, **options):
    from transformers import Trainer, TrainingArguments
    Trainer(model, TrainingArguments(output_dir="out", max_steps=STEPS, per_device_train_batch_size=4, report_to=[],
                                     save_strategy="no", logging_steps=2, **options), train_dataset=Sentences()).train()


def gpt2_trainer():
    trainer(gpt2_model())


def llama_trainer_bf16():
    trainer(llama_model(), bf16=True, gradient_accumulation_steps=2, gradient_checkpointing=True)


def llama_lora():
    from peft import LoraConfig, get_peft_model
    model = get_peft_model(llama_model(), LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    train(model.to(CARD), lambda m: m(input_ids=tokens(), labels=tokens()).loss)


def gpt2_adam8bit():
    from bitsandbytes.optim import AdamW8bit
    model = gpt2_model().to(CARD)
    train(model, lambda m: m(input_ids=tokens(), labels=tokens()).loss, AdamW8bit(model.parameters()))


def llama_nf4_lora():
    import bitsandbytes as bnb
    from peft import LoraConfig, get_peft_model
    model = llama_model()
    for layer in model.model.layers:
        for part in (layer.self_attn, layer.mlp):
            for name, linear in list(part.named_children()):
                if isinstance(linear, nn.Linear):
                    packed = bnb.nn.Linear4bit(linear.in_features, linear.out_features, bias=False, quant_type="nf4",
                                               compute_dtype=torch.bfloat16)
                    packed.load_state_dict(linear.state_dict())
                    setattr(part, name, packed)
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    train(model.to(CARD), lambda m: m(input_ids=tokens(), labels=tokens()).loss)


class TorchtuneTokenizer:
    pad_id = 0


class TorchtuneSentences(Sentences):
    def __init__(self, tokenizer):
        pass

    def __getitem__(self, i):
        ids = super().__getitem__(i)["input_ids"].tolist()
        return {"tokens": ids, "labels": ids}


def llama_torchtune():
    """The recipe full_finetune_single_device; the weights that it loads are made here, and none are saved."""
    import importlib.util
    import pathlib
    import runpy
    from omegaconf import OmegaConf
    from torchtune import config
    root = pathlib.Path(importlib.util.find_spec("torchtune").origin).parents[1]
    recipe = runpy.run_path(str(root / "recipes/full_finetune_single_device.py"))["FullFinetuneRecipeSingleDevice"]

    class Recipe(recipe):
        def load_checkpoint(self, _):
            return {"model": config.instantiate(settings.model).state_dict()}

        def save_checkpoint(self, epoch):
            pass

    part = "package_programs."
    settings = OmegaConf.create({
        "model": {"_component_": "torchtune.models.llama3_2.llama3_2", "vocab_size": 8000, "num_layers": 4,
                  "num_heads": 8, "num_kv_heads": 2, "embed_dim": 512, "max_seq_len": 256, "intermediate_dim": 1024},
        "tokenizer": {"_component_": part + "TorchtuneTokenizer"},
        "dataset": {"_component_": part + "TorchtuneSentences"},
        "optimizer": {"_component_": "torch.optim.AdamW", "lr": 1e-4, "fused": True},
        "loss": {"_component_": "torchtune.modules.loss.CEWithChunkedOutputLoss"},
        "metric_logger": {"_component_": "torchtune.training.metric_logging.DiskLogger", "log_dir": "out"},
        "checkpointer": {"model_type": "LLAMA3_2"}, "device": "cuda", "dtype": "bf16", "seed": 0, "output_dir": "out",
        "batch_size": 4, "epochs": 1, "max_steps_per_epoch": STEPS, "gradient_accumulation_steps": 2, "shuffle": False,
        "optimizer_in_bwd": False, "resume_from_checkpoint": False, "compile": False, "clip_grad_norm": None,
        "enable_activation_checkpointing": True, "enable_activation_offloading": False})
    recipe = Recipe(cfg=settings)
    recipe.setup(cfg=settings)
    recipe.train()


def torchtitan_start():
    import torchtitan.train
    assert torchtitan.train.main


def vllm_start():
    """The engine comes up with weights that are made up, sizes its cache by what is left of the card, and answers."""
    import json
    os.makedirs("model", exist_ok=True)
    with open("model/config.json", "w") as f:
        json.dump(dict(llama_model().config.to_dict(), architectures=["LlamaForCausalLM"], torch_dtype="bfloat16"), f)
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    from vllm import LLM, SamplingParams
    llm = LLM("model", load_format="dummy", enforce_eager=True, skip_tokenizer_init=True, max_model_len=512,
              gpu_memory_utilization=0.5)
    answers = llm.generate([{"prompt_token_ids": list(range(1, n))} for n in (20, 300)],
                           SamplingParams(max_tokens=16, ignore_eos=True))
    assert [len(a.outputs[0].token_ids) for a in answers] == [16, 16]


def gpt2_accelerate():
    from accelerate import Accelerator
    accelerator = Accelerator(mixed_precision="bf16")
    model = gpt2_model()
    model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters()),
                                                   torch.utils.data.DataLoader(Sentences(), batch_size=4))
    for batch, _ in zip(loader, range(STEPS)):
        accelerator.backward(model(**batch).loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def unet_diffusers():
    from diffusers import DDPMScheduler, UNet2DModel
    model = UNet2DModel(sample_size=32, block_out_channels=(64, 128, 128), layers_per_block=1,
                        down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
                        up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D"))
    scheduler = DDPMScheduler()

    def loss(model):
        images, noise = (torch.randn(8, 3, 32, 32, device=CARD) for _ in range(2))
        times = torch.randint(0, 1000, (8,), device=CARD)
        return nn.functional.mse_loss(model(scheduler.add_noise(images, noise, times), times).sample, noise)
    train(model.to(CARD), loss)


# ---- others ----

def image_classes(model, size):
    train(model.to(CARD), lambda m: nn.functional.cross_entropy(m(torch.randn(8, 3, size, size, device=CARD)),
                                                                torch.zeros(8, dtype=torch.long, device=CARD)))


def resnet50_torchvision():
    import torchvision
    image_classes(torchvision.models.resnet50(), 224)


def vit_torchvision():
    import torchvision
    image_classes(torchvision.models.VisionTransformer(224, 16, 4, 6, 384, 1536), 224)


def detection_torchvision():
    import torchvision
    model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=5)
    image = torch.rand(3, 200, 200, device=CARD)
    target = {"boxes": torch.tensor([[10.0, 10.0, 90.0, 90.0]], device=CARD), "labels": torch.tensor([1], device=CARD)}
    train(model.to(CARD), lambda m: sum(m([image], [target]).values()))


def gpt2_lightning():
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = gpt2_model()

        def training_step(self, batch, _):
            loss = self.model(**batch).loss
            self.log("loss", loss, prog_bar=False)
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    lightning.Trainer(max_steps=STEPS, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                      precision="bf16-mixed", enable_progress_bar=False).fit(
        Module(), torch.utils.data.DataLoader(Sentences(), batch_size=4))


def gcn_torch_geometric():
    from torch_geometric.nn import GCNConv

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = GCNConv(128, 256), GCNConv(256, 7)

        def forward(self, x, edges):
            return self.second(self.first(x, edges).relu(), edges)

    x, edges = torch.randn(2000, 128, device=CARD), torch.randint(0, 2000, (2, 10000)).to(CARD)
    labels = torch.zeros(2000, dtype=torch.long, device=CARD)
    train(Net().to(CARD), lambda m: nn.functional.cross_entropy(m(x, edges), labels))


# ---- PyTorch alone ----

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(self.up(x).relu())


def blocks():
    torch.manual_seed(0)
    return nn.Sequential(*[Block() for _ in range(4)]).to(CARD)


def rows():
    return torch.randn(32, WIDTH, device=CARD)


def compiled():
    model = torch.compile(blocks())
    train(model, lambda m: m(rows()).sum())


def cuda_graph():
    model, x = blocks(), rows()
    graphed = torch.cuda.make_graphed_callables(model, (x.requires_grad_(),))
    train(model, lambda _: graphed(x).sum())


def cuda_graph_whole_step():
    model, x = blocks(), rows()
    optimizer = torch.optim.AdamW(model.parameters(), capturable=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(x).sum().backward()
        optimizer.step()

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for _ in range(STEPS):
        graph.replay()


# ---- ranks ----

def ranks_ddp():
    model = nn.parallel.DistributedDataParallel(blocks(), device_ids=[RANK])
    train(model, lambda m: m(rows()).sum())


def ranks_zero1():
    from torch.distributed.optim import ZeroRedundancyOptimizer
    model = nn.parallel.DistributedDataParallel(blocks(), device_ids=[RANK])
    train(model, lambda m: m(rows()).sum(),
          ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW, lr=1e-3))


def ranks_deepspeed_zero3():
    import deepspeed
    settings = {"train_micro_batch_size_per_gpu": 32, "zero_allow_untested_optimizer": True, "bf16": {"enabled": True},
                "zero_optimization": {"stage": 3}}
    with deepspeed.zero.Init(config_dict_or_path=settings):
        model = nn.Sequential(*[Block() for _ in range(4)])
    engine = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters()), config=settings)[0]
    for _ in range(STEPS):
        engine.backward(engine(rows().bfloat16()).float().sum())
        engine.step()


def ranks_fsdp1():
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    model = FullyShardedDataParallel(blocks(), auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=CARD)
    train(model, lambda m: m(rows()).sum())


def ranks_fsdp2():
    from torch.distributed.fsdp import fully_shard
    model = blocks()
    for block in model:
        fully_shard(block)
    train(fully_shard(model), lambda m: m(rows()).sum())


def split_tensors(model, mesh):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    for block in model:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})


def ranks_tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    model = blocks()
    split_tensors(model, init_device_mesh("cuda", (RANKS,)))
    train(model, lambda m: m(rows()).sum())


def ranks_fsdp2_and_tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh, model = init_device_mesh("cuda", (RANKS // 2, 2), mesh_dim_names=("data", "tensor")), blocks()
    split_tensors(model, mesh["tensor"])
    for block in model:
        fully_shard(block, mesh=mesh["data"])
    train(fully_shard(model, mesh=mesh["data"]), lambda m: m(rows()).sum())


def ranks_pipeline():
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B
    share = 4 // RANKS
    part = blocks()[RANK * share:(RANK + 1) * share]
    schedule = Schedule1F1B(PipelineStage(part, RANK, RANKS, CARD), 4, loss_fn=lambda y, t: (y - t).square().sum())
    optimizer = torch.optim.AdamW(part.parameters())
    for _ in range(STEPS):
        first, last = {"args": (rows(),)}, {"target": rows(), "losses": []}
        schedule.step(*(first["args"] if RANK == 0 else ()), **(last if RANK == RANKS - 1 else {}))
        optimizer.step()
        optimizer.zero_grad()


def ranks_values():
    """What ranks tell each other is true: objects, flags, sums."""
    import torch.distributed as dist
    objects = [{"name": "x" * 100}, 7] if RANK == 0 else [None, None]
    dist.broadcast_object_list(objects)
    assert objects[1] == 7 and len(objects[0]["name"]) == 100, objects
    everybody = [None] * RANKS
    dist.all_gather_object(everybody, {"rank": RANK, "text": "y" * RANK})
    assert everybody == [{"rank": r, "text": "y" * r} for r in range(RANKS)], everybody
    total = torch.tensor([RANK + 1], device=CARD)
    dist.all_reduce(total)
    assert total.item() == RANKS * (RANKS + 1) // 2, total
    largest = torch.tensor(float(RANK), device=CARD)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    assert largest.item() == RANKS - 1, largest
    gathered = [torch.zeros(1, dtype=torch.int64, device=CARD) for _ in range(RANKS)]
    dist.all_gather(gathered, torch.tensor([RANK * 10], device=CARD))
    assert [int(x) for x in gathered] == [10 * r for r in range(RANKS)], gathered
    scattered = torch.zeros(1, dtype=torch.int64, device=CARD)
    dist.scatter(scattered, [torch.tensor([5 + r], device=CARD) for r in range(RANKS)] if RANK == 1 else None, src=1)
    assert scattered.item() == 5 + RANK, scattered
    computed = (torch.arange(8, device=CARD) > RANK).sum()
    dist.all_reduce(computed)
    assert computed.item() == sum(7 - r for r in range(RANKS)), computed
    if RANK == 0:
        open("ready", "w").close()
    dist.barrier()
    assert os.path.exists("ready"), "a barrier waits"


def ranks_llama_trainer():
    trainer(llama_model())


def ranks_one_is_lost():
    """Ends with a sentence."""
    import torch.distributed as dist
    if RANK == 1:
        os._exit(3)
    dist.all_reduce(torch.tensor([1], device=CARD))


def main():
    name = sys.argv[1]
    if name.startswith("ranks_"):
        torch.cuda.set_device(CARD)
        if name != "ranks_llama_trainer":
            torch.distributed.init_process_group("nccl")
    globals()[name]()
    torch.cuda.synchronize()
    sys.stdout.write("peak %d\n" % torch.cuda.max_memory_reserved())    # one write: ranks share the pipe
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
