/// A path below the server's directory that cannot lead outside it: UTF-8, relative, without `.`, `..`, empty
/// components or NUL, within the limits, and without Transfer's own names.
///
/// It is split and compared by bytes, as Linux does, not by characters: in Swift, a slash and a combining mark after it
/// are one character, and canonically equivalent names are equal strings but two files.
public struct RelativePath: Hashable, Sendable {
    /// The path with `/` between components.
    public let string: String

    /// Name of the folder that the server keeps for itself, at the top of the server's directory.
    package static let reservedName = ".transfer"

    /// Name of the folder for received parts of long files in a directory that a client pulls to.
    package static let partsName = ".transfer-parts"

    /// The name of this folder for one user, if another user has already made a folder with the usual name.
    ///
    /// - Parameter user: numeric ID of the user (getuid(2)).
    package static func partsName(of user: UInt32) -> String { "\(partsName)-\(user)" }

    /// Name of the folder with the content of deliveries, inside the server's own folder.
    package static let mailName = "mail"

    /// Name of the trash, inside the server's own folder, and inside a directory that a client pulls to.
    package static let trashName = "trash"

    /// The reason why a text is not a valid path.
    public struct Fault: Error, Equatable, Sendable {
        /// A sentence for the user.
        public let message: String
    }

    /// Validates a path of a client or user.
    ///
    /// - Throws: `Fault` with the reason.
    public init(_ string: String) throws(Fault) {
        try Self.check(string.utf8)
        self.string = string
    }

    init(utf8 bytes: some Collection<UInt8>) throws(Fault) {
        guard let string = String(validating: bytes, as: UTF8.self) else {
            throw Fault(message: "The path is not UTF-8.")
        }
        try self.init(string)
    }

    private init(unchecked string: String) {
        self.string = string
    }

    /// The components from the top down; at least one.
    package var components: [Substring] { string.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) } }

    package var name: Substring { string[(slash.map { string.utf8.index(after: $0) } ?? string.startIndex)...] }

    /// The path of the parent directory; nil at the top.
    package var parent: RelativePath? { slash.map { RelativePath(unchecked: String(string[..<$0])) } }

    private var slash: String.Index? { string.utf8.lastIndex(of: UInt8(ascii: "/")) }

    /// Replaces the last component.
    ///
    /// - Throws: `Fault` if the result is not a valid path.
    package func renamed(_ name: String) throws(Fault) -> RelativePath {
        try RelativePath((parent.map { $0.string + "/" } ?? "") + name)
    }

    /// Whether `folder/name` is a valid path, by the same rules as `init`. For nearly all names this is decided without
    /// building the path.
    ///
    /// - Parameter folder: nil for the top.
    package static func accepts(_ name: String, in folder: RelativePath?) -> Bool {
        guard !name.utf8.contains(slashByte) else { return false }
        guard let folder else { return isPlain(name.utf8) || isPath(name) }
        let above = folder.string.utf8
        let hasRoom = name.utf8.count < Limits.path - above.count
        // Each component has at least one byte, so a folder with so few bytes cannot have too many.
        let isShallow = above.count < Limits.pathDepth
        guard hasRoom, isComponent(name),
            isShallow || above.reduce(2, { $1 == slashByte ? $0 + 1 : $0 }) <= Limits.pathDepth
        else {
            return isPath("\(folder.string)/\(name)")
        }
        return true
    }

    /// Whether a name without a slash is a valid component.
    private static func isComponent(_ name: String) -> Bool {
        if isPlain(name.utf8) { return true }
        do throws(Fault) {
            guard !name.utf8.contains(0) else { return false }
            try check(component: name[...].utf8)
            return true
        } catch {
            return false
        }
    }

    private static let slashByte = UInt8(ascii: "/")

    /// Replaces a path, or the last component of a path, that is not UTF-8. It contains NUL, so every check refuses it.
    package static let undecodable = "\u{FFFD}\0"

    private static func isPath(_ text: String) -> Bool { (try? RelativePath(text)) != nil }

    private static func check(_ path: String.UTF8View) throws(Fault) {
        guard !isPlain(path) else { return }
        guard !path.isEmpty else { throw Fault(message: "The path is empty.") }
        guard path.count <= Limits.path else {
            throw Fault(message: "The path has \(path.count) bytes; the limit is \(Limits.path).")
        }
        guard path.first != UInt8(ascii: "/") else { throw Fault(message: "The path is absolute.") }
        guard !path.contains(0) else {
            let isUndecodable = path.suffix(undecodable.utf8.count).elementsEqual(undecodable.utf8)
            throw Fault(message: isUndecodable ? "The path is not UTF-8." : "The path contains a NUL byte.")
        }
        let components = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard components.count <= Limits.pathDepth else {
            throw Fault(message: "The path has \(components.count) components; the limit is \(Limits.pathDepth).")
        }
        for component in components { try check(component: component) }
    }

    /// Whether a name is reserved for Transfer, so that no path may contain it. At the top of a directory such a name
    /// leads to the files of a server or a pull, and any folder can be the top of such a directory: a client's own
    /// folder, one that is pulled to, or one in which another server stores uploads.
    ///
    /// Ignores case and invisible characters, because some file systems do (ext4 with casefold).
    package static func isReserved(_ name: String) -> Bool { reserved(Substring(name).utf8) != nil }

    /// Whether a name is exactly one that Transfer makes, not one that only some file systems treat as equal.
    package static func isOwn(_ name: String) -> Bool {
        [reservedName, partsName].contains { $0.hasSameBytes(as: name) } || isPartsName(name.utf8)
    }

    /// Whether a path is obviously valid: ASCII, and no component begins with a dot. One pass over the bytes decides
    /// this for nearly all paths.
    private static func isPlain(_ path: String.UTF8View) -> Bool {
        guard path.count <= Limits.path else { return false }
        var (components, length) = (1, 0)
        for byte in path {
            switch byte {
            case UInt8(ascii: "/"):
                guard length > 0 else { return false }
                components += 1
                length = 0
            case UInt8(ascii: ".") where length == 0: return false
            case 1..<0x80:
                length += 1
                guard length <= Limits.pathComponent else { return false }
            default: return false
            }
        }
        return length > 0 && components <= Limits.pathDepth
    }

    private static func check(component: Substring.UTF8View) throws(Fault) {
        guard !component.isEmpty else { throw Fault(message: "The path has an empty component.") }
        guard !component.elementsEqual(".".utf8), !component.elementsEqual("..".utf8) else {
            throw Fault(message: "The path contains a '.' or '..' component.")
        }
        guard component.count <= Limits.pathComponent else {
            throw Fault(
                message: "A path component has \(component.count) bytes; the limit is \(Limits.pathComponent).")
        }
        if let name = reserved(component) { throw Fault(message: "The name \(name) is reserved for Transfer.") }
    }

    /// The reserved name that a component matches; nil if it matches none of them.
    private static func reserved(_ component: Substring.UTF8View) -> String? {
        let names = [reservedName, partsName]
        guard component.contains(where: { $0 >= 0x80 }) else {
            guard component.first == UInt8(ascii: ".") else { return nil }
            let lowercased = component.lazy.map(asciiLowercased)
            return names.first { lowercased.elementsEqual($0.utf8) } ?? (isPartsName(lowercased) ? partsName : nil)
        }
        // All reserved names begin with a dot, and this component begins with another visible character.
        if let first = component.first, first < 0x80, first != UInt8(ascii: ".") { return nil }
        let seen = Substring(component).unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }
        let folded = String(String.UnicodeScalarView(seen)).uppercased()
        return names.first { $0.uppercased() == folded } ?? (isPartsName(folded.lowercased().utf8) ? partsName : nil)
    }

    /// Whether a name is that of one user's folder of parts: the usual name, a hyphen, and digits.
    private static func isPartsName(_ name: some Collection<UInt8>) -> Bool {
        let prefix = "\(partsName)-".utf8
        let digits = name.dropFirst(prefix.count)
        return name.starts(with: prefix) && !digits.isEmpty
            && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func asciiLowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

extension RelativePath {
    /// Compares the bytes, not the characters.
    public static func == (a: RelativePath, b: RelativePath) -> Bool { a.string.hasSameBytes(as: b.string) }

    /// Hashes the bytes, as equality compares them.
    public func hash(into hasher: inout Hasher) {
        string.hashBytes(into: &hasher)
    }
}

// MARK: Mail

extension RelativePath {
    private static let mailPrefix = "\(reservedName)/\(mailName)/"

    /// Makes a path for the content of a delivery. It is in the server's own folder, which no client's path can reach.
    package static func mail(_ id: UploadID) -> RelativePath {
        RelativePath(unchecked: "\(mailPrefix)\(id)-\(UploadID.random().description.prefix(16))")
    }

    /// Reads a path that `mail(_:)` has made, from the catalog or the directory.
    ///
    /// - Returns: nil for any other text.
    package init?(mail text: String) {
        var text = text
        let isMail = text.withUTF8 { bytes in
            let digits = bytes.dropFirst(Self.mailPrefix.utf8.count)
            return digits.count == 32 + 1 + 16 && bytes.starts(with: Self.mailPrefix.utf8)
                && digits.allSatisfy { digit in
                    switch digit {
                    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                        UInt8(ascii: "-"):
                        true
                    default: false
                    }
                }
        }
        guard isMail else { return nil }
        self.init(unchecked: text)
    }

    /// The folder with the content of all deliveries.
    package static var mailFolder: RelativePath { RelativePath(unchecked: "\(reservedName)/\(mailName)") }

    /// Whether the path is the content of a delivery, or a folder above it.
    package var leadsToMail: Bool {
        string.utf8.starts(with: Self.mailPrefix.utf8) || string.hasSameBytes(as: Self.reservedName)
            || string.hasSameBytes(as: Self.mailFolder.string)
    }
}

// MARK: Trash

extension RelativePath {
    /// The trash in a server's directory.
    package static var trashFolder: RelativePath { RelativePath(unchecked: "\(reservedName)/\(trashName)") }

    /// Most bytes of a path in the trash, because a removed file may have had the longest path.
    package static let mostTrashBytes = "\(reservedName)/\(trashName)//".utf8.count + TrashBatch.length + Limits.path

    /// Path of a removed file in the trash; the batch itself if `path` is nil.
    package static func trash(_ batch: TrashBatch, _ path: RelativePath?) -> RelativePath {
        let folder = "\(trashFolder.string)/\(batch.name)"
        return RelativePath(unchecked: path.map { "\(folder)/\($0.string)" } ?? folder)
    }

    /// Whether the path is the trash or in it.
    package var leadsToTrash: Bool {
        // Returns quickly, because this is called for the folder of each listed name and is almost always false.
        guard string.utf8.first == UInt8(ascii: ".") else { return false }
        let folder = Self.trashFolder.string
        return string.utf8.starts(with: "\(folder)/".utf8) || string.hasSameBytes(as: folder)
    }

    /// The path that a file in the trash had before it was removed; nil for the trash itself, for a whole batch, and
    /// for a path outside the trash.
    package var placeBeforeTrash: RelativePath? {
        guard leadsToTrash else { return nil }
        let place = string.utf8.dropFirst(Self.trashFolder.string.utf8.count + 1)
        let removed = place.drop { $0 != Self.slashByte }.dropFirst()
        return removed.isEmpty ? nil : try? RelativePath(utf8: removed)
    }

    /// Path of a name in a folder, which may be in the trash.
    ///
    /// - Parameter folder: nil for the top.
    /// - Returns: nil if the path would be invalid.
    package static func child(_ name: String, of folder: RelativePath?) -> RelativePath? {
        guard let folder else { return try? RelativePath(name) }
        guard folder.leadsToTrash else {
            return accepts(name, in: folder) ? RelativePath(unchecked: "\(folder.string)/\(name)") : nil
        }
        return (try? RelativePath(name)).flatMap { name in
            name.parent == nil ? RelativePath(unchecked: "\(folder.string)/\(name.string)") : nil
        }
    }

    /// Reads a stored path: a valid path, or one in the trash, which may be longer and deeper than a valid path.
    package init?(stored text: String) {
        if let path = try? RelativePath(text) {
            self = path
            return
        }
        let folder = "\(Self.trashFolder.string)/"
        guard text.utf8.starts(with: folder.utf8) else { return nil }
        let place = text.utf8.dropFirst(folder.utf8.count)
        let batch = place.prefix { $0 != Self.slashByte }
        guard TrashBatch(String(Substring(batch))) != nil else { return nil }
        let removed = place.dropFirst(batch.count)
        guard removed.isEmpty || (try? RelativePath(utf8: removed.dropFirst())) != nil else { return nil }
        self.init(unchecked: text)
    }

    /// Reads a path that the store has recorded for its own use; it may lead into the store's own folders. Only for
    /// comparisons: no file is opened by this path.
    ///
    /// - Returns: nil if it is not a path below a directory.
    package init?(own text: String) {
        let components = text.utf8.split(separator: Self.slashByte, omittingEmptySubsequences: false)
        let isPath = components.allSatisfy { component in
            (1...Limits.pathComponent).contains(component.count) && !component.contains(0)
                && !component.elementsEqual(".".utf8) && !component.elementsEqual("..".utf8)
        }
        guard isPath else { return nil }
        self.init(unchecked: text)
    }

    /// Returns the path relative to a folder above it; nil if the path is not below that folder.
    package func below(_ folder: RelativePath) -> RelativePath? {
        let above = folder.string.utf8.count
        guard string.utf8.starts(with: "\(folder.string)/".utf8) else { return nil }
        return RelativePath(unchecked: String(decoding: string.utf8.dropFirst(above + 1), as: UTF8.self))
    }
}

extension RelativePath: CustomStringConvertible {
    /// The path for display: control characters escaped.
    public var description: String { string.escapedForDisplay }
}
