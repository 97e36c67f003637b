"""`ldp-audit completion SHELL`: a script that completes commands and options, made by shtab from the parser itself."""

from __future__ import annotations

import argparse

from ldp_audit.cli.command_line import command_parser

SHELLS = ("bash", "zsh", "tcsh", "fish")

HOW = """put it where the shell reads it:
  bash   ldp-audit completion bash > ~/.local/share/bash-completion/completions/ldp-audit
  zsh    ldp-audit completion zsh > a folder of $fpath, as _ldp-audit
  tcsh   ldp-audit completion tcsh >> ~/.tcshrc
  fish   ldp-audit completion fish > ~/.config/fish/completions/ldp-audit.fish"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shell; nothing else."""
    parser.add_argument("shell", choices=SHELLS, help="whose script to print")
    parser.epilog, parser.formatter_class = HOW, argparse.RawDescriptionHelpFormatter


def run(options: argparse.Namespace) -> int:
    """Print the script; 0."""
    print(script(command_parser(), options.shell))
    return 0


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for this shell."""
    import shtab

    return shtab.complete(parser, shell=shell)
