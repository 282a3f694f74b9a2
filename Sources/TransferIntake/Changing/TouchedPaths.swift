import TransferModel
import TransferSystem

/// Paths that something is done with, and whether another one is among them, above or below one.
struct TouchedPaths: Sendable {
    private var paths: Set<RelativePath> = []
    private var above: Set<RelativePath> = []

    mutating func insert(_ path: RelativePath) {
        guard paths.insert(path).inserted else { return }
        var next = path.parent
        while let folder = next, above.insert(folder).inserted { next = folder.parent }
    }

    /// Whether it is one of them.
    func contains(_ path: RelativePath) -> Bool { paths.contains(path) }

    /// Whether it is one of them, or lies in one.
    func hold(_ path: RelativePath) -> Bool {
        var next: RelativePath? = path
        while let folder = next {
            if paths.contains(folder) { return true }
            next = folder.parent
        }
        return false
    }

    /// Whether what is done with one of them may be felt there.
    func meet(_ path: RelativePath) -> Bool {
        above.contains(path) || hold(path)
    }
}

/// Paths that all connections are changing now. What two of them do with one file would not be known in the order in which it was
/// done.
final class ChangingPaths: Sendable {
    private struct State {
        var next = 0
        var batches: [Int: TouchedPaths] = [:]
    }

    private let state = Locked(State())

    /// - Returns: what the batch is known by here.
    func begin() -> Int {
        state.withLock { state in
            state.next &+= 1
            state.batches[state.next] = TouchedPaths()
            return state.next
        }
    }

    func end(_ batch: Int) { state.withLock { $0.batches[batch] = nil } }

    /// Whether a path, or a folder that it is in, is being changed.
    func hold(_ path: RelativePath) -> Bool {
        state.withLock { state in state.batches.values.contains { $0.hold(path) } }
    }

    /// Takes paths for a batch, unless another one changes them.
    func take(_ paths: [RelativePath], for batch: Int) -> Bool {
        state.withLock { state in
            let others = state.batches.lazy.filter { $0.key != batch }.map(\.value)
            guard !others.contains(where: { other in paths.contains(where: other.meet) }) else { return false }
            for path in paths { state.batches[batch]?.insert(path) }
            return true
        }
    }
}
