import TransferModel
import TransferSystem

/// The directories of a batch of sources, each opened once.
struct SourceDirectories {
    private var opened: [PathKey: SourceDirectory] = [:]
    private let swept: SweptDirectories

    init(swept: SweptDirectories) {
        self.swept = swept
    }

    /// - Parameter path: of a file.
    /// - Returns: the directory that the file is in, and its name there.
    mutating func place(_ path: String) throws(SystemError) -> (directory: SourceDirectory, name: String) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = String(slash.map { path[path.utf8.index(after: $0)...] } ?? path[...])
        let parent = PathKey(slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ".")
        if let known = opened[parent] { return (known, name) }
        let directory = try SourceDirectory(parent.string)
        opened[parent] = directory
        swept.sweep(directory, at: parent)
        return (directory, name)
    }
}

/// Directories in which no witness of others is left, for all batches of a client: to look takes as long as there are names.
final class SweptDirectories: Sendable {
    private let paths = Locked<Set<PathKey>>([])

    func sweep(_ directory: SourceDirectory, at path: PathKey) {
        if paths.withLock({ $0.insert(path).inserted }) { directory.sweep() }
    }
}
