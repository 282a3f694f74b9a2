import TransferModel
import TransferSystem

/// Directories in which no witness of others is left, for all batches of a client: to look takes as long as there are names.
final class SweptDirectories: Sendable {
    private let paths = Locked<Set<PathKey>>([])

    func sweep(_ directory: SourceDirectory, at path: PathKey) {
        if paths.withLock({ $0.insert(path).inserted }) { directory.sweep() }
    }
}
