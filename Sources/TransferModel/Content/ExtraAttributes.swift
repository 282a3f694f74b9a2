/// What a file or folder has beside its content, permissions and time, and what is kept of it on request: its owner, and its
/// extended attributes (xattr(7)).
package struct ExtraAttributes: Equatable, Sendable {
    /// The numbers of a user and a group.
    package struct Owner: Equatable, Sendable {
        package var user: UInt32
        package var group: UInt32

        package init(user: UInt32, group: UInt32) { (self.user, self.group) = (user, group) }
    }

    /// One extended attribute.
    package struct Extended: Equatable, Sendable {
        /// With its namespace; 1 to 255 bytes, none of them zero.
        package var name: [UInt8]
        package var value: [UInt8]

        package init(name: [UInt8], value: [UInt8]) { (self.name, self.value) = (name, value) }
    }

    /// Nothing where it is not kept, or cannot be.
    package var owner: Owner?

    /// In the order of their names; nothing where they are not kept.
    package var extended: [Extended]?

    package init(owner: Owner? = nil, extended: [Extended]? = nil) {
        self.owner = owner
        self.extended = extended.map { $0.sorted { $0.name.lexicographicallyPrecedes($1.name) } }
    }

    /// Whether nothing is kept.
    package var isEmpty: Bool { owner == nil && extended == nil }

    /// Bytes of an encoding: twice what ext4 keeps of all attributes of a file (one block, Documentation/filesystems/ext4),
    /// and little enough to stand in one frame with a path.
    package static let mostBytes = 8 << 10

    /// Bytes of a name: XATTR_NAME_MAX (linux/limits.h).
    package static let longestName = 255

    /// The one namespace that is kept. What is in the others the kernel and its administrators act on: capabilities, labels,
    /// rights. A peer must not order that.
    package static let keptNamespace = Array("user.".utf8)
}

extension ExtraAttributes {
    private struct Presence: OptionSet {
        let rawValue: UInt8
        static let owner = Presence(rawValue: 1)
        static let extended = Presence(rawValue: 2)
    }

    /// Bytes of the encoding.
    package var encodedSize: Int {
        1 + (owner == nil ? 0 : 8) + (extended ?? []).reduce(0) { $0 + 3 + $1.name.count + $1.value.count }
    }

    /// One byte of flags (1: the owner is there, 2: the extended attributes are); 4 bytes each of user and group; then of each
    /// attribute the length of its name (1 byte) and of its value (2), the name and the value.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        var presence: Presence = []
        if owner != nil { presence.insert(.owner) }
        if extended != nil { presence.insert(.extended) }
        bytes.append(presence.rawValue)
        if let owner {
            bytes.append(bigEndian: owner.user)
            bytes.append(bigEndian: owner.group)
        }
        for attribute in extended ?? [] {
            bytes.append(UInt8(clamping: attribute.name.count))
            bytes.append(bigEndian: UInt16(clamping: attribute.value.count))
            bytes += attribute.name.prefix(Self.longestName)
            bytes += attribute.value.prefix(Int(UInt16.max))
        }
        return bytes
    }

    /// - Returns: nothing for what `encoded` doesn't make: too long, cut off, out of order, a name twice, or one of another
    ///   namespace.
    package init?(encoded bytes: [UInt8]) {
        guard bytes.count <= Self.mostBytes, let flags = bytes.first, flags <= 3 else { return nil }
        var rest = bytes.dropFirst()
        let presence = Presence(rawValue: flags)
        if presence.contains(.owner) {
            guard let user = Self.number(&rest), let group = Self.number(&rest) else { return nil }
            owner = Owner(user: user, group: group)
        }
        guard presence.contains(.extended) else {
            guard rest.isEmpty else { return nil }
            return
        }
        var found: [Extended] = []
        while !rest.isEmpty {
            guard let attribute = Self.attribute(&rest), attribute.isKept,
                found.last.map({ $0.name.lexicographicallyPrecedes(attribute.name) }) ?? true
            else { return nil }
            found.append(attribute)
        }
        extended = found
    }

    private static func number(_ bytes: inout ArraySlice<UInt8>) -> UInt32? {
        guard bytes.count >= 4 else { return nil }
        defer { bytes = bytes.dropFirst(4) }
        return bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func attribute(_ bytes: inout ArraySlice<UInt8>) -> Extended? {
        guard bytes.count >= 3 else { return nil }
        let head = Array(bytes.prefix(3))
        let (name, value) = (Int(head[0]), Int(head[1]) << 8 | Int(head[2]))
        bytes = bytes.dropFirst(3)
        guard bytes.count >= name + value else { return nil }
        defer { bytes = bytes.dropFirst(name + value) }
        return Extended(name: Array(bytes.prefix(name)), value: Array(bytes.dropFirst(name).prefix(value)))
    }
}

extension ExtraAttributes.Extended {
    /// Whether it may be set: of the namespace of users, with a name that is one.
    package var isKept: Bool {
        name.count > ExtraAttributes.keptNamespace.count && name.count <= ExtraAttributes.longestName
            && name.starts(with: ExtraAttributes.keptNamespace) && !name.contains(0)
    }
}
