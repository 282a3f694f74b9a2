package import TransferModel

/// The files that commands have stored or moved last. One command does not replace its own: two of its files may have one name, also
/// where a file system takes two spellings for one.
package struct CommandFiles: Sendable {
    /// Several commands may have found or stored one file.
    private struct Key: Hashable {
        let object: UInt64
        let command: UInt64
        /// nil for the name that the command has given the file last.
        var spelling: Int?
    }

    private struct Place {
        let path: PathDigest
        let spelling: Int
        let version: ContentVersion
    }

    /// Files in a generation, of 80 bytes each. What is older than two generations is forgotten.
    private static let generation = 32_768

    private var recent: [Key: Place] = [:]
    private var older: [Key: Place] = [:]

    package init() {}

    package mutating func add(_ file: ContentVersion?, of command: StoringCommand?, at path: RelativePath) {
        guard let file, let command else { return }
        let place = Place(path: PathDigest(path.string), spelling: Self.spelling(path), version: file)
        let key = Key(object: file.object, command: command.id)
        if let last = self[key], last.spelling != place.spelling {
            remember(last, Key(object: key.object, command: key.command, spelling: last.spelling))
        }
        remember(place, key)
    }

    /// - Parameters:
    ///   - file: what is about to be replaced.
    ///   - hasOtherNames: whether it has. Only then a name that the command has not used for it is another name than those that it has
    ///     used, and not one of them in another spelling.
    /// - Throws: `pathConflict` where the command itself has put the file there.
    package func check(
        _ file: ContentVersion, hasOtherNames: Bool, _ command: StoringCommand?, _ path: RelativePath
    ) throws(Failure) {
        guard let command, let place = place(of: file, hasOtherNames: hasOtherNames, command, path),
            place.version.hasSameContent(as: file)
        else { return }
        guard !command.mayRepeat || place.path != PathDigest(path.string) else { return }
        throw Failure(
            .pathConflict, "\(path) is a file that the same command has stored there, and it is not replaced.")
    }

    private func place(
        of file: ContentVersion, hasOtherNames: Bool, _ command: StoringCommand, _ path: RelativePath
    ) -> Place? {
        let key = Key(object: file.object, command: command.id)
        guard let last = self[key], hasOtherNames else { return self[key] }
        let spelling = Self.spelling(path)
        return last.spelling == spelling
            ? last : self[Key(object: key.object, command: key.command, spelling: spelling)]
    }

    private subscript(key: Key) -> Place? { recent[key] ?? older[key] }

    private mutating func remember(_ place: Place, _ key: Key) {
        recent[key] = place
        guard recent.count >= Self.generation else { return }
        (older, recent) = (recent, [:])
    }

    /// The same for all spellings that a file system may take for one: it may ignore case, how a character is composed, and what
    /// is not shown (Unicode's NFKC_Casefold ignores the same characters).
    private static func spelling(_ path: RelativePath) -> Int {
        let shown = path.string.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }
        // A string's hash is that of its canonical composition.
        return String(String.UnicodeScalarView(shown)).uppercased().lowercased().hashValue
    }
}
