/// Structured fields of HTTP (RFC 9651). They are read as the RFC says, and what it fails on is nothing at all: a field
/// with one bad member has no good ones.
package enum StructuredField {
    /// Members of a list or a dictionary over all its lines, of an inner list, and parameters of one thing. The RFC
    /// demands as much of lists and dictionaries, and 256 of the others (sections 3.1, 3.1.1, 3.1.2 and 3.2).
    package static let mostMembers = 1024

    /// - Parameter lines: values of the field's lines, of which there must be one.
    package static func item(_ lines: [[UInt8]]) -> StructuredItem? {
        guard lines.count == 1, var reader = StructuredReader(lines[0]) else { return nil }
        return try? reader.whole { (reader) throws(StructuredReader.Fault) in try reader.item() }
    }

    /// A missing field is an empty list.
    package static func list(_ lines: [[UInt8]]) -> [StructuredMember]? {
        var members: [StructuredMember] = []
        for line in lines {
            guard var reader = StructuredReader(line) else { return nil }
            let found = try? reader.whole { (reader) throws(StructuredReader.Fault) in try reader.list() }
            // An empty line among others makes an empty member (section 4.2).
            guard let found, !found.isEmpty || lines.count == 1 else { return nil }
            members += found
            guard members.count <= mostMembers else { return nil }
        }
        return members
    }

    /// A missing field is an empty dictionary.
    package static func dictionary(_ lines: [[UInt8]]) -> StructuredDictionary? {
        var all = StructuredDictionary()
        for line in lines {
            guard var reader = StructuredReader(line) else { return nil }
            let found = try? reader.whole { (reader) throws(StructuredReader.Fault) in try reader.dictionary() }
            guard let found, !found.entries.isEmpty || lines.count == 1 else { return nil }
            for entry in found.entries { all.set(entry.key, entry.value) }
            guard all.entries.count <= mostMembers else { return nil }
        }
        return all
    }
}
