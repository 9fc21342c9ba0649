from training.folds import fold_of


def test_a_site_is_always_in_the_same_fold() -> None:
    assert fold_of("site.test", 5) == fold_of("site.test", 5)


def test_all_folds_get_sites() -> None:
    assert {fold_of(f"site-{number}.test", 5) for number in range(100)} == set(range(5))
