"""Two processes with gloo: collectives in a graph, DDP, FSDP2."""

import os
import socket
import unittest

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def start(rank, port, body):
    """One of the processes."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
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


class Distributed(unittest.TestCase):
    def two(self, body):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        mp.spawn(start, (port, body), nprocs=2)

    def test_collectives(self):
        self.two(collectives)

    def test_ddp(self):
        self.two(ddp)

    def test_fsdp2(self):
        self.two(fsdp)


if __name__ == "__main__":
    unittest.main()
