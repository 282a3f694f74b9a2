import TransferModel
import TransferSystem

/// Files that have given way to uploads last, and where they are kept: an upload whose file is replaced between its publication and its
/// record is recorded there.
final class RecentKeeps: Sendable {
    private struct Keep {
        let path: String
        let place: RelativePath
    }

    private struct State {
        /// By the numbers of the files.
        var recent: [UInt64: Keep] = [:]
        var older: [UInt64: Keep] = [:]
    }

    /// Files in a generation. A publication is recorded within milliseconds.
    private static let generation = 4096

    private let state = Locked(State())

    func add(_ kept: KeptFile, of path: RelativePath) {
        guard let object = kept.version?.before.object else { return }
        state.withLock { state in
            state.recent[object] = Keep(path: path.string, place: kept.place)
            guard state.recent.count >= Self.generation else { return }
            (state.older, state.recent) = (state.recent, [:])
        }
    }

    /// Where files are kept that had these paths.
    ///
    /// - Returns: one for each, in their order; nil for one that has not given way lately.
    func places(of files: [(path: String, object: UInt64)]) -> [RelativePath?] {
        state.withLock { state in
            guard !state.recent.isEmpty || !state.older.isEmpty else { return files.map { _ in nil } }
            return files.map { file in
                let found = state.recent[file.object] ?? state.older[file.object]
                return found.flatMap { $0.path.hasSameBytes(as: file.path) ? $0.place : nil }
            }
        }
    }
}
