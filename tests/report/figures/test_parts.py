"""What recipes or budgets have in common, in words and as tables."""

import pytest

from tests.support.parts_documents import RECIPES, SCALE, budgets_comparison, recipes_comparison
from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.report.figures.parts import (
    conditions_of_parts,
    seeds_listed,
    settings_in_words,
    settings_sentences,
    variant_names,
    verdicts_of_part,
    warnings_of_parts,
)
from tiedlm.report.figures.parts_sentences import sentences_together
from tiedlm.report.figures.parts_tables import across_table, best_table, glance_tables, trend_table


def with_across(**changes: object) -> PartsComparison:
    """Recipes whose words across them have been changed."""
    document = recipes_comparison()
    assert document.recipes is not None
    across = [each.model_copy(update=changes) for each in document.recipes.across]
    return document.model_copy(update={"recipes": document.recipes.model_copy(update={"across": across})})


def test_settings_are_written_as_a_config_has_them() -> None:
    settings = {"a": 3e-4, "b": None, "c": True, "d": "sqrt_dim", "e": [0.9, 0.95], "f": 2_000}
    assert settings_in_words(settings) == "a = 0.0003, b = null, c = true, d = sqrt_dim, e = [0.9, 0.95], f = 2000"
    assert settings_in_words({}) == "nothing"
    assert next(settings_sentences(recipes_comparison())) == "plain changes nothing."


@pytest.mark.parametrize(
    ("seeds", "words"), [([], "no seed"), ([3], "seed 3"), ([1, 2], "seeds 1, 2"), (range(9), "9 seeds")]
)
def test_a_few_seeds_are_named_and_many_counted(seeds: list[int], words: str) -> None:
    assert seeds_listed(seeds) == words


def test_conditions_are_those_of_all_parts_together() -> None:
    assert conditions_of_parts(budgets_comparison()) == (
        "On WikiText-103 (wikitext-103-v1); V=32,000, D=768, 50M and 100M and 200M and 400M tokens, fp32, 4 seeds"
    )
    assert conditions_of_parts(recipes_comparison({"new": (None, {})})) == ""


def test_a_warning_names_its_recipes_where_it_is_not_true_of_all() -> None:
    assert warnings_of_parts(recipes_comparison()) == []
    document = recipes_comparison({"plain": (-0.03, {}), "hopeless": (8.0, {})}, ("untied-too",))
    failing = document.parts[1].comparison
    assert failing is not None
    splits = failing.variants[0].splits
    worse = splits["test"].model_copy(update={"unigram_perplexity": 1.0})
    variants = [each.model_copy(update={"splits": splits | {"test": worse}}) for each in failing.variants]
    hopeless = document.parts[1].model_copy(update={"comparison": failing.model_copy(update={"variants": variants})})
    (said,) = warnings_of_parts(document.model_copy(update={"parts": [document.parts[0], hopeless]}))
    assert said.startswith("hopeless: No variant does better than token frequencies alone")
    (of_all,) = warnings_of_parts(document.model_copy(update={"parts": [hopeless]}))
    assert of_all.startswith("No variant does better")


def test_variants_keep_the_order_of_the_tables_of_each_part() -> None:
    assert variant_names(recipes_comparison(variants=("tied", "soft"))) == ["tied", "soft", "untied"]
    assert variant_names(recipes_comparison({"new": (None, {})})) == ["tied", "untied"]


def test_one_compared_variant_has_one_table_and_several_have_one_each() -> None:
    (table,) = glance_tables(recipes_comparison())
    assert (table.names, table.corner) == (tuple(RECIPES), "recipe")
    assert [row.label for row in table.rows] == ["tied, test ppl", "untied, test ppl", "tied - untied", "verdict"]
    titles = [each.title for each in glance_tables(recipes_comparison(variants=("tied", "soft")))]
    assert titles == ["", "tied against untied", "soft against untied"]


def test_budgets_are_named_by_their_tokens_and_their_length() -> None:
    (table,) = glance_tables(budgets_comparison())
    assert (table.names[0], table.corner) == ("50M (×0.5)", "tokens")


def test_the_sign_that_turns_without_a_key_is_said_so() -> None:
    said = list(sentences_together(with_across(turned_by=[])))
    assert "The sign of tied turns with the recipe; no key alone tells such recipes apart." in said
    assert not [each for each in sentences_together(with_across(turned_by=[], sign_turns=False)) if "turns" in each]


def test_what_the_verdict_says_with_its_numbers_is_not_said_again() -> None:
    document = recipes_comparison()
    verdict = (
        "the mean difference is -0.0095, and another recipe would show -0.0844 to +0.0654; tied under plain is better "
        f"by 0.0210 (95 % interval -0.0239 to -0.0181); the sign turns with {SCALE}"
    )
    assert list(sentences_together(document.model_copy(update={"verdict": verdict}))) == []
    without_best = verdict.replace("0.0210", "0.0211")
    (said,) = sentences_together(document.model_copy(update={"verdict": without_best}))
    assert said.startswith("Best against best: ")


def test_a_recipe_that_could_not_be_chosen_has_its_reason() -> None:
    document = recipes_comparison()
    assert document.recipes is not None
    (best,) = document.recipes.best_against_best
    none = {"recipe": None, "baseline_recipe": None, "mean": None, "ci95_seeds": None, "absent": {"mean": "one seed"}}
    recipes = document.recipes.model_copy(update={"best_against_best": [best.model_copy(update=none)]})
    changed = document.model_copy(update={"recipes": recipes})
    assert list(sentences_together(changed))[-1].startswith(
        "Best against best: tied under none, untied under none: cannot tell, one seed ("
    )
    assert "its recipe, recipe of untied, difference: none, one seed." in list(best_table(changed).reasons())


def test_a_missing_prediction_has_its_reason_of_its_own() -> None:
    few = {"prediction95": "two recipes are too few for one"}
    said = next(iter(sentences_together(with_across(prediction95=None, absent=few))))
    assert "[-0.0378, +0.0188]; one more recipe: no interval, two recipes are too few for one; below 0" in said
    table = across_table(with_across(prediction95=None, absent=few))
    assert "under one more recipe: none, two recipes are too few for one." in list(table.reasons())


def test_nothing_across_is_said_with_its_reason() -> None:
    nothing = with_across(mean=None, ci95=None, prediction95=None, recipes=0, absent={"mean": "nothing is paired"})
    assert next(iter(sentences_together(nothing))) == "Across 0 recipes: cannot tell, nothing is paired."


def test_seeds_that_would_tell_stand_beside_best_against_best() -> None:
    document = recipes_comparison()
    assert document.recipes is not None
    (best,) = document.recipes.best_against_best
    unsure = best.model_copy(update={"verdict": "cannot_tell", "seeds_needed": (12, 40)})
    recipes = document.recipes.model_copy(update={"best_against_best": [unsure]})
    changed = document.model_copy(update={"recipes": recipes})
    assert list(sentences_together(changed))[-1].endswith("judged by seeds 1, 2, 3; 12 to 40 seeds would tell).")
    assert best_table(changed).rows[-2].cells == ("12 to 40",)


def test_a_trend_of_one_seed_has_no_interval_and_says_why() -> None:
    document = budgets_comparison(num_seeds=1)
    (said,) = sentences_together(document)
    assert "(no interval, one seed has no spread)" in said and "cannot tell whether the difference changes" in said
    assert "change for each doubling: no interval, one seed has no spread." in list(trend_table(document).reasons())


def test_the_verdicts_of_a_part_stand_in_its_title() -> None:
    document = recipes_comparison(RECIPES | {"new": (None, {})}, ("tied", "soft"))
    assert verdicts_of_part(document.parts[0]) == "tied better, soft better"
    assert verdicts_of_part(document.parts[-1]) == "nothing to compare yet"
