/// Structured fields of HTTP (RFC 9651). As the RFC demands, one malformed member makes the whole field invalid; the
/// result is then nil.
package enum StructuredField {
    /// Most members of a list or dictionary over all lines, members of an inner list, and parameters of one item. The
    /// RFC demands support of this many for lists and dictionaries, and of 256 for the others (sections 3.1, 3.1.1,
    /// 3.1.2 and 3.2).
    package static let mostMembers = 1024

    /// - Parameter lines: values of the field's lines; there must be exactly one.
    package static func item(_ lines: [[UInt8]]) -> StructuredItem? {
        guard lines.count == 1, var reader = StructuredReader(lines[0]) else { return nil }
        return try? reader.whole { (reader) throws(StructuredReader.Fault) in try reader.item() }
    }

    /// Reads a list; a missing field is an empty one.
    package static func list(_ lines: [[UInt8]]) -> [StructuredMember]? {
        var members: [StructuredMember] = []
        for line in lines {
            guard var reader = StructuredReader(line) else { return nil }
            let found = try? reader.whole { (reader) throws(StructuredReader.Fault) in try reader.list() }
            // If there are several lines, an empty one would be an empty member (section 4.2).
            guard let found, !found.isEmpty || lines.count == 1 else { return nil }
            members += found
            guard members.count <= mostMembers else { return nil }
        }
        return members
    }

    /// Reads a dictionary; a missing field is an empty one.
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
