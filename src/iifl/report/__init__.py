"""Result folders → tables, figures and one HTML page. Reads files only; every experiment writes the same small format.

A result folder holds

- `summary.json`: the tidy rows (`results.Row`), written with `results.write_summary`;
- `report.json`: what the numbers mean (`story.Story`: metrics, the paper's numbers, claims, settings), optional;
- figures as SVG or PNG (`figures.save_figure` writes both), optional;
- `curves.parquet`: metrics over time (`curves.write_curves`), optional;
- `manifest.json`: versions and the state of the source, optional.
"""
