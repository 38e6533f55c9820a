"""Objects in Kubernetes' protobuf, by the types of tables.py. This is a second writer and reader beside the server's, so that a
misunderstanding of the format cannot hide in both."""

import base64
import datetime
import json
import struct

PREFIX = b"k8s\0"
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
MEDIA_TYPE = "application/vnd.kubernetes.protobuf"


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7f:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def text_field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def number_field(number, value):
    return varint(number << 3) + varint(value)


def time_message(text):
    when = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) - EPOCH
    seconds = when.days * 86400 + when.seconds
    return number_field(1, seconds) + number_field(2, when.microseconds * 1000)


def raw_message(value):
    return text_field(1, json.dumps(value, separators=(",", ":")).encode())


def schema_message(shape, schema, value):
    """The three unions that hold JSONSchemaProps."""
    if isinstance(value, bool):
        return number_field(1, value)
    if shape == "SCHEMA_OR_BOOL":
        return number_field(1, True) + text_field(2, struct_message(schema, value))
    if shape == "SCHEMA_OR_STRINGS" and isinstance(value, list):
        return b"".join(text_field(2, item.encode()) for item in value)
    if isinstance(value, list):
        return b"".join(text_field(2, struct_message(schema, item)) for item in value)
    return text_field(1, struct_message(schema, value))


def one(number, kind, value):
    """A single value as the field `number`."""
    shape = kind.shape
    if shape in ("BOOL", "INT32", "INT64"):
        return number_field(number, int(value))
    if shape == "FLOAT64":
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if shape == "STRING":
        return text_field(number, value.encode())
    if shape == "BYTES":
        return text_field(number, base64.b64decode(value))
    if shape == "STRUCT":
        data = struct_message(kind, value)
    elif shape in ("TIME", "MICRO_TIME"):
        data = time_message(value)
    elif shape == "DURATION":
        data = number_field(1, int(float(value.rstrip("s")) * 1e9))
    elif shape == "QUANTITY":
        data = text_field(1, str(value).encode())
    elif shape == "INT_OR_STRING":
        is_text = isinstance(value, str)
        data = number_field(1, is_text) + (text_field(3, value.encode()) if is_text else number_field(2, value))
    elif shape in ("RAW", "FIELDS_V1", "JSON"):
        data = raw_message(value)
    elif shape == "LIST":
        data = many(1, kind, value)
    else:
        data = schema_message(shape, kind.element, value)
    return text_field(number, data)


def many(number, kind, value):
    """A list or a map: one field for each element."""
    if kind.shape == "LIST":
        return b"".join(one(number, kind.element, item) for item in value)
    return b"".join(text_field(number, text_field(1, key.encode()) + one(2, kind.element, value[key])) for key in sorted(value))


def struct_message(kind, value):
    out = b""
    for field in sorted(kind.fields, key=lambda f: f.number):
        if not field.number:
            continue
        if field.is_inline:
            out += text_field(field.number, struct_message(field.type, value))
        elif value.get(field.name) is not None:
            is_many = field.type.shape in ("LIST", "MAP") and "WRAPPED" not in field.type.flags
            out += (many if is_many else one)(field.number, field.type, value[field.name])
    return out


def encode(kind, value):
    meta = text_field(1, value["apiVersion"].encode()) + text_field(2, value["kind"].encode())
    return PREFIX + text_field(1, meta) + text_field(2, struct_message(kind, value))


def fields_of(data):
    """(number, value) of each field; a value is a number or bytes."""
    at = 0

    def next_varint():
        nonlocal at
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 0x7f) << shift
            shift += 7
            if not byte & 0x80:
                return number

    while at < len(data):
        tag = next_varint()
        if tag & 7 == 0:
            yield tag >> 3, next_varint()
        elif tag & 7 == 1:
            yield tag >> 3, struct.unpack_from("<d", data, at)[0]
            at += 8
        else:
            length = next_varint()
            yield tag >> 3, data[at:at + length]
            at += length


def signed(number):
    return number - (1 << 64) if number >> 63 else number


def read_time(data, digits):
    got = dict(fields_of(data))
    if not data:
        return None
    when = EPOCH + datetime.timedelta(seconds=signed(got.get(1, 0)), microseconds=got.get(2, 0) // 1000)
    return when.strftime("%Y-%m-%dT%H:%M:%S") + (f".{when.microsecond:06d}Z" if digits else "Z")


def read_schema(shape, schema, data):
    got = list(fields_of(data))
    if shape == "SCHEMA_OR_BOOL":
        return next((read_struct(schema, value) for number, value in got if number == 2), bool(dict(got).get(1)))
    items = [value for number, value in got if number == 2]
    if items:
        return [item.decode() if shape == "SCHEMA_OR_STRINGS" else read_struct(schema, item) for item in items]
    return next((read_struct(schema, value) for number, value in got if number == 1), None)


def read_one(kind, value):
    shape = kind.shape
    if shape in ("INT32", "INT64"):
        return signed(value)
    if shape == "BOOL":
        return bool(value)
    if shape == "FLOAT64":
        return value
    if shape == "STRING":
        return value.decode()
    if shape == "BYTES":
        return base64.b64encode(value).decode()
    if shape == "STRUCT":
        return read_struct(kind, value)
    if shape in ("TIME", "MICRO_TIME"):
        return read_time(value, shape == "MICRO_TIME")
    if shape == "LIST":
        return [read_one(kind.element, item) for _, item in fields_of(value)]
    got = dict(fields_of(value))
    if shape == "DURATION":
        return signed(got.get(1, 0))
    if shape == "QUANTITY":
        return got.get(1, b"").decode()
    if shape == "INT_OR_STRING":
        return got.get(3, b"").decode() if got.get(1) else signed(got.get(2, 0))
    if shape in ("RAW", "FIELDS_V1", "JSON"):
        return json.loads(got[1]) if got.get(1) else None
    return read_schema(shape, kind.element, value)


def read_field(field, value, out):
    kind = field.type
    if field.is_inline:
        read_struct(kind, value, out)
    elif kind.shape == "LIST" and "WRAPPED" not in kind.flags:
        out.setdefault(field.name, []).append(read_one(kind.element, value))
    elif kind.shape == "MAP":
        entry = dict(fields_of(value))
        out.setdefault(field.name, {})[entry.get(1, b"").decode()] = read_one(kind.element, entry.get(2, b""))
    else:
        read = read_one(kind, value)
        # Go always writes fields that are no pointers: an empty one says nothing.
        if "POINTER" in field.flags or read not in ("", 0, False, None, {}):
            out[field.name] = read


def read_struct(kind, data, out=None):
    out = {} if out is None else out
    known = {field.number: field for field in kind.fields if field.number}
    for number, value in fields_of(data):
        if number in known:
            read_field(known[number], value, out)
        else:
            out[f"#{number}"] = "unknown"
    return out


def decode(body, kind_of):
    """kind_of(apiVersion, kind) is the struct. The object as JSON has it, but for empty fields, which are left out."""
    if not body.startswith(PREFIX):
        return {"not protobuf": body[:80].decode(errors="replace")}
    envelope = dict(fields_of(body[len(PREFIX):]))
    meta = {number: value.decode() for number, value in fields_of(envelope.get(1, b""))}
    kind = kind_of(meta.get(1, ""), meta.get(2, ""))
    return {"apiVersion": meta.get(1, ""), "kind": meta.get(2, ""), **read_struct(kind, envelope.get(2, b""))}


def decode_frame(frame, kind_of):
    """[type, object] of a WatchEvent, which is in an envelope, as is the object in it."""
    event = dict(fields_of(dict(fields_of(frame[len(PREFIX):]))[2] if frame.startswith(PREFIX) else frame))
    return [event[1].decode(), decode(dict(fields_of(event[2]))[1], kind_of)]
