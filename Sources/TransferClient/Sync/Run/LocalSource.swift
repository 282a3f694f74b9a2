import TransferIO
import TransferModel
import TransferPorts
import TransferStore

/// The local directory that is the source of a sync.
struct LocalSource: SyncSource {
    let path: String
    /// The directory as it was when it was scanned.
    let top: LocalTree.Top
    let pool: BlockingPool

    func missing(of paths: [RelativePath]) async throws(TransferFailure) -> Set<RelativePath> {
        let (path, object) = (path, top.object)
        let result = await pool.run { () -> Result<Set<RelativePath>, Failure> in
            Result { () throws(Failure) in
                // If a disk was removed, the path leads to another directory, or to an empty one.
                let tree = try LocalTree(path: path)
                guard try tree.top().object == object else { throw .gone(path) }
                return Set(paths.filter { tree.isFree($0) })
            }
        }
        switch result {
        case .success(let missing): return missing
        case .failure(let error): throw TransferFailure(reason: .rejected(error.code), message: error.message)
        }
    }
}

/// The folder on a server that is the source of a sync.
struct RemoteSource: SyncSource {
    let client: TransferClient

    func missing(of paths: [RelativePath]) async throws(TransferFailure) -> Set<RelativePath> {
        var missing: Set<RelativePath> = []
        for try await report in client.stat(paths.map(\.string), wantsAll: true)
        where report.result == .notFound {
            if let path = try? RelativePath(report.path) { missing.insert(path) }
        }
        return missing
    }
}

extension Failure {
    fileprivate static func gone(_ path: String) -> Failure {
        Failure(
            .sourceUnreadable, "'\(path.escapedForDisplay)' is now another directory. Was a disk unmounted?")
    }
}
