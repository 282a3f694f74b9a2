import TransferProtocol
import TransferSystem

/// Directories whose names, up to the top, are known to be on disk. That a directory exists says nothing: whoever made
/// it may have failed, or been killed, or not yet have come to make its name durable.
///
/// A directory that somebody else removes and makes again while the server runs is taken for the old one.
final class DurableDirectories: Sendable {
    /// Paths to remember, for 16 MiB at most (`Limits.path`). Without one there is a sync more, of nothing.
    static let most = 4096

    private let paths = Locked<Set<RelativePath>>([])

    func contains(_ path: RelativePath) -> Bool { paths.withLock { $0.contains(path) } }

    /// To be called when everything above them, and they themselves, have been made durable.
    func insert(_ new: [RelativePath]) {
        guard !new.isEmpty else { return }
        paths.withLock { paths in
            if paths.count + new.count > Self.most { paths.removeAll() }
            paths.formUnion(new.prefix(Self.most))
        }
    }
}
