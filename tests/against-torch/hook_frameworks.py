# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What tests/against-torch/hook runs on the simulated card: each framework's own training loop, out of memory.

    hook_frameworks.py lightning|transformers|torchtnt
"""
import sys

import torch
import torch.nn as nn

from vramreplay import oom_hook



class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return {"x": torch.zeros(1 << 20, 64)}


def lightning():
    import lightning.pytorch as pl
    from vramreplay.lightning import OomCallback

    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(64, 64)

        def training_step(self, batch, i):
            return self.layer(batch["x"]).square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    callback = OomCallback()
    trainer = pl.Trainer(accelerator="cuda", devices=1, max_epochs=1, callbacks=[callback], logger=False,
                         enable_checkpointing=False, enable_progress_bar=False)
    try:
        trainer.fit(Model(), torch.utils.data.DataLoader(Rows(), batch_size=1))
    finally:
        callback.teardown(trainer, None, "fit")


def transformers():
    from transformers import Trainer, TrainingArguments
    from vramreplay.transformers import OomCallback

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(64, 64)

        def forward(self, x, **others):
            return {"loss": self.layer(x).square().mean()}

    callback = OomCallback()
    arguments = TrainingArguments("there", per_device_train_batch_size=1, max_steps=1, report_to=[], save_strategy="no")
    try:
        Trainer(model=Model(), args=arguments, train_dataset=Rows(), callbacks=[callback]).train()
    finally:
        callback.on_train_end(None, None, None)


def torchtnt():
    """Its place in a program: where torchtnt.utils.oom.attach_oom_observer would stand."""
    oom_hook.attach_oom_observer(output_dir="there", trace_max_entries=1000)
    try:
        nn.Linear(64, 64).cuda()(torch.zeros(1 << 20, 64).cuda())
    finally:
        oom_hook.disable()


if __name__ == "__main__":
    try:
        globals()[sys.argv[1]]()
    except torch.OutOfMemoryError as error:
        print(f"notes: {len(oom_hook.notes(error))}, enabled: {oom_hook.is_enabled()}")
