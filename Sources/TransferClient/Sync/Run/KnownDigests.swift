import TransferCodec
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// Digests of local files, each computed once: a file may be compared with many that have its size and time.
final class KnownDigests: Sendable {
    private let tree: LocalTree
    private let known = Locked<[RelativePath: Digest]>([:])
    private let failures = Locked<[RelativePath: String]>([:])

    init(_ tree: LocalTree) { self.tree = tree }

    /// Files that could not be read for a comparison, and why.
    var unreadable: [RelativePath: String] { failures.withLock { $0 } }

    /// Whether a local file has the content of a server's file, by the digest that the server has acknowledged or that
    /// was computed from its content.
    ///
    /// - Returns: nil if the server's digest is unknown, or if the file cannot be read.
    func hasContent(of other: SyncEntry, _ read: Digest?, _ entry: SyncEntry) -> Bool? {
        guard let wanted = other.digest ?? read, let version = entry.version, version.size == other.size else {
            return nil
        }
        return digest(of: entry.path, wanted.algorithm.function, version).map { $0 == wanted }
    }

    private func digest(of path: RelativePath, _ function: DigestFunction, _ version: ContentVersion) -> Digest? {
        if let digest = known.withLock({ $0[path] }), digest.algorithm.function == function { return digest }
        do throws(Failure) {
            guard let digest = try tree.digest(of: path, function, version: version) else { return nil }
            known.withLock { $0[path] = digest }
            return digest
        } catch {
            failures.withLock { $0[path] = error.message }
            return nil
        }
    }
}
