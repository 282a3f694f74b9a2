/// Attributes of a file or folder besides permissions and time, preserved on request: its owner and its extended
/// attributes (xattr(7)).
package struct ExtraAttributes: Equatable, Sendable {
    /// Numeric IDs of a user and a group.
    package struct Owner: Equatable, Sendable {
        package var user: UInt32
        package var group: UInt32

        package init(user: UInt32, group: UInt32) { (self.user, self.group) = (user, group) }
    }

    /// An extended attribute with its name.
    package struct Extended: Equatable, Sendable {
        /// Name with its namespace; 1 to 255 bytes, none of them zero.
        package var name: [UInt8]
        package var value: [UInt8]

        package init(name: [UInt8], value: [UInt8]) { (self.name, self.value) = (name, value) }
    }

    /// The owner; nil if it is not preserved or cannot be.
    package var owner: Owner?

    /// Extended attributes sorted by name; nil if they are not preserved.
    package var extended: [Extended]?

    package init(owner: Owner? = nil, extended: [Extended]? = nil) {
        self.owner = owner
        self.extended = extended.map { $0.sorted { $0.name.lexicographicallyPrecedes($1.name) } }
    }

    /// Whether there is neither owner nor list of attributes.
    package var isEmpty: Bool { owner == nil && extended == nil }

    /// Most bytes of an encoding: twice the size of all attributes that ext4 can store for a file (one block,
    /// Documentation/filesystems/ext4), and small enough for one frame with a path.
    package static let mostBytes = 8 << 10

    /// Most bytes of a name: XATTR_NAME_MAX (linux/limits.h).
    package static let longestName = 255

    /// The only namespace that is preserved. The others control the kernel and security modules (capabilities, labels,
    /// rights), which a peer must not set.
    package static let keptNamespace = Array("user.".utf8)
}

extension ExtraAttributes {
    private struct Presence: OptionSet {
        let rawValue: UInt8
        static let owner = Presence(rawValue: 1)
        static let extended = Presence(rawValue: 2)
    }

    /// Size of the encoding in bytes.
    package var encodedSize: Int {
        1 + (owner == nil ? 0 : 8) + (extended ?? []).reduce(0) { $0 + 3 + $1.name.count + $1.value.count }
    }

    /// The encoding: one byte of flags (1: owner present, 2: extended attributes present), then 4 bytes each of user
    /// and group, and for each attribute the lengths of name (1 byte) and value (2), the name and the value.
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

    /// - Returns: nil for bytes that `encoded` doesn't make: they are too long, cut off or out of order, or have a name
    ///   twice or another namespace.
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
    /// Whether the attribute may be set: it has a valid name in the namespace of users.
    package var isKept: Bool {
        name.count > ExtraAttributes.keptNamespace.count && name.count <= ExtraAttributes.longestName
            && name.starts(with: ExtraAttributes.keptNamespace) && !name.contains(0)
    }
}
