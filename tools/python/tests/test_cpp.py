"""`options={"rinductor.cpu": "cpp"}`: kernels for the CPU through the C++ compiler, with the numbers that LLVM gives."""

import pytest

torch = pytest.importorskip("torch")


def softmax(x):
    return (x.sin() + 1).softmax(-1)


def test_the_numbers_are_those_of_llvm():
    x = torch.randn(64, 1000)
    results = []
    for cpu in ("llvm", "cpp"):
        torch._dynamo.reset()
        options = {"rinductor.cpu": cpu, "rinductor.strict": True}
        results.append(torch.compile(softmax, backend="rinductor", options=options)(x))
    assert torch.equal(*results)
    torch.testing.assert_close(results[0], softmax(x))


def test_another_name_is_an_error():
    torch._dynamo.reset()
    with pytest.raises(Exception, match="rinductor.cpu is llvm or cpp"):
        torch.compile(softmax, backend="rinductor", options={"rinductor.cpu": "fortran"})(torch.ones(2, 3))
