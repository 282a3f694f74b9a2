package import TransferModel

/// The files that commands have stored or moved last. A command must not replace its own files: two of them may have
/// the same path, also because a file system may treat two spellings as one.
package struct CommandFiles: Sendable {
    /// Several commands may have found or stored the same file, so the command is part of the key.
    private struct Key: Hashable {
        let object: UInt64
        let command: UInt64
        /// Hash of the path, equal for all its spellings (see `spelling(_:)`); nil for the path that the command has given to the file
        /// last.
        var spelling: Int?
    }

    private struct Place {
        let path: RelativePath
        let spelling: Int
        let version: ContentVersion
    }

    /// Names in a generation, of 80 bytes each, and bytes of their paths. Names older than two generations are
    /// forgotten.
    private static let generation = 32_768
    private static let mostBytes = 4 << 20

    private var recent: [Key: Place] = [:]
    private var older: [Key: Place] = [:]
    private var bytes = 0

    package init() {}

    package mutating func add(_ file: ContentVersion?, of command: StoringCommand?, at path: RelativePath) {
        guard let file, let command else { return }
        let place = Place(path: path, spelling: Self.spelling(path), version: file)
        let key = Key(object: file.object, command: command.id)
        if let last = self[key], last.spelling != place.spelling {
            remember(last, Key(object: key.object, command: key.command, spelling: last.spelling))
        }
        remember(place, key)
    }

    /// - Parameters:
    ///   - file: the file that is about to be replaced.
    ///   - hasOtherNames: whether the file has other names.
    /// - Returns: the path that the command has given to the file, if `path` may be another name of the same file; nil
    ///   if the file may be replaced. If the returned path still has the file, the caller replaces the file; if not, it
    ///   throws `ownFile`.
    /// - Throws: `pathConflict` if the command itself has put the file at `path`, in this spelling or another one.
    package func check(
        _ file: ContentVersion, hasOtherNames: Bool, _ command: StoringCommand?, _ path: RelativePath
    ) throws(Failure) -> RelativePath? {
        guard let command else { return nil }
        let key = Key(object: file.object, command: command.id)
        guard let last = self[key], last.version.hasSameContent(as: file) else { return nil }
        var place = last
        if hasOtherNames, case let spelling = Self.spelling(path), last.spelling != spelling {
            let named = self[Key(object: key.object, command: key.command, spelling: spelling)]
            guard let named, named.version.hasSameContent(as: file) else { return last.path }
            place = named
        }
        guard command.mayRepeat, place.path == path else { throw .ownFile(path) }
        return nil
    }

    private subscript(key: Key) -> Place? { recent[key] ?? older[key] }

    private mutating func remember(_ place: Place, _ key: Key) {
        if recent.updateValue(place, forKey: key) == nil { bytes += place.path.string.utf8.count }
        guard recent.count >= Self.generation || bytes >= Self.mostBytes else { return }
        (older, recent, bytes) = (recent, [:], 0)
    }

    /// A hash that is the same for all spellings that a file system may treat as one: it may ignore case, composition
    /// of characters, and characters that are not shown (those that Unicode's NFKC_Casefold ignores).
    private static func spelling(_ path: RelativePath) -> Int {
        let shown = path.string.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }
        // Swift gives canonically equivalent strings the same hash.
        return String(String.UnicodeScalarView(shown)).uppercased().lowercased().hashValue
    }
}

extension Failure {
    /// A command would replace a file that it has stored or moved itself.
    package static func ownFile(_ path: RelativePath) -> Failure {
        Failure(.pathConflict, "\(path) was stored or moved there by this same command, and is not replaced.")
    }
}
