import TransferModel

/// Asks for the people who have a mailbox on the server.
package struct PeopleRequest: Equatable, Sendable {
    package var id: UInt32

    /// Whether the answer contains only the client's own entry.
    package var isAboutItself: Bool

    package init(id: UInt32, isAboutItself: Bool = false) {
        (self.id, self.isAboutItself) = (id, isAboutItself)
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        let flags = try reader.integer(UInt8.self)
        guard flags <= 1 else { throw .malformed("The people frame has unknown flags.") }
        isAboutItself = flags == 1
        _ = try reader.fields(known: [])
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: id)
        bytes.append(isAboutItself ? 1 : 0)
    }
}

/// People who have a mailbox. Any number of these frames answer the request, and an `outcome` ends them.
package struct Persons: Equatable, Sendable {
    /// ID of the request that this answers.
    package var id: UInt32

    package var persons: [ListedPerson]

    /// Most bytes of all persons in one frame.
    package static let room = Entries.room

    package init(id: UInt32, _ persons: [ListedPerson]) {
        (self.id, self.persons) = (id, persons)
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        let count = Int(try reader.integer(UInt16.self))
        persons = []
        for _ in 0..<count { persons.append(try ListedPerson(&reader)) }
        _ = try reader.fields(known: [])
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: id)
        bytes.append(bigEndian: UInt16(persons.count))
        for person in persons { person.encode(into: &bytes) }
    }
}

/// A person who has a mailbox, as a client sees them.
package struct ListedPerson: Equatable, Sendable {
    package var name: String

    /// Whether a client of that name is connected now.
    package var isHere: Bool

    /// Whether the client may send to this person.
    package var takesFromClient: Bool

    /// Whether the person is the client itself.
    package var isClient: Bool

    /// Whether the person used a protocol without keys, so that the name is unproven.
    package var isUnproven: Bool

    /// The person's statement about their key for sealed uploads, with their signature; nil if they have made no
    /// statement.
    package var sealingKey: [UInt8]?

    /// Most bytes of such a statement.
    package static let sealingKeySize = 1024

    package init(
        _ name: String, isHere: Bool, takesFromClient: Bool, isClient: Bool = false, isUnproven: Bool = false,
        sealingKey: [UInt8]? = nil
    ) {
        (self.name, self.isHere, self.takesFromClient) = (name, isHere, takesFromClient)
        (self.isClient, self.isUnproven, self.sealingKey) = (isClient, isUnproven, sealingKey)
    }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let here = Flags(rawValue: 1)
        static let takes = Flags(rawValue: 2)
        static let client = Flags(rawValue: 4)
        static let unproven = Flags(rawValue: 8)
        static let sealingKey = Flags(rawValue: 16)
        static let all: Flags = [.here, .takes, .client, .unproven, .sealingKey]
    }

    /// Bytes of the person in a frame.
    package var encodedSize: Int { 1 + 2 + name.utf8.count + (sealingKey.map { 2 + $0.count } ?? 0) }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        let flags = Flags(rawValue: try reader.integer(UInt8.self))
        guard Flags.all.isSuperset(of: flags) else { throw .malformed("A person has unknown flags.") }
        isHere = flags.contains(.here)
        takesFromClient = flags.contains(.takes)
        isClient = flags.contains(.client)
        isUnproven = flags.contains(.unproven)
        name = try reader.personName()
        sealingKey = flags.contains(.sealingKey) ? try reader.sizedArray() : nil
    }

    func encode(into bytes: inout [UInt8]) {
        var flags: Flags = []
        if isHere { flags.insert(.here) }
        if takesFromClient { flags.insert(.takes) }
        if isClient { flags.insert(.client) }
        if isUnproven { flags.insert(.unproven) }
        if sealingKey != nil { flags.insert(.sealingKey) }
        bytes.append(flags.rawValue)
        bytes.append(sized: name.utf8)
        if let sealingKey { bytes.append(sized: sealingKey.prefix(Self.sealingKeySize)) }
    }
}

/// Publishes the client's key for sealed uploads.
package struct IntroduceRequest: Equatable, Sendable {
    package var id: UInt32

    /// The statement about the key, signed with the client's own key; 1 to `ListedPerson.sealingKeySize` bytes.
    package var sealingKey: [UInt8]

    package init(id: UInt32, sealingKey: [UInt8]) {
        (self.id, self.sealingKey) = (id, sealingKey)
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        sealingKey = try reader.sizedArray()
        guard (1...ListedPerson.sealingKeySize).contains(sealingKey.count) else {
            throw .malformed("A sealing key has \(sealingKey.count) bytes.")
        }
        _ = try reader.fields(known: [])
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: id)
        bytes.append(sized: sealingKey.prefix(ListedPerson.sealingKeySize))
    }
}

extension BodyReader {
    /// Reads two bytes of length and a name of UTF-8.
    mutating func personName() throws(ProtocolFault) -> String {
        let bytes = try sizedArray()
        guard (1...Recipients.nameSize).contains(bytes.count), let name = String(validating: bytes, as: UTF8.self)
        else {
            throw .malformed("A person's name is not UTF-8, or has \(bytes.count) bytes.")
        }
        return name
    }
}
