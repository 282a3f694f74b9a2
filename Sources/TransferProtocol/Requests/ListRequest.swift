import TransferModel

/// Asks what there is in a directory, or what a path stands for.
package struct ListRequest: Equatable, Sendable {
    package var id: UInt32

    /// Checked by the server; empty for the client's own top.
    package var path: String

    /// Asks about what has the path, and not about what is in it.
    package var isAboutItself: Bool

    /// Whether kind, digest and time of storing are wanted, which cost a look into the catalog.
    package var wantsDetails: Bool

    /// Whether all that is kept of each is wanted, and symbolic links as well, which costs some looks at each of them.
    package var wantsAll: Bool

    /// The part of the trash that the path is in; nothing for what is not in the trash.
    package var trash: TrashPlace?

    package init(
        id: UInt32 = 0, path: String, isAboutItself: Bool = false, wantsDetails: Bool = false, wantsAll: Bool = false,
        trash: TrashPlace? = nil
    ) {
        (self.wantsAll, self.trash) = (wantsAll, trash)
        self.id = id
        self.path = path
        self.isAboutItself = isAboutItself
        self.wantsDetails = wantsDetails
    }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let itself = Flags(rawValue: 1)
        static let details = Flags(rawValue: 2)
        static let everything = Flags(rawValue: 4)
        static let all: Flags = [.itself, .details, .everything]
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        let flags = Flags(rawValue: try reader.integer(UInt8.self))
        guard Flags.all.isSuperset(of: flags) else { throw .malformed("The list frame has unknown flags.") }
        isAboutItself = flags.contains(.itself)
        wantsDetails = flags.contains(.details)
        wantsAll = flags.contains(.everything)
        path = try reader.path()
        trash = try TrashPlace(try reader.fields(known: [.trash]))
    }

    func encode(into bytes: inout [UInt8]) {
        var flags: Flags = []
        if isAboutItself { flags.insert(.itself) }
        if wantsDetails { flags.insert(.details) }
        if wantsAll { flags.insert(.everything) }
        bytes.append(bigEndian: id)
        bytes.append(flags.rawValue)
        bytes.append(path: path)
        trash?.encode(into: &bytes)
    }
}

extension BodyReader {
    /// Two bytes of length and a path to be checked later. One that is not UTF-8 is the request's fault, not the
    /// connection's: it becomes one that no check lets pass.
    mutating func path() throws(ProtocolFault) -> String {
        String(validating: try sizedArray(), as: UTF8.self) ?? Begin.undecodablePath
    }
}

extension [UInt8] {
    /// Two bytes of length, then the path. One that is too long is cut to one that is still too long: it gets the answer of
    /// any other, and can be no other.
    mutating func append(path: String) {
        guard path.utf8.count <= Limits.path else { return append(sized: path.utf8.prefix(Limits.path + 1)) }
        append(sized: path.utf8)
    }

    /// - Parameter bytes: at most 65,535.
    mutating func append(sized bytes: some Collection<UInt8>) {
        append(bigEndian: UInt16(bytes.count))
        append(contentsOf: bytes)
    }
}
