/// An entity tag, which identifies a version of content (RFC 9110, section 8.8.3).
package struct EntityTag: Equatable, Sendable {
    /// The bytes between the quotes.
    package let opaque: [UInt8]

    /// Whether the tag is weak: versions that are equivalent, but not equal, may share it.
    package let isWeak: Bool

    /// - Returns: nil if the bytes are not permitted in a tag.
    package init?(_ opaque: some Sequence<UInt8>, isWeak: Bool = false) {
        let opaque = Array(opaque)
        guard opaque.allSatisfy(Self.isTag) else { return nil }
        (self.opaque, self.isWeak) = (opaque, isWeak)
    }

    /// The tag as it is written in a field. Bytes from 0x80 on are written unchanged, so the result need not be UTF-8.
    package var bytes: [UInt8] { (isWeak ? Array("W/\"".utf8) : [UInt8(ascii: "\"")]) + opaque + [UInt8(ascii: "\"")] }

    /// Reads a value that consists of one tag, `"…"` or `W/"…"`.
    package init?(field value: some Sequence<UInt8>) {
        var reader = FieldReader(value)
        guard let tag = Self(from: &reader), reader.isAtEnd else { return nil }
        self = tag
    }

    init?(from reader: inout FieldReader) {
        let isWeak = reader.takeText("W/")
        guard reader.take("\"") else { return nil }
        let opaque = reader.take(while: Self.isTag)
        guard reader.take("\"") else { return nil }
        self.init(opaque, isWeak: isWeak)
    }

    /// Whether both are strong and equal (section 8.8.3.2).
    package func isStrongly(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }

    /// Whether both are equal, strong or not.
    package func isWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }

    private static func isTag(_ byte: UInt8) -> Bool { byte >= 0x21 && byte != 0x22 && byte != 0x7F }
}

/// The value of `If-Match` or `If-None-Match`: any version, or one of several.
package enum EntityTagList: Equatable, Sendable {
    case any
    case tags([EntityTag])

    /// Most tags in one field over all lines. Clients name the few versions that they have.
    package static let mostTags = 256

    /// - Parameter lines: values of the field's lines.
    /// - Returns: nil if the field is missing.
    /// - Throws: 400 if the list is malformed, empty or too long, or has `*` beside tags.
    init?(_ lines: [[UInt8]], name: StaticString) throws(HTTPFault) {
        guard !lines.isEmpty else { return nil }
        if lines.count == 1, FieldSyntax.trimmed(lines[0][...]).elementsEqual("*".utf8) {
            self = .any
            return
        }
        var tags: [EntityTag] = []
        for line in lines {
            var reader = FieldReader(line)
            while true {
                // Empty members are allowed (RFC 9110, section 5.6.1.2). A tag itself may contain a comma.
                _ = reader.take { HTTPCharacter.isBlank($0) || $0 == UInt8(ascii: ",") }
                guard !reader.isAtEnd else { break }
                guard tags.count < Self.mostTags, let tag = EntityTag(from: &reader) else { throw Self.fault(name) }
                tags.append(tag)
                reader.skipBlanks()
                guard reader.isAtEnd || reader.rest.first == UInt8(ascii: ",") else { throw Self.fault(name) }
            }
        }
        guard !tags.isEmpty else { throw Self.fault(name) }
        self = .tags(tags)
    }

    private static func fault(_ name: StaticString) -> HTTPFault {
        HTTPFault(400, "\(name) is neither a list of entity tags nor '*'.")
    }
}
