"""Notebooks as pages of the site, with the outputs that are stored in them; and their execution.

    python docs/_site/notebooks.py docs/notebooks/*.ipynb

runs notebooks afresh and stores what they print and draw. Cells that start with `%%writefile FILE` or `%%bash` are
shown as that file or as shell commands. A cell that draws describes its figure in its metadata, under "alt".
"""

from __future__ import annotations

import html
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File


class NotebookPage(File):
    """A notebook that links name by its own file, and whose content is Markdown."""

    def is_documentation_page(self) -> bool:
        """Whether mkdocs renders the file, which it asks of the name's ending otherwise."""
        return True


def on_files(files: Any, *, config: Any) -> None:
    """Each notebook becomes a page, with the notebook itself beside it. mkdocs calls this by its name."""
    for file in [one for one in files if one.src_uri.endswith(".ipynb")]:
        text = Path(file.abs_src_path).read_text(encoding="utf-8")
        files.remove(file)
        page = f"{as_markdown(json.loads(text))}\n\n[This notebook](files/{file.name}.ipynb) runs in Jupyter.\n"
        files.append(NotebookPage.generated(config, file.src_uri, content=page))
        files.append(File.generated(config, f"notebooks/files/{file.name}.ipynb", content=text))


def as_markdown(notebook: dict[str, Any]) -> str:
    """Text, code and outputs, in order."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts += [_code(source), *(_output(one, cell["metadata"].get("alt", "")) for one in cell["outputs"])]
    return "\n\n".join(part for part in parts if part)


def _code(source: str) -> str:
    magic, _, body = source.partition("\n")
    if magic.startswith("%%writefile "):
        return f'```python title="{magic.split()[1]}"\n{body}\n```'
    return f"```bash\n{body}\n```" if magic.startswith("%%bash") else f"```python\n{source}\n```"


def _output(output: dict[str, Any], alt: str) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        picture = f"data:image/png;base64,{data['image/png'].strip()}"
        return f'<p><img class="figure" alt="{html.escape(alt)}" src="{picture}"></p>'
    text = "".join(output.get("text", data.get("text/plain", "")))
    return "" if text.startswith("Writing ") else f'<pre class="output">{html.escape(text.rstrip())}</pre>'


def executed(paths: Sequence[Path]) -> list[Any]:
    """The notebooks with new outputs, by one kernel of this Python: each in a folder and a namespace of its own."""
    import nbformat
    from nbclient import NotebookClient

    notebooks = [nbformat.read(path, as_version=4) for path in paths]
    with tempfile.TemporaryDirectory() as folder:
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": programs, "NO_COLOR": "1", "IPYTHONDIR": folder}
        client = NotebookClient(
            nbformat.v4.new_notebook(),
            resources={"metadata": {"path": folder}},
            extra_arguments=["--log-level=ERROR"],
            coalesce_streams=True,
            timeout=300,
        )
        with client.setup_kernel(env=environment):
            for path, notebook in zip(paths, notebooks, strict=True):
                own = Path(folder) / path.stem
                own.mkdir()
                client.nb = notebook
                client.reset_execution_trackers()
                notebook.cells.insert(0, nbformat.v4.new_code_cell(f"import os\nos.chdir({str(own)!r})\n%reset -f"))
                for place, cell in enumerate(notebook.cells):
                    client.execute_cell(cell, place, execution_count=max(1, client.code_cells_executed))
                del notebook.cells[0]
    return [_tidied(notebook) for notebook in notebooks]


def _tidied(notebook: Any) -> Any:
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            output.pop("metadata", None) if output.output_type == "stream" else output.metadata.clear()
    return notebook


def printed(notebook: Any) -> list[str]:
    """What each cell of code prints and returns, with the kinds of its outputs; the bytes of figures left out."""
    found = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            kinds = sorted(data) or [output.get("name", output["output_type"])]
            found.append(f"{kinds}: " + "".join(output.get("text", data.get("text/plain", ""))))
    return found


if __name__ == "__main__":
    import nbformat

    for name, notebook in zip(sys.argv[1:], executed(list(map(Path, sys.argv[1:]))), strict=True):
        nbformat.write(notebook, name)
