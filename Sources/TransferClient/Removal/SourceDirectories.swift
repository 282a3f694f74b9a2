import TransferModel
import TransferSystem

/// The directories of a batch of sources, each opened once.
struct SourceDirectories {
    private var opened: [Key: SourceDirectory] = [:]
    private let swept: SweptDirectories

    init(swept: SweptDirectories) {
        self.swept = swept
    }

    /// The key that authenticates the names of witnesses.
    var key: WitnessKey { swept.key }

    private struct Key: Hashable {
        let folder: PathKey
        let root: ObjectIdentifier?
    }

    /// - Returns: the directory that contains the source, and the source's name there.
    mutating func directory(
        of place: SourcePlace
    ) throws(SystemError) -> (directory: SourceDirectory, name: String) {
        let (folder, name) = place.split
        let key = Key(folder: PathKey(folder), root: place.root.map(ObjectIdentifier.init))
        if let known = opened[key] { return (known, name) }
        let directory = try place.parent().directory
        opened[key] = directory
        swept.sweep(directory, at: key.folder)
        return (directory, name)
    }
}

/// The directories that a client has already cleared of witnesses of earlier processes, in any batch. Each is cleared
/// only once, because reading all names of a large directory takes long.
final class SweptDirectories: Sendable {
    let key: WitnessKey
    private let paths = Locked<Set<PathKey>>([])

    init(_ key: WitnessKey) {
        self.key = key
    }

    func sweep(_ directory: SourceDirectory, at path: PathKey) {
        if paths.withLock({ $0.insert(path).inserted }) { directory.sweep(key) }
    }
}
