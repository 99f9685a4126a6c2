"""What is said of the text of a file, before anybody knows what it describes."""

from __future__ import annotations

from closeknit.hub.problems import Category, Code

# fmt: off
FILE_TOO_LARGE = Code("file-too-large", "There are more than {most} bytes here, and no more are read of one file. Split it.")
NOT_UTF8 = Code("not-utf8", "The byte {byte:raw} is not UTF-8. Save the file as UTF-8.")
UNPRINTABLE = Code("unprintable", "The character {character:raw} is not allowed. Remove it.")

TOO_MANY_BROKEN = Code("too-many-broken-documents", "{most} documents before this one cannot be read. The rest of the file was left.")
NOT_YAML = Code("not-yaml", "This is not YAML: {reason:raw}.{remedy:raw}")
NOT_JSON = Code("not-json", "This is not JSON: {reason:raw}.")
SECOND_DOCUMENT = Code("second-document", "There is a second document, and only one is read here. Send one at a time.")
TOO_MANY_TAG_DIRECTIVES = Code("too-many-tag-directives", "There are more than {most} %TAG directives. Remove them.")
GAVE_UP = Code("document-given-up", "{problem}{remedy:raw}")

KEY_TWICE = Code("key-twice", "The key {key} stands twice in one mapping, the second time on {second:raw}. Keep one.", category=Category.SKIPPABLE)
UNSUPPORTED_TAG = Code("unsupported-tag", "The tag {tag} on {at:raw} is not supported. Leave it out.")
COLLECTION_AS_KEY = Code("collection-as-key", "A list or mapping is used as a key. Keys are strings.")
NESTED_TOO_DEEP = Code("document-nested-too-deep", "Lists and mappings are nested more than {most} deep. Nothing that is read here needs that.")
UNKNOWN_ANCHOR = Code("unknown-anchor", "There is no anchor {anchor} before this alias.")
ALIAS_IN_ANCHOR = Code("alias-in-anchor", "The alias {anchor} stands inside its own anchor.")
TOO_MANY_ALIASED = Code("too-many-aliased", "The aliases stand for more than {most} values. Write fewer of them.")
ALIAS_AS_KEY = Code("alias-as-key", "An alias is used as a key. Write the key itself.")
BAD_MERGE = Code("bad-merge", "A merge takes a mapping or a list of mappings, by their aliases.")
BAD_SCALAR = Code("bad-scalar", "{problem} It stands on {at:raw}.")
KEY_NO_STRING = Code("key-no-string", "The key {key} stands without quotes and is no string. Write it in quotes.")
UNSUPPORTED_SCALAR_TAG = Code("unsupported-scalar-tag", "The tag is not supported. Leave it out, or use !!str, !!int, !!float or !!bool.")
VALUE_MISFITS_TAG = Code("value-misfits-tag", "The value does not fit its tag. Leave the tag out, or change the value.")
NO_JSON_NUMBER = Code("no-json-number", "{value} is no number in JSON. Write a finite one, or put it in quotes.")
