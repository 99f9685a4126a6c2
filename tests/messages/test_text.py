"""Messages about YAML and JSON text."""

from __future__ import annotations

from closeknit.hub.sentences import text
from tests.messages.table import message, mistakes

# fmt: off
MESSAGES = [
    message(text.FILE_TOO_LARGE, "There are more than 10 bytes here, and no more are read of one file. Split it.", most=10),
    message(text.NOT_UTF8, "The byte 0xe4 is not UTF-8. Save the file as UTF-8.", byte="0xe4"),
    message(text.UNPRINTABLE, "The character U+0017 is not allowed. Remove it.", character="U+0017"),
    message(text.TOO_MANY_BROKEN, "100 documents before this one cannot be read. The rest of the file was left.", most=100),
    message(text.NOT_YAML, "This is not YAML: while scanning for the next token, found character that cannot start any token. A tab stands here. Indent with spaces.", reason="while scanning for the next token, found character that cannot start any token", remedy=" A tab stands here. Indent with spaces."),
    message(text.NOT_JSON, "This is not JSON: Input data was truncated.", reason="Input data was truncated"),
    message(text.SECOND_DOCUMENT, "There is a second document, and only one is read here. Send one at a time."),
    message(text.TOO_MANY_TAG_DIRECTIVES, "There are more than 100 %TAG directives. Remove them.", most=100),
    message(text.GAVE_UP, "A list or mapping is used as a key. Keys are strings. This looks like a template. Fill it in first, and give what comes out of it.", problem=text.COLLECTION_AS_KEY.at(("line 1, column 2",)), remedy=" This looks like a template. Fill it in first, and give what comes out of it."),
    message(text.KEY_TWICE, 'The key "a" stands twice in one mapping, the second time on line 2, column 1. Keep one.', key="a", second="line 2, column 1"),
    message(text.UNSUPPORTED_TAG, 'The tag "tag:yaml.org,2002:python/object/apply:os.system" on line 1, column 4 is not supported. Leave it out.', tag="tag:yaml.org,2002:python/object/apply:os.system", at="line 1, column 4"),
    message(text.COLLECTION_AS_KEY, "A list or mapping is used as a key. Keys are strings."),
    message(text.NESTED_TOO_DEEP, "Lists and mappings are nested more than 100 deep. Nothing that is read here needs that.", most=100),
    message(text.UNKNOWN_ANCHOR, 'There is no anchor "b" before this alias.', anchor="b"),
    message(text.ALIAS_IN_ANCHOR, 'The alias "a" stands inside its own anchor.', anchor="a"),
    message(text.TOO_MANY_ALIASED, "The aliases stand for more than 1000000 values. Write fewer of them.", most=1000000),
    message(text.ALIAS_AS_KEY, "An alias is used as a key. Write the key itself."),
    message(text.BAD_MERGE, "A merge takes a mapping or a list of mappings, by their aliases."),
    message(text.BAD_SCALAR, "The value does not fit its tag. Leave the tag out, or change the value. It stands on line 1, column 4.", problem=text.VALUE_MISFITS_TAG.at(()), at="line 1, column 4"),
    message(text.KEY_NO_STRING, 'The key "~" stands without quotes and is no string. Write it in quotes.', key="~"),
    message(text.UNSUPPORTED_SCALAR_TAG, "The tag is not supported. Leave it out, or use !!str, !!int, !!float or !!bool."),
    message(text.VALUE_MISFITS_TAG, "The value does not fit its tag. Leave the tag out, or change the value."),
    message(text.NO_JSON_NUMBER, '".inf" is no number in JSON. Write a finite one, or put it in quotes.', value=".inf"),
]
# fmt: on


def test_every_message_reads_as_listed() -> None:
    assert mistakes("text", MESSAGES) == []
