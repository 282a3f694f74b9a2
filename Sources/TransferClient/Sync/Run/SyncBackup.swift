import TransferModel
import TransferSystem

/// A folder in the target that keeps what a sync replaces and removes, under the former paths.
struct SyncBackup: Sendable {
    let folder: RelativePath

    /// The time of this sync in UTC: the name of the folder for entries whose usual place is taken.
    private let date = Timestamp.now.text(.seconds, .basic)

    /// Results that mean that a place is taken, or that an earlier backup blocks it: by a file or link where a folder
    /// has to be, or by a folder without permissions.
    private static let taken: Set<ResultCode> = [.pathConflict, .wrongForm, .invalidPath, .targetFailed, .forbidden]

    /// The most dated folders that are tried, for syncs in the same second.
    private static let mostDates = 9

    /// - Parameter path: the folder's path in the target.
    /// - Throws: if the path is not valid.
    init(_ path: String) throws(RelativePath.Fault) { folder = try RelativePath(path) }

    /// - Parameter attempt: the number of the attempt, from 0. Attempt 0 gives the usual place, and each further one a
    ///   place below another dated folder.
    private func place(of path: RelativePath, _ attempt: Int) throws(RelativePath.Fault) -> RelativePath {
        let below: String? =
            switch attempt {
            case 0: nil
            case 1: date
            default: "\(date).\(attempt)"
            }
        return try RelativePath([folder.string, below, path.string].compactMap { $0 }.joined(separator: "/"))
    }

    /// Finds a place for each entry, and calls `put` for it. If the usual place is taken, it tries one below a folder
    /// that is named after the time of this sync.
    ///
    /// - Parameters:
    ///   - put: moves entries or gives them a second path.
    ///   - report: receives the result for each entry.
    func keep(
        _ entries: [SyncEntry], _ report: @escaping SyncReport<SyncEntry>,
        by put: ([SyncPlan.Move], @escaping SyncReport<SyncPlan.Move>) async throws(TransferFailure) -> Void
    ) async throws(TransferFailure) {
        let found = Dictionary(entries.map { ($0.path, $0) }) { first, _ in first }
        var rest = entries
        for attempt in 0...Self.mostDates where !rest.isEmpty {
            var moves: [SyncPlan.Move] = []
            for entry in rest {
                do throws(RelativePath.Fault) {
                    let place = try place(of: entry.path, attempt)
                    moves.append(SyncPlan.Move(from: entry.path, entry: entry.at(place), compared: entry))
                } catch {
                    report(entry, .invalidPath, error.message)
                }
            }
            let taken = Locked<[SyncEntry]>([])
            try await put(moves) { move, result, message in
                guard let entry = found[move.from] else { return }
                if Self.taken.contains(result), attempt < Self.mostDates {
                    taken.withLock { $0.append(entry) }
                } else {
                    report(entry, result, message)
                }
            }
            rest = taken.withLock { $0 }
        }
    }
}

extension SyncOptions {
    /// Checks that `backupFolder` is valid.
    ///
    /// - Throws: `rejected` with `invalidPath` if `backupFolder` is not a path in the target.
    package func check() throws(TransferFailure) { _ = try backup() }

    /// - Returns: nil without a backup folder.
    /// - Throws: `rejected` with `invalidPath` if `backupFolder` is not a path in the target.
    func backup() throws(TransferFailure) -> SyncBackup? {
        guard let backupFolder else { return nil }
        do throws(RelativePath.Fault) {
            return try SyncBackup(backupFolder)
        } catch {
            throw TransferFailure(
                reason: .rejected(.invalidPath),
                message: "The folder \(backupFolder.escapedForDisplay) cannot keep the replaced files: "
                    + "\(error.message) It has to be a path in the target.")
        }
    }
}
