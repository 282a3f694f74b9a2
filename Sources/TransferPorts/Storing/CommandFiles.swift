package import TransferModel

/// The files that commands have stored or moved last. One command does not replace its own: two of its files may have one name, also
/// where a file system takes two spellings for one.
package struct CommandFiles: Sendable {
    /// Several commands may have found or stored one file.
    private struct Key: Hashable {
        let object: UInt64
        let command: UInt64
    }

    private struct Place {
        let path: PathDigest
        let version: ContentVersion
    }

    /// Files in a generation, of 64 bytes each. What is older than two generations is forgotten.
    private static let generation = 32_768

    private var recent: [Key: Place] = [:]
    private var older: [Key: Place] = [:]

    package init() {}

    package mutating func add(_ file: ContentVersion?, of command: StoringCommand?, at path: RelativePath) {
        guard let file, let command else { return }
        recent[Key(object: file.object, command: command.id)] = Place(path: PathDigest(path.string), version: file)
        guard recent.count >= Self.generation else { return }
        (older, recent) = (recent, [:])
    }

    /// - Throws: `pathConflict` where the command itself has put the file there.
    package func check(_ file: ContentVersion, _ command: StoringCommand?, _ path: RelativePath) throws(Failure) {
        guard let command else { return }
        let key = Key(object: file.object, command: command.id)
        guard let place = recent[key] ?? older[key], place.version.hasSameContent(as: file) else { return }
        guard !command.mayRepeat || place.path != PathDigest(path.string) else { return }
        throw Failure(
            .pathConflict, "\(path) is a file that the same command has stored there, and it is not replaced.")
    }
}
