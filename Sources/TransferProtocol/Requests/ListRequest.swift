import TransferModel

/// Asks for the entries of a directory, or for the entry of a path.
package struct ListRequest: Equatable, Sendable {
    package var id: UInt32

    /// The path, which the server checks; empty for the client's top folder.
    package var path: String

    /// Whether the entry of the path itself is wanted instead of the entries in the folder.
    package var isAboutItself: Bool

    /// Whether kind, digest and time of storing are wanted. This costs a query of the catalog.
    package var wantsDetails: Bool

    /// Whether symbolic links and all preserved attributes are wanted. This costs several system calls for each entry.
    package var wantsAll: Bool

    /// Whether the server has to decode the picture at the path. The answer waits until this is done.
    package var wantsPicture: Bool

    /// The place in the trash to which the path is relative; nil outside the trash.
    package var trash: TrashPlace?

    package init(
        id: UInt32 = 0, path: String, isAboutItself: Bool = false, wantsDetails: Bool = false, wantsAll: Bool = false,
        wantsPicture: Bool = false, trash: TrashPlace? = nil
    ) {
        (self.wantsAll, self.wantsPicture, self.trash) = (wantsAll, wantsPicture, trash)
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
        static let picture = Flags(rawValue: 8)
        static let all: Flags = [.itself, .details, .everything, .picture]
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        let flags = Flags(rawValue: try reader.integer(UInt8.self))
        guard Flags.all.isSuperset(of: flags) else { throw .malformed("The list frame has unknown flags.") }
        isAboutItself = flags.contains(.itself)
        wantsPicture = flags.contains(.picture)
        guard isAboutItself || !wantsPicture else {
            throw .malformed("The list frame asks for the pictures of a folder.")
        }
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
        if wantsPicture { flags.insert(.picture) }
        bytes.append(bigEndian: id)
        bytes.append(flags.rawValue)
        bytes.append(path: path)
        trash?.encode(into: &bytes)
    }
}

extension BodyReader {
    /// Reads a length of two bytes and an unchecked path. A path that is not UTF-8 must fail the request, not the
    /// connection. So it is replaced by a path that every check refuses.
    mutating func path() throws(ProtocolFault) -> String {
        String(validating: try sizedArray(), as: UTF8.self) ?? Begin.undecodablePath
    }
}

extension [UInt8] {
    /// Appends two bytes of length, then the path. A path that is too long is cut to a length that is still too long,
    /// so that the server refuses it and it cannot become another path.
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
