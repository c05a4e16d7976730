# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The programs behind published figures, written anew from their descriptions. published.py runs them under run-sim.

    published_programs.py CASE ...       such as xmem/gpt-neo/SGD/20, lightning/03, qwen/0.8B/lora/128

Each case runs in a process of its own, forked before CUDA is touched, and prints one line of JSON: the peaks that
PyTorch counted, and whether a request was refused. No weights and no data are fetched.
"""
import json
import os
import sys
import traceback

import torch
from torch import nn

CARD = "cuda"


def leave_unset():
    """Initial values do not matter: a large model made on the host then takes no memory here."""
    for name in ("trunc_normal_", "xavier_uniform_", "kaiming_uniform_", "normal_", "uniform_"):
        setattr(nn.init, name, lambda tensor, *_, **__: tensor)


# ---- xMem's table: transformers from a configuration, wikitext-2 cut to 128 tokens, three iterations and one more ----

XMEM_LENGTH = 128


def xmem_model(name):
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, GPT2Config, GPTNeoConfig, T5Config
    if name == "t5-small":
        return AutoModelForSeq2SeqLM.from_config(T5Config(decoder_start_token_id=0))
    return AutoModelForCausalLM.from_config({
        "distilgpt2": lambda: GPT2Config(n_layer=6),
        "cerebras-111m": lambda: GPT2Config(n_layer=10, n_inner=3072, n_positions=2048, activation_function="gelu",
                                            attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0),
        "gpt-neo": lambda: GPTNeoConfig(hidden_size=768, num_layers=12, num_heads=12,
                                        attention_types=[[["global", "local"], 6]]),
    }[name]())


def xmem_batch(batch):
    """One line of 128 tokens, the others half as long, so that there is padding as there was."""
    mask = torch.ones(batch, XMEM_LENGTH, dtype=torch.long)
    mask[1:, XMEM_LENGTH // 2:] = 0
    return {"input_ids": mask, "attention_mask": mask, "labels": mask}


def xmem(name, optimizer, batch, drops_before):
    """drops_before: what drops the gradients of the step before: 0 the step, 1 the backward pass, 2 the step's end."""
    leave_unset()
    model = xmem_model(name).train()
    optimizer = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3)
    model.to(CARD)
    for _ in range(4):
        if drops_before != "1":
            optimizer.zero_grad()
        inputs = {key: value.to(CARD) for key, value in xmem_batch(int(batch)).items()}
        outputs = model(**inputs)
        if drops_before == "1":
            optimizer.zero_grad()
        outputs.loss.backward()
        optimizer.step()


# ---- rasbt/pytorch-memory-optim: ViT-L/16 on images of 224 x 224 ----

class Images(torch.utils.data.Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.zeros(3, 224, 224), 0


def vit():
    from torchvision.models import vit_l_16
    return vit_l_16()


def accuracy(device):
    from torchmetrics import Accuracy
    return Accuracy(task="multiclass", num_classes=10).to(device)


KEPT = []                                            # what older_adam() makes, until the step ends


def older_adam():
    """Until the summer of 2023 Adam added epsilon out of place: one more copy of all weights until the step ends."""
    in_place = torch._foreach_add_

    def add(tensors, other, **options):
        if isinstance(other, float):
            KEPT[:] = torch._foreach_add(tensors, other)
        return in_place(tensors, other, **options)
    torch._foreach_add_ = add


def lightning_train(model, optimizer, backward, images, device, every=1, scheduler=None):
    """Six batches of training; `every` batches make a step (1: gradients are dropped before each backward pass)."""
    seen = accuracy(device)
    for i, (features, targets) in enumerate(images):
        model.train()
        features, targets = features.to(device), targets.to(device)
        logits = model(features)
        loss = nn.functional.cross_entropy(logits, targets) / every
        if every == 1:
            optimizer.zero_grad()
        backward(loss)
        if i % every == 0:
            optimizer.step()
            KEPT.clear()
            if scheduler:
                scheduler.step()
            if every > 1:
                optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            seen.update(torch.argmax(logits, 1), targets)


def lightning_check(model, images, device):
    seen = accuracy(device)
    with torch.no_grad():
        for features, targets in images:
            features, targets = features.to(device), targets.to(device)
            seen.update(torch.argmax(model(features), 1), targets)


def lightning(row, *options):
    leave_unset()
    if "older-adam" in options:
        older_adam()
    if row == "07-to-half":
        vit().to(CARD).to(torch.float16)
        return
    precision, batch, every = {"01": (None, 64, 1), "02": ("16-mixed", 64, 1), "03": ("bf16-true", 64, 1),
                               "04": ("bf16-true", 16, 1), "05": ("bf16-true", 4, 4), "06": ("bf16-true", 4, 4),
                               "07-init-module": ("16-true", 0, 1)}[row]
    sizes = 6 * batch, 2 * batch + 5000 % (batch or 1)
    images = [torch.utils.data.DataLoader(Images(n), batch_size=batch or 1) for n in sizes]
    backward, fabric = torch.Tensor.backward, None
    if precision:
        from lightning.fabric import Fabric
        fabric = Fabric(accelerator="cuda", devices=1, precision=precision)
        fabric.launch()
        backward = fabric.backward
    if row == "07-init-module":
        with fabric.init_module():
            vit()
        return
    if fabric:
        images = fabric.setup_dataloaders(*images)
    model, scheduler = vit(), None
    model.heads.head = nn.Linear(1024, 10)
    if not fabric or "moved-first" in options:       # then made half as wide on the card
        model.to(CARD)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-5)
    if row == "06":
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=11250)
    if fabric:
        model, optimizer = fabric.setup(model, optimizer)
    device = fabric.device if fabric else torch.device(CARD)
    lightning_train(model, optimizer, backward, images[0], device, every, scheduler)
    model.eval()
    lightning_check(model, images[1], device)


# ---- FakeGPU's matrix: the text model of Qwen3.5 in bf16, one sequence, AdamW without foreach ----

def qwen_config(size):
    from transformers import Qwen3_5TextConfig
    small = size == "0.8B"
    return Qwen3_5TextConfig(
        hidden_size=1024 if small else 2048, intermediate_size=3584 if small else 6144, num_hidden_layers=24,
        num_attention_heads=8, num_key_value_heads=2, head_dim=256, vocab_size=248320, tie_word_embeddings=True,
        linear_num_key_heads=16, linear_num_value_heads=16, linear_key_head_dim=128, linear_value_head_dim=128,
        linear_conv_kernel_dim=4)


def qwen(size, method, length, *options):
    from transformers import AutoModelForCausalLM
    leave_unset()
    length, n_parts = int(length), 2 if "two" in options else 1
    config = qwen_config(size)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation="sdpa")
    model.config.use_cache = False
    if method == "lora":
        from peft import LoraConfig, get_peft_model
        model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, lora_dropout=0.0, bias="none",
                                                 task_type="CAUSAL_LM", target_modules="all-linear"))
    if "checkpointed" in options:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if method == "lora":
            model.enable_input_require_grads()
    model.train()
    model.to(CARD)
    trained = [p for p in model.parameters() if p.requires_grad]
    print("qwen: %d trained parameters" % sum(p.numel() for p in trained), file=sys.stderr)
    batches = []
    for _ in range(n_parts):
        ids = torch.full((1, length), 100)
        labels = ids.clone()
        labels[:, :length // 2] = -100
        positions = torch.arange(length).view(1, 1, length).expand(3, 1, length).clone()
        batches.append({key: value.to(CARD) for key, value in
                        (("input_ids", ids), ("labels", labels), ("position_ids", positions))})
    optimizer = torch.optim.AdamW(trained, lr=1e-5, foreach=False)
    for i, batch in enumerate(batches):
        outputs = model(**batch, use_cache=False)
        loss = outputs.loss / n_parts
        loss.backward()
        loss.item()
        if i + 1 < n_parts:
            del outputs, loss
    optimizer.step()


# ---- running ----

def run(case):
    table, *arguments = case.split("/")
    refused, failed = False, ""
    try:
        {"xmem": xmem, "lightning": lightning, "qwen": qwen}[table](*arguments)
    except torch.cuda.OutOfMemoryError:
        refused = True
    except Exception as error:
        traceback.print_exc()
        failed = "%s: %s" % (type(error).__name__, error)
    print(json.dumps({"case": case, "allocated": torch.cuda.max_memory_allocated(),
                      "reserved": torch.cuda.max_memory_reserved(), "refused": refused, "failed": failed}), flush=True)


def main():
    for case in sys.argv[1:]:
        child = os.fork()
        if child == 0:
            run(case)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
