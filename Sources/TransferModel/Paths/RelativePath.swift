/// A path below the server's directory that cannot mean anything outside it: UTF-8, relative, without `.`, `..`, empty
/// components or NUL, within the limits, and without Transfer's own names.
///
/// It is taken apart and compared by its bytes, as Linux does, not by characters: a combining mark after a slash makes
/// one Swift character with it, and canonically equivalent names are equal Swift strings but two files.
public struct RelativePath: Hashable, Sendable {
    /// The path with `/` between components.
    public let string: String

    /// The folder at the top of a server's directory that is its own.
    package static let reservedName = ".transfer"

    /// The folder in a directory that is pulled to, with what has arrived of long files.
    package static let partsName = ".transfer-parts"

    /// The same of a user, in a directory in which another user has made a folder of the usual name.
    ///
    /// - Parameter user: the number of the user (getuid(2)).
    package static func partsName(of user: UInt32) -> String { "\(partsName)-\(user)" }

    /// The folder in the server's own with content that is for somebody.
    package static let mailName = "mail"

    /// The folder in the server's own, or in a directory that is pulled to, with what was removed.
    package static let trashName = "trash"

    /// Why a text is not a path; a sentence.
    public struct Fault: Error, Equatable, Sendable {
        /// A sentence for people.
        public let message: String
    }

    /// Checks and takes a path.
    ///
    /// - Throws: `Fault` that says what is wrong.
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

    /// The components from the top down; never empty.
    package var components: [Substring] { string.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) } }

    /// The last component.
    package var name: Substring { string[(slash.map { string.utf8.index(after: $0) } ?? string.startIndex)...] }

    /// The directory that holds it, or nothing at the top.
    package var parent: RelativePath? { slash.map { RelativePath(unchecked: String(string[..<$0])) } }

    private var slash: String.Index? { string.utf8.lastIndex(of: UInt8(ascii: "/")) }

    /// The same place under another last component.
    ///
    /// - Throws: `Fault` when the result would not be a path.
    package func renamed(_ name: String) throws(Fault) -> RelativePath {
        try RelativePath((parent.map { $0.string + "/" } ?? "") + name)
    }

    /// Whether a name makes a path behind that of a folder: what `init` says, without the path of nearly all names being made.
    ///
    /// - Parameter folder: nothing for the top.
    package static func accepts(_ name: String, in folder: RelativePath?) -> Bool {
        guard !name.utf8.contains(slashByte) else { return false }
        guard let folder else { return isPlain(name.utf8) || isPath(name) }
        let above = folder.string.utf8
        let hasRoom = name.utf8.count < Limits.path - above.count
        // A path of so few bytes has no more components, whatever is in it.
        let isShallow = above.count < Limits.pathDepth
        guard hasRoom, isComponent(name),
            isShallow || above.reduce(2, { $1 == slashByte ? $0 + 1 : $0 }) <= Limits.pathDepth
        else {
            return isPath("\(folder.string)/\(name)")
        }
        return true
    }

    /// Whether a name without a slash is one that a path can have.
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

    private static func isPath(_ text: String) -> Bool { (try? RelativePath(text)) != nil }

    private static func check(_ path: String.UTF8View) throws(Fault) {
        guard !isPlain(path) else { return }
        guard !path.isEmpty else { throw Fault(message: "The path is empty.") }
        guard path.count <= Limits.path else {
            throw Fault(message: "The path has \(path.count) bytes; the limit is \(Limits.path).")
        }
        guard path.first != UInt8(ascii: "/") else { throw Fault(message: "The path is absolute.") }
        guard !path.contains(0) else { throw Fault(message: "The path contains a NUL byte.") }
        let components = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard components.count <= Limits.pathDepth else {
            throw Fault(message: "The path has \(components.count) components; the limit is \(Limits.pathDepth).")
        }
        for component in components { try check(component: component) }
    }

    /// Whether a name is one of Transfer's own, which no path has in it: at the top of a directory it would lead into what a
    /// server or a pull keeps there, and any folder can be the top for somebody: a client's own, one that is pulled to, one
    /// that another server stores in.
    ///
    /// Compared without case and without characters that are not seen, because some file systems do (ext4 with casefold).
    package static func isReserved(_ name: String) -> Bool { reserved(Substring(name).utf8) != nil }

    /// Whether a name is exactly what Transfer makes, and not one that some file systems take for it.
    package static func isOwn(_ name: String) -> Bool {
        [reservedName, partsName].contains { $0.hasSameBytes(as: name) } || isPartsName(name.utf8)
    }

    /// Whether one look at each byte is enough to see that nothing is wrong, as with nearly all paths: ASCII, and no name
    /// that begins with a dot.
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
        if let name = reserved(component) { throw Fault(message: "\(name) is a name of Transfer's own.") }
    }

    /// The name that a component stands for, if it is one of Transfer's own.
    private static func reserved(_ component: Substring.UTF8View) -> String? {
        let names = [reservedName, partsName]
        guard component.contains(where: { $0 >= 0x80 }) else {
            guard component.first == UInt8(ascii: ".") else { return nil }
            let lowercased = component.lazy.map(asciiLowercased)
            return names.first { lowercased.elementsEqual($0.utf8) } ?? (isPartsName(lowercased) ? partsName : nil)
        }
        // What is seen first of it is no dot, which all of these begin with.
        if let first = component.first, first < 0x80, first != UInt8(ascii: ".") { return nil }
        let seen = Substring(component).unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }
        let folded = String(String.UnicodeScalarView(seen)).uppercased()
        return names.first { $0.uppercased() == folded } ?? (isPartsName(folded.lowercased().utf8) ? partsName : nil)
    }

    /// Whether a name is that of a user's folder of parts: the usual name, a hyphen, and digits.
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
    /// Byte by byte.
    public static func == (a: RelativePath, b: RelativePath) -> Bool { a.string.hasSameBytes(as: b.string) }

    /// Of the bytes.
    public func hash(into hasher: inout Hasher) {
        string.hashBytes(into: &hasher)
    }
}

// MARK: Mail

extension RelativePath {
    private static let mailPrefix = "\(reservedName)/\(mailName)/"

    /// A new place for content that is for somebody: in the server's own folder, where no client's path leads.
    package static func mail(_ id: UploadID) -> RelativePath {
        RelativePath(unchecked: "\(mailPrefix)\(id)-\(UploadID.random().description.prefix(16))")
    }

    /// A place that was made by `mail(_:)`, as it was written down or found.
    ///
    /// - Returns: nothing for any other text.
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

    /// The folder of all that is for somebody.
    package static var mailFolder: RelativePath { RelativePath(unchecked: "\(reservedName)/\(mailName)") }

    /// Whether it is a place that the server has made for what is for somebody, or leads to one.
    package var leadsToMail: Bool {
        string.utf8.starts(with: Self.mailPrefix.utf8) || string.hasSameBytes(as: Self.reservedName)
            || string.hasSameBytes(as: Self.mailFolder.string)
    }
}

// MARK: Trash

extension RelativePath {
    /// The folder of all that was removed and is kept, in a server's directory.
    package static var trashFolder: RelativePath { RelativePath(unchecked: "\(reservedName)/\(trashName)") }

    /// Bytes of a place in the trash at most: what was removed has as long a path as any.
    package static let mostTrashBytes = "\(reservedName)/\(trashName)//".utf8.count + TrashBatch.length + Limits.path

    /// Where something is in the trash; the batch itself for nothing.
    package static func trash(_ batch: TrashBatch, _ path: RelativePath?) -> RelativePath {
        let folder = "\(trashFolder.string)/\(batch.name)"
        return RelativePath(unchecked: path.map { "\(folder)/\($0.string)" } ?? folder)
    }

    /// Whether it is a place in the trash, or leads to one.
    package var leadsToTrash: Bool {
        // Asked of the folder of each name in a list, of which hardly any is it.
        guard string.utf8.first == UInt8(ascii: ".") else { return false }
        let folder = Self.trashFolder.string
        return string.utf8.starts(with: "\(folder)/".utf8) || string.hasSameBytes(as: folder)
    }

    /// Where what is at a place in the trash was before; nil for the trash, and for a part of it as a whole.
    package var placeBeforeTrash: RelativePath? {
        guard leadsToTrash else { return nil }
        let place = string.utf8.dropFirst(Self.trashFolder.string.utf8.count + 1)
        let removed = place.drop { $0 != Self.slashByte }.dropFirst()
        return removed.isEmpty ? nil : try? RelativePath(utf8: removed)
    }

    /// What has a name in a folder.
    ///
    /// - Parameter folder: nothing for the top.
    /// - Returns: nothing where that is no path.
    package static func child(_ name: String, of folder: RelativePath?) -> RelativePath? {
        guard let folder else { return try? RelativePath(name) }
        guard folder.leadsToTrash else {
            return accepts(name, in: folder) ? RelativePath(unchecked: "\(folder.string)/\(name)") : nil
        }
        return (try? RelativePath(name)).flatMap { name in
            name.parent == nil ? RelativePath(unchecked: "\(folder.string)/\(name.string)") : nil
        }
    }

    /// A path as it was written down: any, or a place in the trash, which is longer and deeper than what was removed was.
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

    /// A path as the store wrote it down for itself: any that it can make, its own folders included. It serves to compare
    /// with others; nothing is opened by it.
    ///
    /// - Returns: nil for what is no path below a directory.
    package init?(own text: String) {
        let components = text.utf8.split(separator: Self.slashByte, omittingEmptySubsequences: false)
        let isPath = components.allSatisfy { component in
            (1...Limits.pathComponent).contains(component.count) && !component.contains(0)
                && !component.elementsEqual(".".utf8) && !component.elementsEqual("..".utf8)
        }
        guard isPath else { return nil }
        self.init(unchecked: text)
    }

    /// The path below another one; nothing where it is not below it.
    package func below(_ folder: RelativePath) -> RelativePath? {
        let above = folder.string.utf8.count
        guard string.utf8.starts(with: "\(folder.string)/".utf8) else { return nil }
        return RelativePath(unchecked: String(decoding: string.utf8.dropFirst(above + 1), as: UTF8.self))
    }
}

extension RelativePath: CustomStringConvertible {
    /// The path as it may be shown to people: control characters escaped.
    public var description: String { string.escapedForDisplay }
}
