import TransferModel
import TransferSystem

/// Folders and links that one client has made, of which the catalog knows nothing, as long as they are there and the server lives.
final class MadeNames: Sendable {
    private struct State {
        var paths: Set<RelativePath> = []
        var bytes = 0
        /// Those whose paths were too many to be kept.
        var others: UInt64 = 0
    }

    /// Paths that are kept in memory, and bytes of them.
    private static let most = (count: 16_384, bytes: 2 << 20)

    private let state = Locked(State())

    var paths: Set<RelativePath> { state.withLock { $0.paths } }

    /// How many there are whose paths are not known.
    var others: UInt64 { state.withLock { $0.others } }

    func add(_ paths: [RelativePath]) {
        state.withLock { state in
            for path in paths {
                if state.paths.count < Self.most.count, state.bytes < Self.most.bytes {
                    if state.paths.insert(path).inserted { state.bytes += path.string.utf8.count }
                } else {
                    state.others = state.others.addingClamped(1)
                }
            }
        }
    }

    func remove(_ paths: Set<RelativePath>) {
        state.withLock { state in
            for path in paths where state.paths.remove(path) != nil { state.bytes -= path.string.utf8.count }
        }
    }

    /// Something has another path, with all that is in it.
    func move(_ path: RelativePath, to target: RelativePath) {
        state.withLock { state in
            guard !state.paths.isEmpty else { return }
            let moved = state.paths.filter { $0 == path || $0.below(path) != nil }
            for old in moved {
                state.paths.remove(old)
                let new = old.below(path).map { RelativePath(stored: "\(target.string)/\($0.string)") } ?? target
                guard let new, state.paths.insert(new).inserted else {
                    state.bytes -= old.string.utf8.count
                    continue
                }
                state.bytes += new.string.utf8.count - old.string.utf8.count
            }
        }
    }
}

/// Counts the folders that paths lie in, which come in the order of their bytes: those of one folder stand together.
struct FolderCount {
    /// The path that came last.
    private(set) var last: RelativePath?

    /// - Parameter top: a folder that is not counted, nor those above it.
    init(below top: RelativePath?) { last = top.flatMap { RelativePath(stored: "\($0.string)/-") } }

    /// - Returns: the folders that no path before has lain in, the highest first.
    mutating func folders(above path: RelativePath) -> [RelativePath] {
        defer { last = path }
        var found: [RelativePath] = []
        var next = path.parent
        while let folder = next, !(last.map { $0.below(folder) != nil } ?? false) {
            found.append(folder)
            next = folder.parent
        }
        return found.reversed()
    }
}
