"""How long the backend of torch.compile takes in a process whose cache is empty, and in later ones.

    python tools/bench/cache_speed.py gpt2|resnet18 [PROCESSES]

A line for each process: what is spent in the backend for all graphs, forward and backward (not in Dynamo and AOTAutograd), by the clock and
in CPU time of all threads, and of it in compiling texts or finding them in the cache. Needs transformers for gpt2 and torchvision for resnet18.
"""

import os
import subprocess
import sys
import tempfile
import time


def gpt2():
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        n_layer=4, n_embd=128, n_head=4, vocab_size=1000, n_positions=128, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    x = torch.randint(0, 1000, (2, 64))
    return lambda: model(x, labels=x).loss


def resnet18():
    import torch
    import torchvision

    model = torchvision.models.resnet18().train()
    x = torch.randn(2, 3, 64, 64)
    return lambda: model(x).sum()


MODELS = {"gpt2": gpt2, "resnet18": resnet18}


def measured(owner, name):
    """Puts a function that keeps count in the place of one of a module; gives its times: by the clock, of the CPU."""
    inner, times = getattr(owner, name), [0.0, 0.0]

    def outer(*args, **kwargs):
        start = time.perf_counter(), time.process_time()
        try:
            return inner(*args, **kwargs)
        finally:
            times[0] += time.perf_counter() - start[0]
            times[1] += time.process_time() - start[1]

    setattr(owner, name, outer)
    return times


def child(name):
    import torch
    from rinductor import backend

    whole, texts = measured(backend, "compile_graph"), measured(backend, "compiled")
    torch.manual_seed(0)
    loss = torch.compile(MODELS[name](), backend="rinductor")()
    loss.backward()
    print(
        f"{name}: backend {whole[0] * 1e3:.0f} ms (CPU {whole[1] * 1e3:.0f} ms), "
        f"of it texts {texts[0] * 1e3:.0f} ms (CPU {texts[1] * 1e3:.0f} ms); loss {loss.item():.6f}",
        flush=True,
    )


def main():
    if sys.argv[1] == "--child":
        return child(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"RINDUCTOR_CACHE_DIR": os.path.join(folder, "cache"), "RINDUCTOR_CACHE": "1"}
        for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 3):
            subprocess.run([sys.executable, __file__, "--child", sys.argv[1]], env=env, check=True)


if __name__ == "__main__":
    main()
