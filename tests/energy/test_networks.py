import energy_checks as checks
import pytest
import torch

from iifl.energy import EnergyEnsemble, EnergyNetwork, gradient_penalty, info_nce, networks

KINDS = ["mlp", "residual"]


def ensemble(kind: str = "mlp", *, members: int = 3, spectral: bool = True, seed: int = 0) -> EnergyEnsemble:
    network = EnergyNetwork(width=16, depth=3, kind=kind, spectral_norm=spectral)  # type: ignore[arg-type]
    made = EnergyEnsemble(members, 4, 2, network, checks.seeded(seed))
    with torch.no_grad():
        for bias in made.biases:  # so that a forgotten bias shows
            bias.normal_(generator=checks.seeded(seed + 1))
    return made


def batch(*shape: int, seed: int = 5) -> torch.Tensor:
    return torch.randn(shape, generator=checks.seeded(seed))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spectral", [True, False])
def test_members_are_single_networks(kind: str, spectral: bool) -> None:
    """Each member alone, written with plain matrix products on [s, a], gives the ensemble's energies."""
    together = ensemble(kind, spectral=spectral).double().eval()
    states, actions = batch(5, 4).double(), batch(3, 5, 7, 2).double()
    energies = together.at(states)(actions)
    for member in range(3):
        hidden = torch.cat([states.unsqueeze(1).expand(-1, 7, -1), actions[member]], dim=-1)
        for layer, (weight, bias) in enumerate(zip(together.weights[:-1], together.biases[:-1], strict=True)):
            matrix = weight[member]
            if spectral:
                norm = together.norms[layer]
                matrix = matrix / (norm.left[member].T @ matrix @ norm.right[member])
            product = (hidden if layer == 0 else hidden.relu()) @ matrix + bias[member]
            hidden = product + hidden if kind == "residual" and layer > 0 else product
        alone = (hidden.relu() @ together.weights[-1][member] + together.biases[-1][member]).squeeze(-1)
        torch.testing.assert_close(energies[member], alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_is_autograds(kind: str) -> None:
    energy = ensemble(kind).double().eval().at(batch(5, 4).double())
    actions = batch(3, 5, 7, 2).double().requires_grad_()
    energies = energy(actions)
    (expected,) = torch.autograd.grad(energies.sum(), actions)
    own_energies, own_gradients = energy.value_and_grad(actions)
    torch.testing.assert_close(own_energies, energies)
    torch.testing.assert_close(own_gradients, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_penalty_trains_the_weights(kind: str) -> None:
    """The written-out gradient is itself differentiable: the same as differentiating autograd's gradient again."""
    model = ensemble(kind).double().eval()
    states, actions = batch(5, 4).double(), batch(3, 5, 7, 2).double().requires_grad_()
    own = gradient_penalty(model.at(states).value_and_grad(actions)[1], margin=0.01).sum()
    (gradients,) = torch.autograd.grad(model.at(states)(actions).sum(), actions, create_graph=True)
    double_backward = gradient_penalty(gradients, margin=0.01).sum()
    for ours, theirs in zip(
        torch.autograd.grad(own, list(model.weights)),
        torch.autograd.grad(double_backward, list(model.weights)),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


def test_shared_and_separate_states_and_actions_agree() -> None:
    model = ensemble().eval()
    states, actions = batch(5, 4), batch(5, 7, 2)
    expected = model.at(states.expand(3, 5, 4))(actions.expand(3, 5, 7, 2))
    assert torch.equal(model.at(states)(actions), expected)
    assert torch.equal(model.at(states)(actions.unsqueeze(0)), expected)


def test_each_member_sees_its_own_states() -> None:
    model = ensemble().eval()
    states, actions = batch(3, 5, 4), batch(5, 7, 2)
    energies = model.at(states)(actions)
    for member in range(3):
        torch.testing.assert_close(energies[member], model.at(states[member])(actions)[member])


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    energy = ensemble().double().eval().at(batch(5, 4).double())
    actions = batch(3, 5, 7, 2).double()
    whole = energy.value_and_grad(actions)
    monkeypatch.setattr(networks, "ROWS_PER_CHUNK", 1)
    with torch.no_grad():
        chunked = energy.value_and_grad(actions)
    for one, other in zip(whole, chunked, strict=True):
        torch.testing.assert_close(one, other)


def test_bfloat16_is_near_float32_and_gives_float32() -> None:
    model, states, actions = ensemble().eval(), batch(5, 4), batch(3, 5, 7, 2)
    energies, gradients = model.at(states).value_and_grad(actions)
    low, low_gradients = model.at(states, torch.bfloat16).value_and_grad(actions)
    assert low.dtype == low_gradients.dtype == torch.float32
    torch.testing.assert_close(low, energies, atol=0.05, rtol=0.05)
    assert (low_gradients - gradients).abs().median() < 0.01


def largest_singular_values(model: EnergyEnsemble) -> list[float]:
    with torch.no_grad():
        normed = [norm(weight) for norm, weight in zip(model.norms, model.weights[:-1], strict=True)]
    return [float(value) for matrices in normed for value in torch.linalg.svdvals(matrices)[:, 0]]


def test_largest_singular_values_are_one_and_stay_one_in_training() -> None:
    model = ensemble()
    assert largest_singular_values(model.eval()) == pytest.approx([1.0] * 9, abs=0.01)
    model.train()
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-4)
    states, actions = batch(8, 4), batch(8, 5, 2)
    for _ in range(40):
        energies = model.at(states)(actions)
        loss = info_nce(energies[..., 0], energies[..., 1:]).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert largest_singular_values(model.eval()) == pytest.approx([1.0] * 9, abs=0.01)


def test_evaluation_leaves_the_state_alone_and_the_state_is_all_there_is() -> None:
    model, other = ensemble(seed=0), ensemble(seed=7)
    model.at(batch(5, 4))  # training mode: the power iteration moves on
    other.load_state_dict(model.state_dict())
    model.eval(), other.eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    states, actions = batch(5, 4), batch(3, 5, 7, 2)
    assert torch.equal(model.at(states)(actions), other.at(states)(actions))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_bad_input_is_refused() -> None:
    model = ensemble()
    with pytest.raises(ValueError, match="states must be"):
        model.at(batch(5, 3))
    with pytest.raises(ValueError, match="actions must be"):
        model.at(batch(5, 4))(batch(5, 7, 3))
    with pytest.raises(ValueError, match="width and depth"):
        EnergyNetwork(width=0)
    with pytest.raises(ValueError, match="unknown kind"):
        EnergyNetwork(kind="cnn")  # type: ignore[arg-type]


def test_one_member_alone_has_its_own_energies_and_gradients() -> None:
    energy, actions = ensemble().eval().at(batch(5, 4)), batch(3, 5, 7, 2)
    alone, together = energy.only(1).value_and_grad(actions[1:2]), energy.value_and_grad(actions)
    for one, all_of_them in zip(alone, together, strict=True):
        torch.testing.assert_close(one, all_of_them[1:2])
