"""`tiedlm generate`: a sample, for the eye."""

from typing import Annotated

import typer

from . import options
from .help import examples
from .output import print_json, print_text

app = options.new_app()


@app.command(epilog=examples("generate runs/quickstart/tied/seed-0 --prompt The"))
def generate(
    run: options.RunFolder,
    prompt: Annotated[str, typer.Option("--prompt", metavar="TEXT", help="What the text begins with.")] = "",
    num_tokens: Annotated[int, typer.Option("--num-tokens", min=1, help="How many tokens to add.")] = 100,
    temperature: Annotated[
        float, typer.Option("--temperature", min=0.0, help="0 takes the likeliest token each time.")
    ] = 0.8,
    top_k: Annotated[int | None, typer.Option("--top-k", min=1, help="Draw from the likeliest K alone.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="The same seed, the same text.")] = 0,
    cache_dir: options.CacheDir = None,
    device: options.Device = None,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Continue a text with a trained model."""
    from tiedlm.run.reopen import generate_text
    from tiedlm.talk import Talk

    text = generate_text(
        run,
        prompt,
        num_tokens=num_tokens,
        temperature=temperature,
        top_k=top_k,
        seed=seed,
        cache_dir=options.cache_folder(cache_dir),
        device=device,
        talk=Talk(),
    )
    if as_json:
        print_json({"run": str(run), "prompt": prompt, "text": text})
    else:
        print_text(f"{prompt}{text}")
