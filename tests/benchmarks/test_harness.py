# Copyright 2025 Individual Contributor: the genenv_verl authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""The shared prompt, and how it is made to fit."""

import pytest

from genenv_verl.benchmarks.harness import MIN_RESULT_CHARS, Harness, estimate_tokens
from genenv_verl.tasks.schema import Context, FunctionSpec, Message, ToolSpec

TOOLS = [ToolSpec(function=FunctionSpec(name=name, description=f"Does {name}.")) for name in ("find", "book")]


def context(*results: str, goal="Book it.") -> Context:
    history = [Message(role="user", content="Find a room."), Message(role="assistant", content="I look.")]
    history += [Message(role="tool", content=result) for result in results]
    return Context(system="Be brief.", tools=TOOLS, constraints=["Under 90 €."], history=history, goal=goal)


def test_the_unified_prompt():
    system, user = Harness().messages(context("{'rooms': 2}"))
    assert (system.role, user.role) == ("system", "user")
    assert "Be brief." in system.content
    assert system.content.index("1. Name: find\nDescription: Does find.") < system.content.index("2. Name: book")
    for tag in ("<think>", "<tool_call>\n{", "</tool_call>", "<response>"):
        assert tag in system.content
    assert user.content == (
        "# Dialogue so far\n<user> Find a room. </user>\n<response> I look. </response>\n<obs> {'rooms': 2} </obs>\n\n"
        "# Constraints\n- Under 90 €.\n\n<user> Book it. </user>"
    )


def test_without_tools_nothing_speaks_of_calls():
    system, user = Harness().messages(Context(goal="Who?"))
    assert "tool" not in system.content
    assert user.content == "<user> Who? </user>"


def test_earlier_calls_keep_their_form():
    call = '<tool_call>\n{"name": "find", "parameters": {}}\n</tool_call>'
    history = [Message(role="assistant", content=call)]
    assert call in Harness().messages(Context(tools=TOOLS, history=history, goal="g"))[1].content


def test_a_budget_cuts_the_longest_results_and_nothing_else():
    long, short = "x" * 60_000, "y" * 400
    whole = context(long, short, goal="g" * 900)
    messages = Harness(max_tokens=3_000, response_tokens=500).messages(whole)
    harness = Harness(max_tokens=3_000, response_tokens=500)
    assert harness.fits(messages)
    text = messages[1].content
    assert short in text and "g" * 900 in text and "more characters]" in text
    assert messages[0] == Harness().messages(context("", goal="g"))[0], "system text and tools are never cut"
    one_more = sum(estimate_tokens(message.content) for message in messages) + 3
    assert one_more > 2_500, "no more is cut than has to be"
    assert whole.history[2].content == long, "the context itself stays"


def test_what_cannot_fit_is_told():
    harness = Harness(max_tokens=600, response_tokens=100)
    messages = harness.messages(context("x" * 5_000, goal="g" * 3_000))
    assert not harness.fits(messages)
    assert "x" * MIN_RESULT_CHARS in messages[1].content


def test_a_prompt_that_fits_is_whole_and_a_counter_of_the_model_is_used():
    assert "more characters" not in Harness().messages(context("x" * 3_000))[1].content
    harness = Harness(count_tokens=lambda text: 100 * len(text), max_tokens=400_000)
    assert "more characters" in harness.messages(context("x" * 3_000))[1].content


def test_another_style_gets_the_cut_context():
    def last_result(context: Context) -> list[Message]:
        return [Message(role="user", content=context.history[-1].content)]

    messages = Harness(style=last_result, max_tokens=1_500).messages(context("z" * 9_000))
    assert MIN_RESULT_CHARS < len(messages[0].content) < 1_500


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abc", 1), ("abcd", 2), ("12", 2), ("a1", 2), ("é", 1), ("\ud800", 1)]
)
def test_the_estimate(text, tokens):
    assert estimate_tokens(text) == tokens
