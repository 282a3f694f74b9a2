import TransferIO
import TransferModel
import TransferPorts
import TransferStore

/// A directory here that a server's folder is made the same as.
struct LocalSource: SyncSource {
    let path: String
    /// When it was looked at.
    let top: LocalTree.Top
    let pool: BlockingPool

    func missing(of paths: [RelativePath]) async throws(TransferFailure) -> Set<RelativePath> {
        let (path, object) = (path, top.object)
        let result = await pool.run { () -> Result<Set<RelativePath>, Failure> in
            Result { () throws(Failure) in
                // A disk that was taken out meanwhile leaves another directory, or an empty one.
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

/// A folder on a server that a directory here is made the same as.
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
            .sourceUnreadable, "'\(path.escapedForDisplay)' is another directory by now. Was a disk taken out?")
    }
}
