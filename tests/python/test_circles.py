"""Checks that `tools/circles` finds the dependency cycles of a crate."""

from of_tools import load

CIRCLES = load("circles")


def test_a_dependency_cycle_is_found(tmp_path):
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\npub use a::{A, make};\n")
    (tmp_path / "a.rs").write_text("use super::b::B;\npub struct A(B);\npub fn make() {}\n")
    (tmp_path / "b.rs").write_text('table! {\n    /// Rows.\n    B of Row as "b" {}\n}\nfn of() { crate::make(); }\n')
    crate = CIRCLES.Crate(tmp_path)
    assert [sorted(circle) for circle in crate.circles()] == [["a.rs", "b.rs"]]
    assert CIRCLES.cycles(crate.folders()) == [{"a", "b"}]
