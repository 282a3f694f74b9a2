import TransferModel

/// The optional fields of a message. A message has one or two, so searching a list is faster than hashing their tags.
struct MessageFields {
    private var fields: [(tag: FieldTag, value: [UInt8])] = []

    /// The value of a field; nil if the field is absent.
    subscript(tag: FieldTag) -> [UInt8]? { fields.first { $0.tag == tag }?.value }

    /// - Throws: `malformedFrame` if the message already has a field with this tag.
    mutating func add(_ tag: FieldTag, _ value: [UInt8]) throws(ProtocolFault) {
        guard self[tag] == nil else { throw .malformed("The message has field \(tag.rawValue) twice.") }
        fields.append((tag, value))
    }

    /// The text of a field; empty if the field is absent. It is cut to `Limits.text`, and bytes that are not UTF-8 are
    /// replaced, because only users read it.
    func text(_ tag: FieldTag) -> String {
        guard let value = self[tag] else { return "" }
        return String(decoding: value.prefix(Limits.text), as: UTF8.self)
    }

    /// The number in a field of four bytes; nil if the field is absent.
    func number(_ tag: FieldTag) throws(ProtocolFault) -> UInt32? {
        guard let value = self[tag] else { return nil }
        guard value.count == 4 else { throw .malformed("The field \(tag.rawValue) must have 4 bytes.") }
        return value.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The number in a field of eight bytes; nil if the field is absent.
    func longNumber(_ tag: FieldTag) throws(ProtocolFault) -> UInt64? {
        guard let value = self[tag] else { return nil }
        guard value.count == 8 else { throw .malformed("The field \(tag.rawValue) must have 8 bytes.") }
        return value.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The batch of the trash in the field `kept`; nil if the field is absent.
    func trash() throws(ProtocolFault) -> TrashBatch? {
        guard let bytes = self[.kept] else { return nil }
        guard let batch = TrashBatch(String(decoding: bytes, as: UTF8.self)) else {
            throw .malformed("The field kept does not name a trash batch.")
        }
        return batch
    }
}
