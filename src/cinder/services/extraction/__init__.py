"""The extraction pipeline: recipes, rules and a language model, each value with its proof."""
