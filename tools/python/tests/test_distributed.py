"""Two processes with gloo: collectives in a graph, DDP, FSDP2; DDP of a small language model with gloo, and with NCCL on two GPUs."""

import os
import socket
import unittest

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def start(rank, port, body, library="gloo"):
    """One of the processes."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    if library == "nccl":
        torch.cuda.set_device(rank)
    dist.init_process_group(library, rank=rank, world_size=2)
    try:
        body(rank)
    finally:
        dist.destroy_process_group()


def collectives(rank):
    import torch.distributed._functional_collectives as funcol

    def f(x):
        y = funcol.all_reduce(x * 2, "sum", dist.group.WORLD)
        return y.relu() + 1, funcol.all_gather_tensor(x, 0, dist.group.WORLD)

    x = torch.arange(4.0) + rank
    a, b = torch.compile(f, backend="rinductor", fullgraph=True)(x)
    assert a.tolist() == [3.0, 7.0, 11.0, 15.0], a
    assert b.tolist() == [0.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 4.0], b


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))


def train(model, step, rank, steps=5):
    """Losses of some steps on each process's own data."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    data = torch.Generator().manual_seed(rank)
    losses = []
    for _ in range(steps):
        loss = step(torch.randn(6, 8, generator=data)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def ddp(rank):
    plain, ours = net(), net()
    wrap = torch.nn.parallel.DistributedDataParallel
    want = train(*(lambda m: (m, m))(wrap(plain)), rank)
    model = wrap(ours)
    got = train(model, torch.compile(model, backend="rinductor"), rank)
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
    for p, q in zip(plain.parameters(), ours.parameters()):
        torch.testing.assert_close(q, p)


def fsdp(rank):
    from torch.distributed.fsdp import fully_shard

    def sharded():
        model = net()
        mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
        for layer in (model[0], model[2]):
            fully_shard(layer, mesh=mesh)
        return fully_shard(model, mesh=mesh)

    plain, ours = sharded(), sharded()
    want = train(plain, plain, rank)
    got = train(ours, torch.compile(ours, backend="rinductor"), rank)
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
    for p, q in zip(plain.parameters(), ours.parameters()):
        torch.testing.assert_close(q.to_local(), p.to_local())


class Words(torch.nn.Module):
    """A language model of two layers, made like GPT-2."""

    def __init__(self, words=96, width=32, heads=4, length=16):
        super().__init__()
        torch.manual_seed(0)
        self.heads = heads
        self.words, self.places = torch.nn.Embedding(words, width), torch.nn.Embedding(length, width)
        self.layers = torch.nn.ModuleList()
        for _ in range(2):
            sizes = {"qkv": (width, 3 * width), "out": (width, width), "up": (width, 4 * width), "down": (4 * width, width)}
            parts = {name: torch.nn.Linear(*size) for name, size in sizes.items()}
            self.layers.append(torch.nn.ModuleDict({**parts, "norm1": torch.nn.LayerNorm(width), "norm2": torch.nn.LayerNorm(width)}))

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        b, t, c = x.shape
        for layer in self.layers:
            q, k, v = layer["qkv"](layer["norm1"](x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + layer["out"](y.transpose(1, 2).reshape(b, t, c))
            x = x + layer["down"](torch.nn.functional.gelu(layer["up"](layer["norm2"](x))))
        logits = x @ self.words.weight.t()
        return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def language_model(rank):
    """20 steps of DDP, compiled and not, on each process's own words."""
    device = f"cuda:{rank}" if dist.get_backend() == "nccl" else "cpu"
    losses, models = [], []
    for compiled in (False, True):
        model = Words().to(device)
        wrapped = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank] if device != "cpu" else None)
        run = torch.compile(wrapped, backend="rinductor") if compiled else wrapped
        optimizer = torch.optim.SGD(model.parameters(), 0.05)
        data = torch.Generator().manual_seed(rank)
        losses.append([])
        for _ in range(20):
            loss = run(torch.randint(96, (4, 16), generator=data).to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
        models.append(model)
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-4, atol=1e-5)
    for p, q in zip(models[0].parameters(), models[1].parameters()):
        torch.testing.assert_close(q, p, rtol=1e-3, atol=1e-4)


class Distributed(unittest.TestCase):
    def two(self, body, library="gloo"):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        mp.spawn(start, (port, body, library), nprocs=2)

    def test_ddp_of_a_language_model(self):
        self.two(language_model)

    @unittest.skipUnless(torch.cuda.device_count() >= 2, f"NCCL between two GPUs: PyTorch finds {torch.cuda.device_count()}")
    def test_ddp_of_a_language_model_on_gpus(self):
        self.two(language_model, "nccl")

    def test_collectives(self):
        self.two(collectives)

    def test_ddp(self):
        self.two(ddp)

    def test_fsdp2(self):
        self.two(fsdp)


if __name__ == "__main__":
    unittest.main()
