from caltest import _jit


def test_loops_compile_where_nothing_can_be_cached(monkeypatch):
    """Numba refuses to cache where neither the package's nor the user's folder can be written to."""

    def refuse(*, cache=False, **settings):
        if cache:
            raise RuntimeError("cannot cache function")
        return lambda function: lambda *arguments: ("compiled", function(*arguments))

    monkeypatch.setattr(_jit, "njit", refuse)
    assert _jit.jit(lambda x: x + 1)(1) == ("compiled", 2)
